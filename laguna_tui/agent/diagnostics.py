"""What a change broke: new syntax errors, and new findings of the project's own linters.

They are commands (`syntax.linters`). Each is permitted once for its folder, runs in the sandbox, and first runs before
the session's first change that it concerns: what it finds then is not new. One that is missing, not permitted, too slow
or broken is left out for the rest of the session, with one notice to the user.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.agent.changes import Changes
from laguna_tui.agent.tool_run import PermissionDenied, ToolError, ToolRun
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.events import Notice, ToolProgress
from laguna_tui.base.paths import escaped
from laguna_tui.base.permission_request import CommandProposal, PermissionRequest
from laguna_tui.base.units import plural
from laguna_tui.repo.files.text_files import decode, split_lines
from laguna_tui.repo.files.workspace import READ_LIMIT_BYTES, Workspace, WorkspaceError
from laguna_tui.repo.syntax.linters import Diagnostic, Linter, configured_linters
from laguna_tui.repo.syntax.syntax_errors import new_syntax_errors

if TYPE_CHECKING:
    from laguna_tui.sandbox.runner import CommandRunner
    from laguna_tui.sandbox.running_command import CommandResult

CHECK_TIMEOUT_S = 120.0
"""A linter that takes longer is left out."""

SLOW_S = 30.0
"""Longest time of a linter after each change; a slower one is left out after its first run."""

# The tool whose rules apply to the commands of linters.
_TOOL = "shell"
_SHOWN = 10
_OUTPUT_BYTES = 2 * 1024 * 1024
_LINE_CHARS = 200
# A shell's exit codes for a program that is missing or cannot be run.
_NO_PROGRAM = (126, 127)

_WHY = "The project's own linter, to check the model's changes. You are asked once."
_MISSING = "{name} is configured in this project, but not installed here, so it does not check the model's changes."
_SLOW = "{name} takes {seconds:.0f} s here, so it does not check each of the model's changes."
_TIMED_OUT = "{name} took longer than {seconds:.0f} s, so it does not check the model's changes."
_BROKEN = "{name} could not check this project (exit code {code}), so it does not check the model's changes."
_NOT_RUN = "{name} could not be started ({why}), so it does not check the model's changes."

_Key = tuple[str, str, str, str]
"""Of a finding: path, code, message, and the text of its line."""


@dataclass(slots=True)
class _LinterState:
    """A linter in this session.

    Attributes:
        linter: The linter.
        before: Findings before the first change.
        reported: Current findings that the model already knows.
        off: Whether it is switched off for this session.
    """

    linter: Linter
    before: Counter[_Key] = field(default_factory=Counter)
    reported: Counter[_Key] = field(default_factory=Counter)
    off: bool = False


class Diagnostics:
    """Finds what a session's changes broke. One thread at a time."""

    def __init__(
        self,
        commands: "Callable[[], CommandRunner] | None" = None,
        changes: Changes | None = None,
    ) -> None:
        """Run nothing yet.

        Args:
            commands: Returns what runs the project's linters, when the first one runs; None runs none.
            changes: Makes what the commands change undoable; None if it is not.
        """
        self._commands = commands
        self._changes = changes or Changes()
        self._linters: dict[tuple[str, str], _LinterState] = {}

    def before_change(self, run: ToolRun, proposal: ChangeProposal) -> None:
        """Ask permission for the linters that this change is the first one for, and run them before it.

        Args:
            run: The call that makes the change.
            proposal: The change, which is not made yet.
        """
        for path in filter(None, (proposal.path, proposal.target)):
            for linter in self._configured(run.workspace, path):
                if (linter.name, linter.folder) not in self._linters:
                    state = _LinterState(linter, off=not self._permitted(run, linter))
                    found = self._findings(run, state)
                    if found is not None:
                        state.before = Counter(key for key, _ in found)
                        self._linters[linter.name, linter.folder] = state

    def after_change(self, run: ToolRun, change: ChangeProposal) -> list[str]:
        """Return the problems since a change, as lines for the model; usually none.

        Args:
            run: The call that made the change.
            change: The change that was made.
        """
        if change.kind is ChangeKind.DELETE:
            lines = []
        else:
            path = change.target or change.path
            lines = [
                f"{escaped(path)}:{fault.line}: {fault.message}: {fault.text}"
                for fault in new_syntax_errors(path, change.before, change.after)
                # A change that broke a Python file says so in its notes.
                if not any(fault.message in note for note in change.notes)
            ]
        states = self._states(run.workspace, change)
        still = 0
        for state in states:
            self._rename(state, change)
            new, old = self._news(run, state)
            lines += new
            still += old
        return list(_report(lines, still))

    def _configured(self, workspace: Workspace, path: str) -> list[Linter]:
        return [] if self._commands is None else configured_linters(workspace, path)

    def _states(self, workspace: Workspace, change: ChangeProposal) -> list[_LinterState]:
        """Return the linters that a change concerns, each once."""
        paths = filter(None, (change.path, change.target))
        keys = {(linter.name, linter.folder): None for path in paths for linter in self._configured(workspace, path)}
        return [self._linters[key] for key in keys if key in self._linters]

    def _rename(self, state: _LinterState, change: ChangeProposal) -> None:
        """Move the findings of a moved file to its new path, so that they are not new there."""
        if change.kind is ChangeKind.MOVE:
            for counted in (state.before, state.reported):
                for key in [key for key in counted if key[0] == change.path]:
                    counted[(change.target, *key[1:])] += counted.pop(key)

    def _news(self, run: ToolRun, state: _LinterState) -> tuple[list[str], int]:
        """Return the new findings of a linter, and how many of those after earlier changes remain."""
        found = [] if state.off else self._findings(run, state)
        if not found and (found is None or state.off):
            return [], 0
        now = Counter(key for key, _ in found)
        broken = now - state.before
        new = broken - state.reported
        lines = []
        for key, finding in reversed(found):
            # Of identical findings, the last ones are taken for the new ones.
            if new[key] > 0:
                new[key] -= 1
                lines.append(_finding_line(state.linter, finding))
        state.reported = broken
        return lines[::-1], broken.total() - len(lines)

    def _permitted(self, run: ToolRun, linter: Linter) -> bool:
        from laguna_tui.sandbox.probe import approval_reason

        assert self._commands is not None
        try:
            status = self._commands().status
        except ToolError:
            return False
        request = PermissionRequest(
            _TOOL,
            CommandProposal(linter.command, run.workspace.root / linter.folder, CHECK_TIMEOUT_S),
            why=_WHY,
            sandbox=status.brief,
            approval_reason=approval_reason(linter.command, status),
        )
        try:
            run.ask(request)
        except PermissionDenied:
            return False
        return True

    def _findings(self, run: ToolRun, state: _LinterState) -> list[tuple[_Key, Diagnostic]] | None:
        """Return a linter's findings; none if it is switched off, None if the turn was stopped meanwhile."""
        result = None if state.off else self._result(run, state)
        if result is None or result.cancelled:
            return [] if result is None else None
        found = state.linter.findings(_whole_output(result))
        notice = _objection(state.linter, result, found)
        if notice:
            self._leave_out(run, state, notice)
        texts: dict[str, Sequence[str]] = {}
        return [(_key(run.workspace, finding, texts), finding) for finding in found]

    def _result(self, run: ToolRun, state: _LinterState) -> "CommandResult | None":
        from laguna_tui.sandbox.running_command import CommandNotRun

        assert self._commands is not None
        linter = state.linter
        run.emit(ToolProgress(run.call_id, f"{linter.name} …\n"))
        try:
            with self._changes.around_command(run):
                return self._commands().run(
                    linter.command,
                    folder=run.workspace.root / linter.folder,
                    timeout_s=CHECK_TIMEOUT_S,
                    cancelled=run.cancelled,
                )
        except CommandNotRun as error:
            self._leave_out(run, state, _NOT_RUN.format(name=linter.name, why=error))
            return None

    def _leave_out(self, run: ToolRun, state: _LinterState, sentence: str) -> None:
        state.off = True
        run.emit(Notice(sentence))


def _objection(linter: Linter, result: "CommandResult", found: Sequence[Diagnostic]) -> str:
    """Return why a linter is switched off, a sentence for the user; empty if it is not."""
    if result.timed_out:
        return _TIMED_OUT.format(name=linter.name, seconds=CHECK_TIMEOUT_S)
    if result.exit_code in _NO_PROGRAM:
        return _MISSING.format(name=linter.name)
    if result.exit_code and not found:
        return _BROKEN.format(name=linter.name, code=result.exit_code)
    return _SLOW.format(name=linter.name, seconds=result.seconds) if result.seconds > SLOW_S else ""


def _whole_output(result: "CommandResult") -> str:
    """Return all of a command's output, up to a limit."""
    if result.truncated and result.full_output is not None:
        with suppress(OSError), Path(result.full_output).open("rb") as file:
            return file.read(_OUTPUT_BYTES).decode("utf-8", "replace")
    return result.stdout


def _key(workspace: Workspace, finding: Diagnostic, texts: dict[str, Sequence[str]]) -> _Key:
    """Return what identifies a finding even if its line moves. texts: Lines of files that were already read."""
    if finding.path not in texts:
        texts[finding.path] = ()
        with suppress(WorkspaceError):
            texts[finding.path] = split_lines(decode(workspace.read(finding.path, READ_LIMIT_BYTES)).text)
    lines = texts[finding.path]
    text = lines[finding.line - 1].strip() if 0 < finding.line <= len(lines) else ""
    return finding.path, finding.code, finding.message, text[:_LINE_CHARS]


def _finding_line(linter: Linter, finding: Diagnostic) -> str:
    code = f" {finding.code}" if finding.code else ""
    return f"{escaped(finding.path)}:{finding.line}: {finding.message} [{linter.name}{code}]"


def _report(lines: Sequence[str], still: int) -> Iterator[str]:
    if lines:
        yield "New problems:"
        yield from lines[:_SHOWN]
        if len(lines) > _SHOWN:
            yield f"… {len(lines) - _SHOWN} more"
    if still:
        yield f"{still} earlier {plural(still, 'problem')} remain{'s' if still == 1 else ''}."
