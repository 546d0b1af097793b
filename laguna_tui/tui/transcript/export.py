"""The chat on the screen as a Markdown file on disk."""

import time
from collections.abc import Iterator
from pathlib import Path

from laguna_tui.base.crash_log import create_private_file
from laguna_tui.store.transcript_parts import PartKind, SessionTranscript, TranscriptPart
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.compaction_entry import CompactionEntry
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import NoticeEntry, QuestionEntry
from laguna_tui.tui.transcript.request_entries import ChangeEntry, ChangeOutcome
from laguna_tui.tui.transcript.step_entries import CommandEntry, ThinkingEntry, ToolCallEntry
from laguna_tui.tui.transcript.todo_entry import TodoEntry


def write_chat(document: TranscriptDocument, folder: Path, when: time.struct_time) -> Path:
    """Write the chat, without secrets, into a new file in `folder` and return its path. Never overwrites a file.

    Raises:
        OSError: the folder cannot be written to.
    """
    text = chat_text(document, f"laguna-tui, {time.strftime('%Y-%m-%d %H:%M', when)}")
    return create_private_file(folder, time.strftime("laguna-chat-%Y%m%d-%H%M%S", when), ".md", text)


def chat_text(document: TranscriptDocument, title: str) -> str:
    """Return the whole chat as Markdown, without secrets; empty if there is nothing in it."""
    # Needed for a file only, and its patterns take time to compile.
    from laguna_tui.store.session_export import to_markdown

    parts = tuple(_parts(document))
    return to_markdown(SessionTranscript(title, "", "", "", 0.0, parts)) if parts else ""


def _parts(document: TranscriptDocument) -> Iterator[TranscriptPart]:
    for entry in document.entries:
        match entry:
            case QuestionEntry(text=text):
                yield TranscriptPart(PartKind.MESSAGE, text)
            case CommandEntry():
                yield TranscriptPart(PartKind.CALL, entry.source(), f"$ {entry.call}")
            case ToolCallEntry():
                yield TranscriptPart(PartKind.CALL, entry.output or "", entry.call)
            case ChangeEntry(outcome=ChangeOutcome.MADE):
                yield TranscriptPart(PartKind.CHANGE, entry.source(), entry.change.subject)
            case ThinkingEntry():
                yield TranscriptPart(PartKind.THINKING, entry.source())
            case AnswerEntry():
                yield TranscriptPart(PartKind.ANSWER, entry.source(), is_tight=not entry.gap)
            case TodoEntry():
                yield TranscriptPart(PartKind.TODO, entry.source())
            case NoticeEntry() | CompactionEntry():
                yield TranscriptPart(PartKind.NOTICE, entry.source())
            case _:
                pass
