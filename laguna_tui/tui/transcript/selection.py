"""Block selection and copying: where the block cursor stops, and the text that is copied."""

from laguna_tui.tui.text_lines import collapse_tabs, plain
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.document import GUTTER, TranscriptDocument
from laguna_tui.tui.transcript.entries import Entry, FiguresEntry, NoticeEntry, QuestionEntry


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
        elif answer or not isinstance(entry, NoticeEntry | FiguresEntry):
            break
    return joined(answer[::-1])


def rows_text(document: TranscriptDocument, first: tuple[int, int], last: tuple[int, int | None]) -> str:
    """Return the text between two (row, column) positions; soft-wrapped lines are joined again.

    The gutter, bullets, indents and bars are left out. A last column of None is the end of the row.
    """
    out: list[str] = []
    for row in range(first[0], min(last[0] + 1, document.height)):
        index, inner = document.at(row)
        line = document.line(index, inner)
        start = first[1] if row == first[0] else 0
        end = last[1] if row == last[0] else None
        text = " " * GUTTER + plain(line.runs)
        part = collapse_tabs(text[max(start, GUTTER + line.lead) : end])
        if line.glue is not None and out:
            out[-1] += line.glue + part
        else:
            out.append(part)
    return "\n".join(out)
