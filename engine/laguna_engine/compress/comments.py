"""How one line that is no code is written in a file, by the suffix of its path."""

_HASH = ("# ", "")
_SLASHES = ("// ", "")
_DASHES = ("-- ", "")
_PERCENT = ("% ", "")
_SEMICOLON = ("; ", "")
_STARS = ("/* ", " */")
_ARROWS = ("<!-- ", " -->")
_PLAIN = ("", "")
_SUFFIXES = {
    _HASH: "py pyi pyx rb rake gemspec sh bash zsh ksh fish pl pm r jl ex exs nim yaml yml toml cfg conf cmake mk tf"
    " ps1",
    _SLASHES: "js jsx mjs cjs ts tsx mts cts go rs java kt kts cs scala swift dart groovy c h cc cpp cxx hh hpp hxx cu"
    " cuh m mm inl ino php proto zig v sv scss less json5 jsonc",
    _DASHES: "lua sql hs elm adb ads vhd vhdl",
    _PERCENT: "tex sty cls erl hrl",
    _SEMICOLON: "lisp el clj cljs scm rkt asm s ini",
    _STARS: "css",
    _ARROWS: "html htm xml svg xhtml vue md markdown",
}
_BY_SUFFIX = {suffix: marks for marks, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_NAME = dict.fromkeys(("makefile", "dockerfile", "gnumakefile", "gemfile", "rakefile"), _HASH)


def comment(path: str, words: str) -> str:
    """The words as a comment of the file's language; as they are where no comment is known."""
    name = path.rsplit("/", 1)[-1].lower()
    before, after = _BY_NAME.get(name) or _BY_SUFFIX.get(name.rpartition(".")[2], _PLAIN)
    if after:
        closing = after.strip()
        words = words.replace(closing, f"{closing[0]} {closing[1:]}")
    return f"{before}{words}{after}"
