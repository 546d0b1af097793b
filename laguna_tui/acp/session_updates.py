"""Turns the agent's events into the protocol's updates. Everything shown passes the sanitizer."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acp import schema
from acp.helpers import (
    plan_entry,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_user_message_text,
)

from laguna_engine.events import DrafterFailed
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    AnsweredFromIndex,
    Asked,
    Attached,
    CallRejected,
    ChangeMade,
    Compacted,
    Notice,
    ReasoningDelta,
    Steered,
    StepFinished,
    TextDelta,
    TodoChanged,
    TodoState,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.base.units import clipped

_KINDS: dict[str, Any] = {
    "read": "read",
    "list": "read",
    "search": "search",
    "find": "search",
    "edit": "edit",
    "write": "edit",
    "delete": "delete",
    "move": "move",
    "shell": "execute",
    "todo": "think",
}
_STATES: dict[TodoState, Any] = {
    TodoState.OPEN: "pending",
    TodoState.ACTIVE: "in_progress",
    TodoState.DONE: "completed",
}
_ENDS: dict[TurnEnd, Any] = {
    TurnEnd.CANCELLED: "cancelled",
    TurnEnd.MAX_TOKENS: "max_tokens",
    TurnEnd.CONTEXT_FULL: "max_tokens",
    TurnEnd.MESSAGE_TOO_LONG: "max_tokens",
    TurnEnd.TOO_MANY_STEPS: "max_turn_requests",
    TurnEnd.REPEATING: "max_tokens",
}
_TITLE_CHARS = 100
_PATHS = ("path", "new_path")
"""The arguments of our tools that name a file or a folder."""


class UpdateWriter:
    """Writes the updates of one session.

    Attributes:
        end: How the last turn ended.
        usage: The token counts of the last turn.
    """

    def __init__(self, folder: Path) -> None:
        """folder: The folder of relative paths."""
        self._folder = folder
        self.end: Any = "end_turn"
        self.usage = schema.Usage(total_tokens=0, input_tokens=0, output_tokens=0)
        self._turn = 0
        self._output: dict[int, str] = {}

    def begin(self) -> None:
        """Begin a turn, in which the numbers of calls start again."""
        self._turn += 1
        self._output.clear()
        self.end = "end_turn"
        self.usage = schema.Usage(total_tokens=0, input_tokens=0, output_tokens=0, cached_read_tokens=0)

    def call(self, call_id: int) -> str:
        """Return the ID of a call, unique in the session."""
        return f"{self._turn}.{call_id}"

    def updates(self, event: "AgentEvent | Asked") -> Iterator[Any]:
        """Yield the updates of an event; mostly one, or none."""
        match event:
            case Asked(message=message):
                self.begin()
                yield update_user_message_text(sanitize(message))
            case TextDelta(text=text):
                yield update_agent_message_text(sanitize(text))
            case ReasoningDelta(text=text):
                yield update_agent_thought_text(sanitize(text))
            case TodoChanged(items=items):
                entries = [plan_entry(sanitize_line(each.text), status=_STATES[each.state]) for each in items]
                yield update_plan(entries)
            case StepFinished():
                yield self._step(event)
            case TurnFinished():
                self.end = _ENDS.get(event.end, "end_turn")
                if event.sentence:
                    yield sentence_update(event.sentence)
            case ToolStarted() | ToolProgress() | ToolFinished() | ChangeMade():
                yield from self._tool(event)
            case _:
                yield from self._notice(event)

    def _notice(self, event: "AgentEvent | Asked") -> Iterator[Any]:
        match event:
            case Attached(notes=notes) if notes:
                yield sentence_update(" ".join(notes))
            case Notice(text=text):
                yield sentence_update(text)
            case DrafterFailed() | Compacted() | AnswerCorrected() | AnsweredFromIndex():
                yield sentence_update(event.sentence)
            case CallRejected(problem=problem):
                yield update_agent_thought_text(f"\n{sanitize(problem)}\n")
            case Steered(message=message):
                yield update_user_message_text(sanitize(message))
            case _:
                pass

    def _tool(self, event: ToolStarted | ToolProgress | ToolFinished | ChangeMade) -> Iterator[Any]:
        match event:
            case ToolStarted(call_id, name, arguments):
                yield schema.ToolCallStart(
                    session_update="tool_call",
                    tool_call_id=self.call(call_id),
                    title=_title(name, arguments),
                    kind=_KINDS.get(name, "other"),
                    status="in_progress",
                    locations=self._locations(arguments) if name in _KINDS else None,
                    raw_input=arguments,
                )
            case ToolProgress(call_id, text):
                # The protocol has no deltas of a tool's output: each update has all of it.
                self._output[call_id] = self._output.get(call_id, "") + sanitize(text)
                yield self._update(call_id, [tool_content(text_block(self._output[call_id]))])
            case ChangeMade(call_id, change):
                yield self._update(call_id, [diff_of(change)], [location_of(change)])
            case ToolFinished(call_id, _, output, ok) as finished:
                status: Any = "completed" if ok else "failed"
                yield schema.ToolCallProgress(
                    session_update="tool_call_update",
                    tool_call_id=self.call(call_id),
                    status=status,
                    raw_output={"output": sanitize(output)},
                    content=None
                    if call_id in self._output
                    else [tool_content(text_block(sanitize(finished.for_user)))],
                )

    def _update(self, call_id: int, content: list[Any], locations: list[schema.ToolCallLocation] | None = None) -> Any:
        self._output.setdefault(call_id, "")
        return schema.ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=self.call(call_id),
            status="in_progress",
            content=content,
            locations=locations,
        )

    def _locations(self, arguments: dict[str, object]) -> list[schema.ToolCallLocation] | None:
        """Return the files that a call names."""
        paths = [value for name in _PATHS if isinstance(value := arguments.get(name), str) and value]
        line = arguments.get("offset")
        first = line if isinstance(line, int) and line > 0 else None
        found = [
            schema.ToolCallLocation(path=os.path.normpath(self._folder / sanitize_line(path)), line=first)
            for path in paths
        ]
        return found or None

    def _step(self, event: StepFinished) -> Any:
        stats, before = event.stats, self.usage
        read, cached = before.input_tokens + stats.prompt_tokens, before.cached_read_tokens or 0
        written = before.output_tokens + stats.generated_tokens
        self.usage = schema.Usage(
            total_tokens=read + written,
            input_tokens=read,
            output_tokens=written,
            cached_read_tokens=cached + stats.cached_tokens,
        )
        return schema.UsageUpdate(session_update="usage_update", used=event.context_used, size=event.context_size)


def diff_of(change: ChangeProposal) -> Any:
    """Return a change as the client shows it."""
    before = None if change.kind is ChangeKind.CREATE else change.before
    return tool_diff_content(location_of(change).path, change.after, before)


def location_of(change: ChangeProposal) -> schema.ToolCallLocation:
    """Return the changed file, by its new name."""
    return schema.ToolCallLocation(path=str(change.root / (change.target or change.path)))


def sentence_update(sentence: str) -> Any:
    """Return a sentence to the user as an update."""
    return update_agent_message_text(f"\n\n_{sanitize(sentence)}_\n\n")


def _title(name: str, arguments: dict[str, object]) -> str:
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return clipped(sanitize_line(" ".join([name, *texts[:1]])), _TITLE_CHARS)
