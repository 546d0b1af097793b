"""Renders the kept spans of a document as text, with a marker line at every gap.

A marker names the elided definitions and the `read` call of the app that returns them. It is a comment in the file's
language, chosen by the path's suffix. Kept spans are copied unchanged and in order; between two adjacent ones only
blanks can be missing.
"""

from collections.abc import Collection, Iterator
from itertools import groupby

from laguna_tui.base.units import some_of
from laguna_tui.context.compression.spans import Document, SpanRole

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
    """Return `words` as a comment in the file's language; unchanged if its comment syntax is unknown."""
    name = path.rsplit("/", 1)[-1].lower()
    before, after = _BY_NAME.get(name) or _BY_SUFFIX.get(name.rpartition(".")[2], _PLAIN)
    if after:
        closing = after.strip()
        words = words.replace(closing, f"{closing[0]} {closing[1:]}")
    return f"{before}{words}{after}"


NAMES = 6
"""Definitions named in a document's first gap, unless the budget allows fewer."""

INNER_NAMES = 1
"""Definitions named in each further gap: markers took a seventh of small budgets when there were more."""

_NAME_CHARS = 60
_INDENT_CHARS = 40


Copies = tuple[tuple[int, int, int], ...]
"""Offset in the rendered text, start in the document, and length of each piece that was copied, in characters."""


def render(document: Document, kept: Collection[int], names: int = NAMES) -> tuple[str, Copies]:
    """Return the document with only the spans in `kept`, and what of it was copied.

    At most `names` definitions are listed per gap. Kept spans are copied with the blanks between them and at the text's
    ends; a text without spans is blank and copied whole.
    """
    spans, text = document.spans, document.text
    if not spans:
        return text, ((0, 0, len(text)),)
    newline = "\r\n" if "\r\n" in text else "\n"
    pieces: list[str] = []
    copies: list[tuple[int, int, int]] = []
    length, marked = 0, False
    for is_kept, run in groupby(range(len(spans)), key=lambda index: index in kept):
        indexes = list(run)
        first, last = indexes[0], indexes[-1]
        if is_kept:
            start = 0 if first == 0 else spans[first].start
            stop = len(text) if last == len(spans) - 1 else spans[last].stop
            piece = text[start:stop]
            copies.append((length, start, len(piece)))
        else:
            piece = newline if pieces and not pieces[-1].endswith(("\n", "\r")) else ""
            words = marker(document, first, last, min(names, INNER_NAMES) if marked else names, full=not marked)
            piece += f"{_indent(document, first)}{words}{newline}"
            marked = True
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces), tuple(copies)


def marker(document: Document, first: int, last: int, names: int = NAMES, *, full: bool) -> str:
    """Return the marker line for the spans `first` to `last`, without a newline; `full` spells out the `read` call."""
    start, end = _lines(document, first, last)
    listed = list(_names(document, first, last)) if names else []
    gone = f" ({some_of(listed, names)})" if listed else ""
    partly = "partly " if _cuts_a_line(document, first, last) else ""
    if full:
        words = f"… {partly}not shown{gone}: read path={document.path} start={start} end={end}"
    else:
        words = f"… {partly}read {start}-{end}{gone}"
    return comment(document.path, "".join(letter if letter.isprintable() else " " for letter in words))


def _names(document: Document, first: int, last: int) -> Iterator[str]:
    """Yield the names of the definitions whose head is among the spans, and of headings among them."""
    seen: set[int] = set()
    for span in document.spans[first : last + 1]:
        unit = document.units[span.unit]
        if (
            unit.name
            and span.unit not in seen
            and (span.role is not SpanRole.BODY or span.unit not in document.outlines)
        ):
            seen.add(span.unit)
            yield unit.name[:_NAME_CHARS]


def _lines(document: Document, first: int, last: int) -> tuple[int, int]:
    """Return the first and last line of the spans, without blank lines at their ends."""
    start, stop = document.spans[first].start, document.spans[last].stop
    piece = document.text[start:stop]
    start, stop = start + len(piece) - len(piece.lstrip()), stop - len(piece) + len(piece.rstrip())
    return document.lines(start, stop) if stop > start else document.lines(*document.spans[first][:2])


def _cuts_a_line(document: Document, first: int, last: int) -> bool:
    text = document.text
    before = text[document.line_starts[document.line(document.spans[first].start) - 1] : document.spans[first].start]
    stop = document.spans[last].stop
    end = document.line(stop - 1)
    after = text[stop : document.line_starts[end]] if end < len(document.line_starts) else text[stop:]
    return bool(before.strip() or after.strip())


def _indent(document: Document, first: int) -> str:
    start = document.spans[first].start
    head = document.text[start : start + _INDENT_CHARS * 4].lstrip("\r\n")
    blanks = head[: len(head) - len(head.lstrip(" \t"))]
    return blanks[:_INDENT_CHARS]
