"""Reading a document back: where the block cursor stops, what copying gives, the whole chat as Markdown."""

from laguna_tui.tui.edits.piece import Edited, Fate
from laguna_tui.tui.markdown.flow import plain
from laguna_tui.tui.transcript.answer import Answered
from laguna_tui.tui.transcript.document import Document
from laguna_tui.tui.transcript.paint import GUTTER
from laguna_tui.tui.transcript.pieces import Asked, Notice, Piece
from laguna_tui.tui.transcript.steps import Called, Thought


def stops(document: Document) -> list[int]:
    """The pieces the cursor stops at: an answer once, and each of its code blocks."""
    found: list[int] = []
    before: Piece | None = None
    for index, piece in enumerate(document.pieces):
        opens_answer = isinstance(piece, Answered) and not isinstance(before, Answered)
        if piece.stop or opens_answer:
            found.append(index)
        before = piece
    return found


def span(document: Document, index: int) -> range:
    """The pieces that belong to the stop at `index`: a whole answer, else the piece alone."""
    piece = document.piece(index)
    if not isinstance(piece, Answered) or (piece.stop and _in_answer(document, index - 1)):
        return range(index, index + 1)
    end = index
    while _in_answer(document, end):
        end += 1
    return range(index, end)


def _in_answer(document: Document, index: int) -> bool:
    return 0 <= index < len(document) and isinstance(document.piece(index), Answered)


def copied(document: Document, index: int) -> str:
    """What copying the stop gives: code without its fence, everything else as its source."""
    pieces = [document.piece(at) for at in span(document, index)]
    if len(pieces) == 1 and isinstance(pieces[0], Answered):
        return pieces[0].code() or pieces[0].source()
    return joined(pieces)


def joined(pieces: list[Piece]) -> str:
    """The sources of the pieces, with blank lines where the screen has them."""
    out = ""
    for piece in pieces:
        between = "\n\n" if piece.gap else "\n"
        out = f"{out}{between}{piece.source()}" if out else piece.source()
    return out


def last_answer(document: Document) -> str:
    """The Markdown of the newest answer, empty when there is none."""
    answer: list[Piece] = []
    for piece in reversed(document.pieces):
        if isinstance(piece, Asked) and answer:
            break
        if isinstance(piece, Answered):
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


def to_markdown(document: Document, title: str) -> str:
    """The whole chat as a Markdown file."""
    parts = [f"# {title}"]
    for piece in document.pieces:
        match piece:
            case Asked(text=text):
                parts.append("\n".join(f"> {line}" for line in text.split("\n")))
            case Called():
                parts.append(_details(piece.call, piece.output or ""))
            case Edited(fate=Fate.MADE):
                parts.append(_fenced(piece.source(), "diff"))
            case Thought():
                parts.append(_details("thinking", piece.source()))
            case Answered() | Notice():
                text = piece.source()
                tight = isinstance(piece, Answered) and not piece.gap
                parts[-1:] = [f"{parts[-1]}\n{text}"] if tight else [parts[-1], text]
            case _:
                pass
    return "\n\n".join(parts) + "\n"


def _details(summary: str, text: str) -> str:
    """Folded text."""
    return f"<details><summary><code>{_html(summary)}</code></summary>\n\n{_fenced(text)}\n\n</details>"


def _fenced(text: str, language: str = "") -> str:
    """The text in a fence longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
