"""Renders the kept spans of a document as text, with a marker line at every gap.

A marker names the elided definitions and the `read` call of the app that returns them. It is a comment in the file's
language, chosen by the path's suffix. Kept spans are copied unchanged and in order; between two adjacent ones only
blanks can be missing.
"""

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import NamedTuple

from laguna_engine.compress.document import Document, SpanRole

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
    """`words` as a comment in the file's language; unchanged if its comment syntax is unknown."""
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
_NEWLINES = ("\n", "\r")


class Rendered(NamedTuple):
    """A rendered document. Offsets count characters.

    Attributes:
        text: kept spans and marker lines.
        offsets: offset in `text` of each kept span.
        copies: (offset in `text`, start in the document, length) of each copied piece.
    """

    text: str
    offsets: dict[int, int]
    copies: tuple[tuple[int, int, int], ...]


def render(document: Document, kept: Collection[int], names: int = NAMES) -> Rendered:
    """Render the document with only the spans in `kept`, listing at most `names` definitions per gap."""
    writer = _Writer(document, names)
    runs = groupby(range(len(document.spans)), key=lambda index: index in kept)
    for is_kept, run in runs:
        indexes = list(run)
        if is_kept:
            writer.copy(indexes)
        else:
            writer.mark(indexes)
    return writer.rendered()


def marker(document: Document, first: int, last: int, names: int = NAMES, *, full: bool) -> str:
    """The marker line for the spans `first` to `last`, without a newline; `full` spells out the `read` call."""
    start, end = _lines(document, first, last)
    gone = _listed(list(_names(document, first, last)), names)
    partly = "partly " if _cuts_a_line(document, first, last) else ""
    if full:
        words = f"… {partly}not shown{gone}: read path={document.path} start={start} end={end}"
    else:
        words = f"… {partly}read {start}-{end}{gone}"
    return comment(document.path, _one_line(words))


class _Writer:
    """Assembles the text and the offsets of its pieces."""

    def __init__(self, document: Document, names: int) -> None:
        self._document, self._names = document, names
        self._newline = "\r\n" if "\r\n" in document.text else "\n"
        self._pieces: list[str] = []
        self._length = 0
        self._offsets: dict[int, int] = {}
        self._copies: list[tuple[int, int, int]] = []
        self._marked = False

    def copy(self, run: list[int]) -> None:
        """Copy a run of kept spans, with the blanks between them and at the text's ends."""
        spans, text = self._document.spans, self._document.text
        start = 0 if run[0] == 0 else spans[run[0]].start
        stop = len(text) if run[-1] == len(spans) - 1 else spans[run[-1]].stop
        for index in run:
            self._offsets[index] = self._length + spans[index].start - start
        self._copies.append((self._length, start, stop - start))
        self._put(text[start:stop])

    def mark(self, run: list[int]) -> None:
        """Write the marker line for a run of dropped spans."""
        if self._pieces and not self._pieces[-1].endswith(_NEWLINES):
            self._put(self._newline)
        names = min(self._names, INNER_NAMES) if self._marked else self._names
        words = marker(self._document, run[0], run[-1], names, full=not self._marked)
        self._put(_indent(self._document, run[0]) + words + self._newline)
        self._marked = True

    def rendered(self) -> Rendered:
        """The result; a text without spans is blank and copied unchanged."""
        if not self._document.spans:
            self._copies.append((0, 0, len(self._document.text)))
            self._put(self._document.text)
        return Rendered("".join(self._pieces), self._offsets, tuple(self._copies))

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)


def _names(document: Document, first: int, last: int) -> Iterator[str]:
    """Names of the definitions whose head is among the spans, and of headings among them."""
    seen: set[int] = set()
    for span in document.spans[first : last + 1]:
        unit = document.units[span.unit]
        if (
            unit.name
            and span.unit not in seen
            and (span.role is not SpanRole.BODY or span.unit not in document.outlined)
        ):
            seen.add(span.unit)
            yield unit.name[:_NAME_CHARS]


def _listed(names: list[str], most: int) -> str:
    if not names or not most:
        return ""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f" ({', '.join(names[:most])}{more})"


def _lines(document: Document, first: int, last: int) -> tuple[int, int]:
    """First and last line of the spans, without blank lines at their ends."""
    start, stop = document.spans[first].start, document.spans[last].stop
    piece = document.text[start:stop]
    start, stop = start + len(piece) - len(piece.lstrip()), stop - len(piece) + len(piece.rstrip())
    return document.lines(start, stop) if stop > start else document.lines(*document.spans[first][:2])


def _cuts_a_line(document: Document, first: int, last: int) -> bool:
    """Whether the first or the last line has text outside the spans."""
    text = document.text
    before = text[document.line_starts[document.line(document.spans[first].start) - 1] : document.spans[first].start]
    stop = document.spans[last].stop
    end = document.line(stop - 1)
    after = text[stop : document.line_starts[end]] if end < len(document.line_starts) else text[stop:]
    return bool(before.strip() or after.strip())


def _indent(document: Document, first: int) -> str:
    """The indentation of the first dropped character."""
    start = document.spans[first].start
    head = document.text[start : start + _INDENT_CHARS * 4].lstrip("\r\n")
    blanks = head[: len(head) - len(head.lstrip(" \t"))]
    return blanks[:_INDENT_CHARS]


def _one_line(words: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in words)
