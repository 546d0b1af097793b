"""Paths in the transcript that can be opened, such as `src/cart.py:12` if the folder has that file.

What a model writes is hostile. A path is a link only if it leads to a regular file in the folder, links followed, and
its name is printable; that is checked again when it is opened.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import FilePlace
from laguna_tui.tui.transcript.selection import Position, source_line

# A path, then a line in the notations of compilers, GitHub, Python, JavaScript, and the tools' own calls.
_MENTION = re.compile(
    r"(?P<path>[\w./@+~-]*[\w+~-])"
    r"(?:(?::L?|\#L|\(|\"?,[ ]line[ ]|\",[ ](?:start|offset)=)(?P<line>[0-9]{1,7})(?![0-9]))?"
)
_IS_PATH = re.compile(r"(?=.*[^\W\d])[^/]*(?:/|\.\w)|/")
# Longer paths are not looked up.
_MOST_CHARS = 400
# Paths that are remembered, most of them words that are none.
_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class FileLink:
    """A path on the rows of a document: where it begins and ends (exclusive), and what it leads to."""

    start: Position
    end: Position
    place: FilePlace


class KnownFiles:
    """Remembers which paths lead to a file. Only `look_up` waits for a disk."""

    def __init__(self, is_file: Callable[[str], bool]) -> None:
        self._is_file = is_file
        self._known: dict[str, bool] = {}
        self.unknown: set[str] = set()

    def has(self, path: str) -> bool:
        """Return whether a path is known to lead to a file; if nothing is known, it is noted in `unknown`."""
        known = self._known.get(path)
        if known is None and len(path) <= _MOST_CHARS:
            self.unknown.add(path)
        return bool(known)

    def look_up(self, paths: Iterable[str]) -> bool:
        """Look paths up. Returns whether any leads to a file. Call it on a thread."""
        found = {path: self._is_file(path) for path in paths}
        if len(self._known) > _REMEMBERED:
            self._known = {}
        self._known |= found
        return any(found.values())

    def forget_missing(self) -> None:
        """Look up again what was no file, because files may have been created since."""
        self._known = {path: True for path, is_file in self._known.items() if is_file}


def mentions(text: str) -> Iterator[tuple[int, int, FilePlace]]:
    """Yield the beginning, the end and the place of everything in a line that looks like a path."""
    for found in _MENTION.finditer(text):
        path, line = found["path"].removeprefix("@"), int(found["line"] or 0)
        # Behind "https:" comes a host.
        if not path.startswith("//") and (line or _IS_PATH.match(path)) and not path.isdecimal():
            yield found.start(), found.end(), FilePlace(path, line)


def links_at(document: TranscriptDocument, row: int, files: KnownFiles) -> list[FileLink]:
    """Return the links of the line that a row belongs to."""
    index, inner = document.at(row)
    entry = document.entry(index)
    line = source_line(document, row)
    if entry.streams or not line.text:
        return []
    about, number = entry.place(), document.line(index, inner).number
    if about is not None and (number or inner == entry.gap):
        # The beginning of a long path is cut off on the screen, and a line of a diff says only its number.
        end = len(line.text) if number else min(len(line.text), len(about.path))
        found: Iterable[tuple[int, int, FilePlace]] = [(0, end, FilePlace(about.path, number or about.line))]
    else:
        found = mentions(line.text)
    shown = [(start, end, place) for start, end, place in found if files.has(place.path)]
    # The number of a diff's line belongs to it.
    begin = (row, 0) if number else None
    return [FileLink(begin or line.position(start), line.end_position(end), place) for start, end, place in shown]


def links_in(document: TranscriptDocument, index: int, files: KnownFiles) -> list[FileLink]:
    """Return the links of an entry from the top; of a diff only its file and not each line."""
    document.refresh(index)
    found: dict[Position, FileLink] = {}
    top = document.top(index)
    for row in range(top, document.top(index + 1)):
        if not document.line(index, row - top).number:
            found |= {link.start: link for link in links_at(document, row, files)}
    return list(found.values())
