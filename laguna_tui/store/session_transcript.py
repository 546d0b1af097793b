"""A kept session as a reader wants it: what was said and done, in its order, from the events of its journal."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.events import Compacted, TurnEnd, TurnFinished
from laguna_tui.base.hunks import Hunk, HunkLine, Sign, unified
from laguna_tui.base.text import sanitize_line
from laguna_tui.store.journal_lines import JOURNAL, Event, read_journal
from laguna_tui.store.session_texts import SessionTexts, line, mappings, moment, number
from laguna_tui.store.transcript_parts import Part, PartKind, Transcript

_TODO = "todo"


def read_transcript(folder: Path) -> Transcript:
    """Read a kept session's transcript, up to where its journal is damaged, without what was undone. Changes nothing.

    Args:
        folder: The session's.

    Raises:
        JournalError: Its journal cannot be read.
    """
    with SessionTexts(folder) as texts:
        reader = _TranscriptReader(texts)
        for each in read_journal(folder / JOURNAL):
            reader.take(each.event)
        parts = tuple(reader.done)
        first = next((part.text for part in parts if part.kind is PartKind.MESSAGE), "")
        title = sanitize_line(reader.title) or " ".join(first.split())[:80] or folder.name
        return Transcript(title, folder.name, reader.about, reader.model, reader.created, parts)


class _TranscriptReader:
    """Makes parts of events."""

    def __init__(self, texts: SessionTexts) -> None:
        self.title = self.about = self.model = ""
        self.created = 0.0
        self._texts = texts
        self._parts: list[Part] = []
        # The number of each part's turn, 0 for none; the numbers of the turns, of which so many are not undone.
        self._turn_of: list[int] = []
        self._turns: list[int] = []
        self._position = self._turn = 0
        # By their number, until they have ended.
        self._calls: dict[float, Part] = {}
        self._asked: str | None = None
        self._asked_at = 0
        self._shows: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "TextDelta": lambda event: self._add_text(PartKind.ANSWER, event),
            "ReasoningDelta": lambda event: self._add_text(PartKind.THINKING, event),
            "ToolStarted": self._add_call,
            "ToolFinished": self._end_call,
            "ChangeMade": self._add_change,
            "TodoChanged": self._add_todo,
            "Steered": lambda event: self._add_field(PartKind.MESSAGE, event, "message"),
            "Notice": lambda event: self._add_field(PartKind.NOTICE, event, "text"),
            "CallRejected": lambda event: self._add_field(PartKind.NOTICE, event, "problem"),
            "Compacted": self._add_compaction,
        }

    @property
    def done(self) -> Iterator[Part]:
        """The parts, but for those of turns that are undone."""
        shown = {0, *self._turns[: self._position]}
        return (part for part, turn in zip(self._parts, self._turn_of, strict=True) if turn in shown)

    def take(self, event: Event) -> None:
        """Take an event of the journal."""
        match event["event"]:
            case "session":
                self.about, self.created = line(event.get("folder")), moment(event.get("time"))
            case "moved":
                self.about = line(event.get("folder"))
            case "opened":
                self.model = line(event.get("title")) or line(event.get("model"))
            case "titled":
                self.title = line(event.get("title"))
            case "asked":
                self._turn = 0
                self._asked = self._texts.text(event.get("message"))
                self._asked_at = len(self._parts)
                self._add(PartKind.MESSAGE, self._asked)
            case "turn":
                self._begin_turn(event)
            case "history":
                self._position = max(0, min(int(number(event.get("position"))), len(self._turns)))
            case "shown":
                self._take_shown(event)
            case "turn_ended":
                self._end_turn(event)

    def _begin_turn(self, event: Event) -> None:
        """A turn takes the place of those that are undone; what was asked before belongs to it."""
        self._turn = int(number(event.get("number")))
        self._turns[self._position :] = [self._turn]
        self._position += 1
        message = self._texts.text(event.get("message"))
        if self._asked is not None:
            self._turn_of[self._asked_at :] = [self._turn] * (len(self._parts) - self._asked_at)
        if message != self._asked:
            self._add(PartKind.MESSAGE, message)
        self._asked = None

    def _take_shown(self, event: Event) -> None:
        for shown in mappings(event.get("events")):
            show = self._shows.get(line(shown.get("type")))
            if show is not None:
                show(shown)

    def _add(self, kind: PartKind, text: str, title: str = "") -> Part:
        part = Part(kind, text, title)
        if text or title:
            self._parts.append(part)
            self._turn_of.append(self._turn)
        return part

    def _add_field(self, kind: PartKind, event: Mapping[str, Any], field: str) -> None:
        self._add(kind, self._texts.text(event.get(field)))

    def _add_text(self, kind: PartKind, event: Mapping[str, Any]) -> None:
        text = self._texts.text(event.get("text"))
        if self._parts and self._parts[-1].kind is kind and self._turn_of[-1] == self._turn:
            self._parts[-1].text += text
        else:
            self._add(kind, text)

    def _add_call(self, event: Mapping[str, Any]) -> None:
        name, arguments = line(event.get("name")), self._texts.arguments(event.get("arguments"))
        self._calls[number(event.get("call_id"))] = self._add(PartKind.CALL, "", call_text(name, arguments) or "?")

    def _end_call(self, event: Mapping[str, Any]) -> None:
        call = self._calls.pop(number(event.get("call_id")), None)
        if call is not None:
            call.text = _command_output(self._texts.text(event.get("output")))

    def _add_change(self, event: Mapping[str, Any]) -> None:
        change = event.get("change")
        if not isinstance(change, Mapping):
            return
        path, target = self._texts.text(change.get("path")), self._texts.text(change.get("target"))
        if target:
            self._add(PartKind.CHANGE, f"rename from {path}\nrename to {target}", f"{path} → {target}")
            return
        kind = change.get("kind")
        before = "/dev/null" if kind == ChangeKind.CREATE.value else path
        after = "/dev/null" if kind == ChangeKind.DELETE.value else path
        lines = unified(self._hunk(each) for each in mappings(change.get("hunks")))
        self._add(PartKind.CHANGE, "\n".join((f"--- {before}", f"+++ {after}", *lines)), path)

    def _hunk(self, hunk: Mapping[str, Any]) -> Hunk:
        lines = tuple(
            HunkLine(Sign(sign), self._texts.text(each.get("text")))
            for each in mappings(hunk.get("lines"))
            if (sign := line(each.get("sign"))) in tuple(Sign)
        )
        return Hunk(int(number(hunk.get("before"))), int(number(hunk.get("after"))), lines)

    def _add_todo(self, event: Mapping[str, Any]) -> None:
        lines = (
            f"- [{line(each.get('state')) or ' '}] {self._texts.text(each.get('text'))}"
            for each in mappings(event.get("items"))
        )
        self._add(PartKind.TODO, "\n".join(lines))

    def _add_compaction(self, event: Mapping[str, Any]) -> None:
        before, after, shortened, replaced = (
            int(number(event.get(key))) for key in ("before", "after", "shortened", "replaced")
        )
        summary = self._texts.text(event.get("summary"))
        compacted = Compacted(before, after, shortened, replaced, 0, summary)
        self._add(PartKind.NOTICE, "\n\n".join(filter(None, (compacted.sentence, summary))))

    def _end_turn(self, event: Mapping[str, Any]) -> None:
        self._calls.clear()
        ends = {end.value: end for end in TurnEnd}
        end = ends.get(line(event.get("end")), TurnEnd.ANSWERED)
        cancelled = "The answer was stopped." if end is TurnEnd.CANCELLED else ""
        finished = TurnFinished(end, self._texts.text(event.get("detail")))
        self._add(PartKind.NOTICE, finished.sentence or cancelled)


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
