"""The conversation as a Markdown file on disk."""

import time
from pathlib import Path

from laguna_tui.base.crash_log import create_private_file
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.document import Document
from laguna_tui.tui.transcript.edit_entry import EditEntry, EditOutcome
from laguna_tui.tui.transcript.entries import NoticeEntry, QuestionEntry
from laguna_tui.tui.transcript.step_entries import ThinkingEntry, ToolCallEntry


def write_chat(document: Document, folder: Path, when: time.struct_time) -> Path:
    """Write the chat into a new file in `folder` and return its path. Never writes over a file.

    Raises:
        OSError: the folder cannot be written to.
    """
    text = to_markdown(document, f"laguna-tui, {time.strftime('%Y-%m-%d %H:%M', when)}")
    return create_private_file(folder, time.strftime("laguna-chat-%Y%m%d-%H%M%S", when), ".md", text)


def to_markdown(document: Document, title: str) -> str:
    """The whole chat as a Markdown file."""
    parts = [f"# {title}"]
    for piece in document.pieces:
        match piece:
            case QuestionEntry(text=text):
                parts.append("\n".join(f"> {line}" for line in text.split("\n")))
            case ToolCallEntry():
                parts.append(_details(piece.call, piece.output or ""))
            case EditEntry(fate=EditOutcome.MADE):
                parts.append(_fenced(piece.source(), "diff"))
            case ThinkingEntry():
                parts.append(_details("thinking", piece.source()))
            case AnswerEntry() | NoticeEntry():
                text = piece.source()
                tight = isinstance(piece, AnswerEntry) and not piece.gap
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
