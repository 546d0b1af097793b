"""Finding an old text in a file's text, and replacing it. Strings in, strings out.

A line break is "\n" in the wanted text and whatever the file has in the found one; the replacement gets the line break
of the line that it begins on. Every character around it stays unchanged.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

_CRLF = re.compile("\r\n")
_LINE_BREAK = re.compile("\r\n|\n|\r")
# A line break in front of a line that is not blank.
_LINE_BEGIN = re.compile("(\r\n|\n|\r)(?=[^\r\n])")


# A word, or a sign.
_TOKEN = re.compile(r"\w+|[^\w\s]")
_CLOSING = ")]}"


class Replacement(NamedTuple):
    """Replaces the characters `start` to `stop` (excluded) by `new`; `anchor` begins the text that is added to."""

    start: int
    stop: int
    new: str
    anchor: int | None = None

    @property
    def begin(self) -> int:
        """Return the offset of the text that is changed, or added to."""
        return self.start if self.anchor is None else self.anchor


def find_replacements(text: str, old: str, new: str, *, every: bool, limit: int) -> list[Replacement]:
    """Return the replacement of each occurrence of `old`, in order, at most `limit`.

    Args:
        every: occurrences do not overlap, and an identifier is only found as a whole word; else each place counts.
    """
    same, found = with_line_feeds(text), with_line_feeds(old)
    crlf = [match.start() - number for number, match in enumerate(_CRLF.finditer(text))]

    def place(offset: int) -> int:
        return offset + bisect_left(crlf, offset)

    spans = [(place(start), place(start + len(found))) for start in islice(_occurrences(same, found, every), limit)]
    return [Replacement(start, stop, _LINE_BREAK.sub(line_break(text, start), new)) for start, stop in spans]


def find_additions(text: str, old: str, new: str, *, limit: int) -> list[Replacement]:
    """Return the additions at each place that reads like `old`, if `new` begins with `old`; at most `limit`.

    A place may differ in blanks, line breaks and a comma before a closing bracket: a definition is often told on one
    line and written on several. It stays as it is written.
    """
    old, new = with_line_feeds(old), with_line_feeds(new)
    parts = _TOKEN.findall(old)
    if not parts or not new.startswith(old):
        return []
    pattern = ("(?<!\\w)" if _is_word(parts[0]) else "") + re.escape(parts[0])
    for before, part in pairwise(parts):
        blanks = r"\s+" if _is_word(before) and _is_word(part) else r"\s*"
        comma = r"(?:,\s*)?" if part in _CLOSING and before != "," else ""
        pattern += blanks + comma + re.escape(part)
    pattern += "(?!\\w)" if _is_word(parts[-1]) else ""
    places = islice(re.finditer(pattern, text), limit)
    added = new[len(old) :]
    return [
        Replacement(place.end(), place.end(), _LINE_BREAK.sub(line_break(text, place.start()), added), place.start())
        for place in places
    ]


def replace_text(text: str, changes: Sequence[Replacement]) -> str:
    """Return the text after the changes, which are sorted and do not overlap."""
    pieces, at = [], 0
    for change in changes:
        pieces += [text[at : change.start], change.new]
        at = change.stop
    return "".join([*pieces, text[at:]])


def reindent(text: str, changes: Sequence[Replacement]) -> list[Replacement]:
    """Return the changes with the following lines of each indented like the line that it begins on.

    A change that does not begin, or belongs to nothing that begins, with the first code of a line stays as it is.
    """
    return [
        change._replace(new=_LINE_BEGIN.sub(rf"\1{_indentation(text, change.begin)}", change.new)) for change in changes
    ]


def line_number(text: str, offset: int) -> int:
    return text.count("\n" if "\n" in text else "\r", 0, offset) + 1


def with_line_feeds(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if "\n" in text else text.replace("\r", "\n")


def _occurrences(text: str, old: str, every: bool) -> Iterator[int]:
    if every and old.isidentifier():
        yield from (match.start() for match in re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", text))
        return
    step = len(old) if every else 1
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + step)


def _is_word(part: str) -> bool:
    return re.match(r"\w", part) is not None


def line_break(text: str, offset: int) -> str:
    """Return the line break of the line at an offset; for the last line that of the line before."""
    if "\n" not in text:
        return "\r" if "\r" in text else "\n"
    end = text.find("\n", offset)
    if end < 0:
        end = text.rfind("\n")
    return "\r\n" if text[end - 1 : end] == "\r" else "\n"


def _indentation(text: str, offset: int) -> str:
    """Return the blanks before an offset if its line has nothing else there."""
    begin = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    blanks = text[begin:offset]
    return blanks if not blanks.strip(" \t") else ""
