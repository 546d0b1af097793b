"""Reading a document back: where the block cursor stops, and what copying gives."""

from laguna_tui.tui.text_lines import plain
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.document import GUTTER, Document
from laguna_tui.tui.transcript.entries import Entry, QuestionEntry


def stops(document: Document) -> list[int]:
    """The pieces the cursor stops at: an answer once, and each of its code blocks."""
    found: list[int] = []
    before: Entry | None = None
    for index, piece in enumerate(document.pieces):
        opens_answer = isinstance(piece, AnswerEntry) and not isinstance(before, AnswerEntry)
        if piece.stop or opens_answer:
            found.append(index)
        before = piece
    return found


def span(document: Document, index: int) -> range:
    """The pieces that belong to the stop at `index`: a whole answer, else the piece alone."""
    piece = document.piece(index)
    if not isinstance(piece, AnswerEntry) or (piece.stop and _in_answer(document, index - 1)):
        return range(index, index + 1)
    end = index
    while _in_answer(document, end):
        end += 1
    return range(index, end)


def _in_answer(document: Document, index: int) -> bool:
    return 0 <= index < len(document) and isinstance(document.piece(index), AnswerEntry)


def copied(document: Document, index: int) -> str:
    """What copying the stop gives: code without its fence, everything else as its source."""
    pieces = [document.piece(at) for at in span(document, index)]
    if len(pieces) == 1 and isinstance(pieces[0], AnswerEntry):
        return pieces[0].code() or pieces[0].source()
    return joined(pieces)


def joined(pieces: list[Entry]) -> str:
    """The sources of the pieces, with blank lines where the screen has them."""
    out = ""
    for piece in pieces:
        between = "\n\n" if piece.gap else "\n"
        out = f"{out}{between}{piece.source()}" if out else piece.source()
    return out


def last_answer(document: Document) -> str:
    """The Markdown of the newest answer, empty when there is none."""
    answer: list[Entry] = []
    for piece in reversed(document.pieces):
        if isinstance(piece, QuestionEntry) and answer:
            break
        if isinstance(piece, AnswerEntry):
            answer.append(piece)
    return joined(answer[::-1])


def rows_text(document: Document, first: tuple[int, int], last: tuple[int, int | None]) -> str:
    """The text between two places on the screen, each a row and a column; soft-wrapped lines are joined again.

    The gutter, bullets' indents and bars are left out. A last column of None is the end of the row.
    """
    out: list[str] = []
    for row in range(first[0], min(last[0] + 1, document.height)):
        index, inner = document.at(row)
        line = document.line(index, inner)
        start = first[1] if row == first[0] else 0
        end = last[1] if row == last[0] else None
        text = " " * GUTTER + plain(line.runs)
        part = text[max(start, GUTTER + line.lead) : end].rstrip()
        if line.glue is not None and out:
            out[-1] += line.glue + part
        else:
            out.append(part)
    return "\n".join(out)
