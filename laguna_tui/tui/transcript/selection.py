"""Selecting and copying: where the block cursor stops, what the mouse selects, and the text that is copied.

A position is a row of the document and a column of it: characters from the left edge of the screen, gutter included.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

from laguna_tui.tui.text_lines import TextLine, collapse_tabs, next_boundary, plain
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.aside_entry import AsideEntry
from laguna_tui.tui.transcript.document import GUTTER, TranscriptDocument
from laguna_tui.tui.transcript.entries import Entry, FiguresEntry, NoticeEntry, QuestionEntry

Position = tuple[int, int]

# A word as terminals select it: names, paths and addresses are whole. Anything else is selected alone.
_WORD = re.compile(r"[\w./~@%+#:-]*[\w/]|\S")
_BORDER = "rule"
# Rows around a position that may belong to the same line. A line of a megabyte takes thousands.
_NEAR_ROWS = 100


def stops(document: TranscriptDocument) -> list[int]:
    """Indices where the block cursor stops: the start of each answer, each of its code blocks, and other entries."""
    found: list[int] = []
    before: Entry | None = None
    for index, entry in enumerate(document.entries):
        opens_answer = isinstance(entry, AnswerEntry) and not isinstance(before, AnswerEntry)
        if entry.stop or opens_answer:
            found.append(index)
        before = entry
    return found


def span(document: TranscriptDocument, index: int) -> range:
    """Return the entries of the stop at `index`: a whole answer, or the entry alone."""
    entry = document.entry(index)
    if not isinstance(entry, AnswerEntry) or (entry.stop and _in_answer(document, index - 1)):
        return range(index, index + 1)
    end = index
    while _in_answer(document, end):
        end += 1
    return range(index, end)


def _in_answer(document: TranscriptDocument, index: int) -> bool:
    return 0 <= index < len(document) and isinstance(document.entry(index), AnswerEntry)


def copied(document: TranscriptDocument, index: int) -> str:
    """Return what copying a stop gives: code without its fence, anything else as its source."""
    entries = [document.entry(at) for at in span(document, index)]
    if len(entries) == 1 and isinstance(entries[0], AnswerEntry):
        return entries[0].code() or entries[0].source()
    return joined(entries)


def joined(entries: list[Entry]) -> str:
    """Return the sources of the entries, with blank lines where the screen has them."""
    out = ""
    for entry in entries:
        between = "\n\n" if entry.gap else "\n"
        out = f"{out}{between}{entry.source()}" if out else entry.source()
    return out


def last_answer(document: TranscriptDocument) -> str:
    """Return the Markdown of the newest answer, empty when there is none."""
    answer: list[Entry] = []
    for entry in reversed(document.entries):
        if isinstance(entry, QuestionEntry) and answer:
            break
        if isinstance(entry, AnswerEntry):
            answer.append(entry)
    return joined(answer[::-1])


def final_answer(document: TranscriptDocument) -> str:
    """Return the Markdown at the end: what the model wrote after its last tool call; empty when there is none."""
    answer: list[Entry] = []
    for entry in reversed(document.entries):
        if isinstance(entry, AnswerEntry):
            answer.append(entry)
        elif answer or not isinstance(entry, NoticeEntry | FiguresEntry | AsideEntry):
            break
    return joined(answer[::-1])


def rows_text(document: TranscriptDocument, first: Position, last: tuple[int, int | None]) -> str:
    """Return the text between two positions; soft-wrapped lines are joined again.

    The gutter, bullets, indents, bars and borders are left out. A last column of None is the end of the row.
    """
    out: list[str] = []
    reach = None if last[1] is None else max(first[1], last[1])
    for row in range(first[0], min(last[0] + 1, document.height)):
        line = document.line(*document.at(row))
        text, lead = row_text(line, reach)
        start = first[1] if row == first[0] else 0
        end = last[1] if row == last[0] else None
        part = collapse_tabs(text[max(start, lead) : end])
        if _has_border(line):
            if text.isspace():
                continue  # a line between the rows of a table
            part = part.rstrip()
        if line.glue is not None and out:
            out[-1] += line.glue + part
        else:
            out.append(part)
    return "\n".join(out)


def row_text(line: TextLine, reach: int | None = None) -> tuple[str, int]:
    """Return a row as it is drawn, gutter included and borders blanked, and the column where its own text begins.

    reach: the last column of a selection; one that ends in the left of two columns takes only that.
    """
    shown = (" " * len(run.text) if _BORDER in run.tone.split() else run.text for run in line.runs)
    text, lead = " " * GUTTER + "".join(shown), GUTTER + line.lead
    if line.left and reach is not None and reach <= GUTTER + line.left:
        return text[: GUTTER + line.left].rstrip(), max(GUTTER, lead - line.left - 1)
    return text, lead


def _has_border(line: TextLine) -> bool:
    """Return whether there is a border in the row's own text."""
    text, lead = row_text(line)
    return text[lead:] != plain(line.runs)[line.lead :]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line as it was before it was wrapped.

    Attributes:
        text: the line.
        parts: the rows it takes: row, column of its text there, and offset in `text`.
    """

    text: str
    parts: tuple[tuple[int, int, int], ...]

    def offset(self, position: Position) -> int:
        """Return the offset of a position on one of the rows; one left of the text is its first character."""
        row, column = position
        start, offset = next((start, offset) for at, start, offset in self.parts if at == row)
        return min(offset + max(0, column - start), len(self.text))

    def position(self, offset: int) -> Position:
        """Return the position of an offset."""
        row, start, before = next(part for part in reversed(self.parts) if part[2] <= offset)
        return row, start + offset - before

    def end_position(self, offset: int) -> Position:
        """Return the position behind the character before an offset, on the same row as it."""
        row, column = self.position(max(0, offset - 1))
        return row, column + min(1, offset)


def source_line(document: TranscriptDocument, row: int) -> SourceLine:
    """Return the line that a row belongs to; of one that takes very many rows, those that are near."""

    def continues(at: int) -> bool:
        return at < document.height and document.line(*document.at(at)).glue is not None

    first, last = row, row
    while first > max(0, row - _NEAR_ROWS) and continues(first):
        first -= 1
    while last < row + _NEAR_ROWS and continues(last + 1):
        last += 1
    text, parts = "", list[tuple[int, int, int]]()
    for at in range(first, last + 1):
        line = document.line(*document.at(at))
        shown, start = row_text(line)
        text += (line.glue or "") if parts else ""
        parts.append((at, start, len(text)))
        text += shown[start:]
    return SourceLine(text, tuple(parts))


class SelectionUnit(IntEnum):
    """What a click selects, by its number in a quick series, and what dragging on extends the selection by."""

    CHARACTER = 1
    WORD = 2
    LINE = 3


def unit_at(document: TranscriptDocument, position: Position, unit: SelectionUnit) -> tuple[Position, Position]:
    """Return the start and the end of the character, word or line at a position."""
    row, column = position
    line = source_line(document, row)
    at = line.offset(position)
    match unit:
        case SelectionUnit.CHARACTER:
            text, _ = row_text(document.line(*document.at(row)))
            return position, (row, next_boundary(text, min(column + 1, len(text))))
        case SelectionUnit.WORD:
            found = next((word for word in _WORD.finditer(line.text) if word.start() <= at < word.end()), None)
            return (line.position(found.start()), line.end_position(found.end())) if found else (position, position)
        case SelectionUnit.LINE:
            return line.position(0), line.end_position(len(line.text))
