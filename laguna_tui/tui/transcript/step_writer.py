"""Writes what the agent's tools do into a document: their calls, what those ask, change and put out, the list of steps.

Takes sanitised events. The entries of answers are written by `transcript_writer`.
"""

import json

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    ChangeMade,
    PermissionAnswered,
    PermissionAsked,
    TodoChanged,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import NoticeEntry
from laguna_tui.tui.transcript.request_entries import CallRequestEntry, ChangeEntry, ChangeOutcome, RequestEntry
from laguna_tui.tui.transcript.step_entries import CommandEntry, ToolCallEntry
from laguna_tui.tui.transcript.todo_entry import TodoEntry

SHELL, COMMAND = "shell", "cmd"
"""The tool whose calls are shown as in a terminal, and its argument that is the command."""
_TODO = "todo"
_USER = "user"
_BY_RULE = {True: "allowed by the rule {rule}", False: "denied by the rule {rule}"}

ToolCallEvent = ToolStarted | ToolProgress | ToolFinished
PermissionEvent = PermissionAsked | PermissionAnswered | ChangeMade


class StepWriter:
    """Applies the events of tools to a document.

    Attributes:
        asked: what waits for the user's answer, or to be done; None for nothing.
    """

    def __init__(self, document: TranscriptDocument) -> None:
        self._document = document
        self._calls: dict[int, ToolCallEntry] = {}
        self._declined: set[int] = set()
        self._todo: TodoEntry | None = None
        # A change that is allowed, while its linter is asked about before it is made.
        self._allowed: ChangeEntry | None = None
        self.asked: RequestEntry | None = None

    def start(self, event: ToolStarted) -> None:
        """A call begins."""
        gap = not isinstance(self._document.last, ToolCallEntry)
        command = str(event.arguments.get(COMMAND, "")).removeprefix('"').removesuffix('"')
        called = CommandEntry(command, gap=gap) if event.name == SHELL and command.strip() else None
        self._calls[event.call_id] = entry = called or ToolCallEntry(call_text(event), gap=gap)
        self._document.append(entry)

    def progress(self, event: ToolProgress) -> None:
        """A call puts something out."""
        if event.call_id in self._calls:
            self._calls[event.call_id].write(event.text)

    def finish(self, event: ToolFinished) -> None:
        """A call has ended."""
        declined = event.call_id in self._declined and not event.ok
        self._end_change(event.for_user)
        called = self._calls.pop(event.call_id, None)
        if called is None:
            return
        output, report = event.for_user, event.full_output or ""
        if isinstance(called, CommandEntry) and event.ok:
            output, called.exit_code, called.job = command_result(event.output)
        elif event.ok:
            report = ""
        called.finish(output, event.seconds, ok=event.ok, declined=declined, report=report)

    def permission(self, event: PermissionEvent) -> None:
        """A call asks for permission, is answered, or has changed a file."""
        match event:
            case PermissionAsked():
                self._ask(event)
            case PermissionAnswered():
                self._answer(event)
            case ChangeMade():
                self._change(event)

    def show_todo(self, event: TodoChanged) -> None:
        """Show the model's list, below what it has done so far."""
        if self._todo is None:
            self._todo = TodoEntry(event.items)
        else:
            self._todo.show(event.items)
            if self._document.last is self._todo:
                return
            self._document.remove(self._todo)
        if event.items:
            self._document.append(self._todo)
        else:
            self._todo = None

    def settle(self) -> None:
        """Close every entry that shows something as running; the next turn begins a list of its own."""
        self._end_change()
        for called in self._calls.values():
            called.stop_waiting()
        self._calls.clear()
        self._declined.clear()
        self._todo = None

    def clear(self) -> None:
        """Forget everything; the document was cleared."""
        self._calls.clear()
        self._declined.clear()
        self._todo = self._allowed = self.asked = None

    def _ask(self, event: PermissionAsked) -> None:
        if isinstance(self.asked, ChangeEntry) and self.asked.agreed:
            self._allowed = self.asked
        else:
            self._end_request(ChangeOutcome.NOT_MADE)
        if event.call_id in self._calls:
            self._calls[event.call_id].ask(asks=True)
        proposal = event.request.proposal
        change = isinstance(proposal, ChangeProposal)
        self.asked = ChangeEntry(proposal) if isinstance(proposal, ChangeProposal) else CallRequestEntry(proposal)
        self.asked.request = event.request
        if change or self.asked.lay(self._document.width):
            self._document.append(self.asked)

    def _answer(self, event: PermissionAnswered) -> None:
        allowed = event.answer.allowed
        if event.call_id in self._calls:
            self._calls[event.call_id].ask(asks=False)
        if event.by != _USER:
            self._document.append(NoticeEntry(_BY_RULE[allowed].format(rule=event.by), gap=False))
        if not allowed:
            self._declined.add(event.call_id)
        if self.asked is None:
            return
        self.asked.agreed = allowed
        if isinstance(self.asked, ChangeEntry) and event.answer.hunks is not None:
            self.asked.hunks = len(event.answer.hunks), len(self.asked.change.hunks)
        if isinstance(self.asked, CallRequestEntry):
            # The call's own entry shows the result.
            self._end_request(ChangeOutcome.NOT_MADE)

    def _change(self, event: ChangeMade) -> None:
        self.asked, self._allowed = self._allowed or self.asked, None
        if not isinstance(self.asked, ChangeEntry):
            self.asked = ChangeEntry(event.change, agreed=True)
            self._document.append(self.asked)
        self.asked.show(event.change)
        self._end_request(ChangeOutcome.MADE)

    def _end_change(self, why: str = "") -> None:
        """End what was asked about and not done. why: The reason."""
        self._end_request(ChangeOutcome.NOT_MADE, why)
        self.asked, self._allowed = self._allowed, None
        self._end_request(ChangeOutcome.NOT_MADE, why)

    def _end_request(self, outcome: ChangeOutcome, why: str = "") -> None:
        if isinstance(self.asked, ChangeEntry):
            self.asked.finish(outcome, why)
        elif self.asked is not None and self._document.index(self.asked) is not None:
            self._document.remove(self.asked)
        self.asked = None


def call_text(event: ToolStarted) -> str:
    """Return the call as a line of code: `search("name", path="src")`. The first argument goes without its name."""
    if event.name == _TODO:
        # Its list is an entry of its own.
        return event.name
    values = [(key, sanitize_line(str(value))) for key, value in event.arguments.items()]
    first = [value for _, value in values[:1]]
    return f"{event.name}({', '.join([*first, *(f'{key}={value}' for key, value in values[1:])])})"


def command_result(output: str) -> tuple[str, int | None, int | None]:
    """Return the text, the exit code and the background job in the answer of `shell`, which is JSON; else all of it."""
    try:
        said = json.loads(output)
        stdout, code, job = said["stdout"], said["exit_code"], said.get("job")
    except (ValueError, TypeError, KeyError):
        return output, None, None
    if not isinstance(stdout, str) or not isinstance(code, int | None) or not isinstance(job, int | None):
        return output, None, None
    # JSON can spell what the sanitizer removed.
    text = "\n".join(filter(None, (sanitize(stdout).rstrip("\n"), sanitize(str(said.get("note", ""))))))
    return text, code, job
