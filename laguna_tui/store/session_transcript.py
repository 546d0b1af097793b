"""A stored session as a reader wants it: what was said and done, in its order, from the events of its journal."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.events import (
    AgentEvent,
    CallRejected,
    ChangeMade,
    Compacted,
    Notice,
    ReasoningDelta,
    Steered,
    TextDelta,
    TodoChanged,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.base.text import sanitize_line
from laguna_tui.store.events import (
    Began,
    Content,
    Event,
    HistoryMoved,
    MessageSent,
    Moved,
    Opened,
    Shown,
    Titled,
    TurnBegun,
    TurnEnded,
    Unread,
)
from laguna_tui.store.journal_lines import JOURNAL, BlobReader, read_journal
from laguna_tui.store.transcript_parts import Part, PartKind, Transcript

_TODO = "todo"


def read_transcript(folder: Path) -> Transcript:
    """Read a stored session's transcript, up to where its journal is damaged, without what was undone.

    Changes nothing.

    Args:
        folder: The session's.

    Raises:
        JournalError: Its journal cannot be read.
    """
    with closing(BlobReader(folder)) as blobs:
        reader = _TranscriptReader(Content(blobs.get))
        for each in read_journal(folder / JOURNAL):
            reader.take(each.event)
    parts = tuple(reader.done)
    first = next((part.text for part in parts if part.kind is PartKind.MESSAGE), "")
    title = sanitize_line(reader.title) or " ".join(first.split())[:80] or folder.name
    return Transcript(title, folder.name, reader.about, reader.model, reader.created, parts)


class _TranscriptReader:
    """Makes parts of events."""

    def __init__(self, content: Content) -> None:
        self.title = self.about = self.model = ""
        self.created = 0.0
        self._content = content
        self._parts: list[Part] = []
        # The number of each part's turn, 0 for none; the numbers of the turns, of which so many are not undone.
        self._turn_of: list[int] = []
        self._turns: list[int] = []
        self._position = self._turn = 0
        # By their number, until they have ended.
        self._calls: dict[int, Part] = {}
        self._sent: str | None = None
        self._sent_at = 0

    @property
    def done(self) -> Iterator[Part]:
        """The parts, but for those of turns that are undone."""
        shown = {0, *self._turns[: self._position]}
        return (part for part, turn in zip(self._parts, self._turn_of, strict=True) if turn in shown)

    def take(self, event: Event | Unread) -> None:
        """Take an event of the journal."""
        match event:
            case Began():
                self.about, self.created = event.folder, event.time
            case Moved():
                self.about = event.folder
            case Opened():
                self.model = event.title or event.model
            case Titled():
                self.title = event.title
            case MessageSent() | TurnBegun() | HistoryMoved() | TurnEnded():
                self._take_turn(event)
            case Shown():
                for shown in self._content.events(event):
                    self._show(shown)

    def _take_turn(self, event: MessageSent | TurnBegun | HistoryMoved | TurnEnded) -> None:
        match event:
            case MessageSent():
                self._turn = 0
                self._sent, self._sent_at = self._content.text(event.message), len(self._parts)
                self._add(PartKind.MESSAGE, self._sent)
            case TurnBegun():
                self._begin_turn(event)
            case HistoryMoved():
                self._position = min(event.position, len(self._turns))
            case TurnEnded():
                self._calls.clear()
                ends = {end.value: end for end in TurnEnd}
                end = ends.get(event.end, TurnEnd.ANSWERED)
                stopped = "The answer was stopped." if end is TurnEnd.CANCELLED else ""
                self._add(PartKind.NOTICE, TurnFinished(end, event.detail).sentence or stopped)

    def _begin_turn(self, event: TurnBegun) -> None:
        """A turn takes the place of those that are undone; what was sent before belongs to it."""
        self._turn = event.number
        self._turns[self._position :] = [self._turn]
        self._position += 1
        message = self._content.text(event.message)
        if self._sent is not None:
            self._turn_of[self._sent_at :] = [self._turn] * (len(self._parts) - self._sent_at)
        if message != self._sent:
            self._add(PartKind.MESSAGE, message)
        self._sent = None

    def _show(self, event: AgentEvent) -> None:
        match event:
            case TextDelta(text):
                self._add_text(PartKind.ANSWER, text)
            case ReasoningDelta(text):
                self._add_text(PartKind.THINKING, text)
            case ToolStarted(call_id, name, arguments):
                self._calls[call_id] = self._add(PartKind.CALL, "", call_text(name, arguments) or "?")
            case ToolFinished(call_id) if call_id in self._calls:
                self._calls.pop(call_id).text = _command_output(event.output)
            case ChangeMade(change=change):
                self._add_change(change)
            case TodoChanged(items):
                lines = (f"- [{item.state.value}] {item.text}" for item in items)
                self._add(PartKind.TODO, "\n".join(lines))
            case Steered(message):
                self._add(PartKind.MESSAGE, message)
            case Notice(text) | CallRejected(problem=text):
                self._add(PartKind.NOTICE, text)
            case Compacted():
                self._add(PartKind.NOTICE, "\n\n".join(filter(None, (event.sentence, event.summary))))

    def _add(self, kind: PartKind, text: str, title: str = "") -> Part:
        part = Part(kind, text, title)
        if text or title:
            self._parts.append(part)
            self._turn_of.append(self._turn)
        return part

    def _add_text(self, kind: PartKind, text: str) -> None:
        if self._parts and self._parts[-1].kind is kind and self._turn_of[-1] == self._turn:
            self._parts[-1].text += text
        else:
            self._add(kind, text)

    def _add_change(self, change: ChangeProposal) -> None:
        path, target = change.path, change.target
        if target:
            self._add(PartKind.CHANGE, f"rename from {path}\nrename to {target}", f"{path} → {target}")
            return
        before = "/dev/null" if change.kind is ChangeKind.CREATE else path
        after = "/dev/null" if change.kind is ChangeKind.DELETE else path
        self._add(PartKind.CHANGE, "\n".join((f"--- {before}", f"+++ {after}", *change.diff)), path)


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """The call as a line of code: `search(name, path=src)`; a command behind "$ "."""
    command = arguments.get("command")
    if isinstance(command, str):
        return f"$ {command}"
    if name == _TODO:
        return name
    values = [(key, str(value)) for key, value in arguments.items()]
    first = [value for _, value in values[:1]]
    return f"{name}({', '.join([*first, *(f'{key}={value}' for key, value in values[1:])])})"


def _command_output(output: str) -> str:
    """What a command put out, which stands in the JSON that the model is given; anything else as it is."""
    try:
        said = json.loads(output)
        lines: Iterator[str] = filter(None, (said["stdout"].rstrip("\n"), str(said.get("note", ""))))
        return "\n".join(lines)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return output
