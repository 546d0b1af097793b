"""The conversation as a Markdown file on disk."""

import time
from pathlib import Path

from laguna_tui.base.crash_log import create_private_file
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.compaction_entry import CompactionEntry
from laguna_tui.tui.transcript.document import Document
from laguna_tui.tui.transcript.entries import NoticeEntry, QuestionEntry
from laguna_tui.tui.transcript.request_entries import ChangeEntry, ChangeOutcome
from laguna_tui.tui.transcript.step_entries import CommandEntry, ThinkingEntry, ToolCallEntry
from laguna_tui.tui.transcript.todo_entry import TodoEntry


def write_chat(document: Document, folder: Path, when: time.struct_time) -> Path:
    """Write the chat, without secrets, into a new file in `folder` and return its path. Never overwrites a file.

    Raises:
        OSError: the folder cannot be written to.
    """
    # Needed for a file only, and its patterns take time to compile.
    from laguna_tui.base.redact import redact

    text = to_markdown(document, f"laguna-tui, {time.strftime('%Y-%m-%d %H:%M', when)}")
    return create_private_file(folder, time.strftime("laguna-chat-%Y%m%d-%H%M%S", when), ".md", redact(text))


def to_markdown(document: Document, title: str) -> str:
    """The whole chat as Markdown."""
    parts = [f"# {title}"]
    for entry in document.entries:
        match entry:
            case QuestionEntry(text=text):
                parts.append("\n".join(f"> {line}" for line in text.split("\n")))
            case CommandEntry():
                parts.append(_details(f"$ {entry.call}", entry.source()))
            case ToolCallEntry():
                parts.append(_details(entry.call, entry.output or ""))
            case ChangeEntry(outcome=ChangeOutcome.MADE):
                parts.append(_fenced(entry.source(), "diff"))
            case ThinkingEntry():
                parts.append(_details("thinking", entry.source()))
            case AnswerEntry() | NoticeEntry() | TodoEntry() | CompactionEntry():
                text = entry.source()
                tight = isinstance(entry, AnswerEntry) and not entry.gap
                parts[-1:] = [f"{parts[-1]}\n{text}"] if tight else [parts[-1], text]
            case _:
                pass
    return "\n\n".join(parts) + "\n"


def _details(summary: str, text: str) -> str:
    """Text in a `<details>` element."""
    return f"<details><summary><code>{_html(summary)}</code></summary>\n\n{_fenced(text)}\n\n</details>"


def _fenced(text: str, language: str = "") -> str:
    """The text in a fence longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
