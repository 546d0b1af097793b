"""A saved session for a reader: messages, answers and calls in their order, from the events of its journal."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from laguna_tui.base.events import (
    AgentEvent,
    Asked,
    CallRejected,
    ChangeMade,
    Compacted,
    Notice,
    ReasoningDelta,
    Steered,
    TextDelta,
    TodoChanged,
    TodoItem,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.base.text import sanitize_line
from laguna_tui.store.events import Began, Content, Moved, Opened, Titled
from laguna_tui.store.journal_lines import JOURNAL, BlobReader, read_journal
from laguna_tui.store.session_turns import SentMessages, shown_events
from laguna_tui.store.transcript_parts import PartKind, SessionTranscript, TranscriptPart

_TODO = "todo"
_STREAMED = {TextDelta: PartKind.ANSWER, ReasoningDelta: PartKind.THINKING}
_STOPPED = "The answer was stopped."


def read_transcript(folder: Path) -> SessionTranscript:
    """Read a stored session's transcript, up to where its journal is damaged, without what was undone.

    Changes nothing.

    Args:
        folder: The session's.

    Raises:
        JournalError: Its journal cannot be read.
    """
    title = about = model = ""
    created = 0.0
    sent, end, path = SentMessages(), 0, folder / JOURNAL
    for line in read_journal(path):
        sent.take(line)
        end = line.end
        match line.event:
            case Began() as began:
                about, created = began.folder, began.time
            case Moved(folder=about):
                pass
            case Opened() as opened:
                model = opened.title or opened.model
            case Titled(title=title):
                pass
            case _:
                pass
    writer = _PartWriter()
    with closing(BlobReader(folder)) as blobs:
        content = Content(blobs.get)
        for start, stop in sent.shown(end):
            for event in shown_events(read_journal(path, start, stop), content):
                writer.add(event)
    first = next((part.text for part in writer.parts if part.kind is PartKind.MESSAGE), "")
    title = sanitize_line(title) or " ".join(first.split())[:80] or folder.name
    return SessionTranscript(title, folder.name, about, model, created, tuple(writer.parts))


class _PartWriter:
    """Makes parts from events."""

    def __init__(self) -> None:
        self.parts: list[TranscriptPart] = []
        # By their number, until they have ended.
        self._calls: dict[int, TranscriptPart] = {}

    def add(self, event: Asked | AgentEvent) -> None:
        """Add what an event shows."""
        match event:
            case Asked(message) | Steered(message):
                self._add(PartKind.MESSAGE, message)
            case TurnFinished():
                self._end_turn(event)
            case TextDelta(text) | ReasoningDelta(text):
                self._add_text(_STREAMED[type(event)], text)
            case ToolStarted(call_id, name, arguments):
                self._calls[call_id] = self._add(PartKind.CALL, "", call_text(name, arguments) or "?")
            case ToolFinished(call_id) if call_id in self._calls:
                self._calls.pop(call_id).text = _command_output(event.for_user)
            case ChangeMade(change=change):
                self._add(PartKind.CHANGE, change.patch, change.subject)
            case TodoChanged(items):
                self._add(PartKind.TODO, "\n".join(map(_todo_line, items)))
            case Notice(text) | CallRejected(problem=text):
                self._add(PartKind.NOTICE, text)
            case Compacted():
                self._add(PartKind.NOTICE, "\n\n".join(filter(None, (event.sentence, event.summary))))

    def _end_turn(self, event: TurnFinished) -> None:
        self._calls.clear()
        self._add(PartKind.NOTICE, event.sentence or (_STOPPED if event.end is TurnEnd.CANCELLED else ""))

    def _add(self, kind: PartKind, text: str, title: str = "") -> TranscriptPart:
        part = TranscriptPart(kind, text, title)
        if text or title:
            self.parts.append(part)
        return part

    def _add_text(self, kind: PartKind, text: str) -> None:
        if self.parts and self.parts[-1].kind is kind:
            self.parts[-1].text += text
        else:
            self._add(kind, text)


def _todo_line(item: TodoItem) -> str:
    return f"- [{item.state.value}] {item.text}"


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the call as a line of code: `search(name, path=src)`; a command after "$ "."""
    command = arguments.get("command")
    if isinstance(command, str):
        return f"$ {command}"
    if name == _TODO:
        return name
    values = [(key, str(value)) for key, value in arguments.items()]
    first = [value for _, value in values[:1]]
    return f"{name}({', '.join([*first, *(f'{key}={value}' for key, value in values[1:])])})"


def _command_output(output: str) -> str:
    """Return the output of a command from the JSON that the model is given; any other output as it is."""
    try:
        said = json.loads(output)
        lines: Iterator[str] = filter(None, (said["stdout"].rstrip("\n"), str(said.get("note", ""))))
        return "\n".join(lines)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return output
