"""A profile's tools for one workspace, and the one way to run them.

Nothing in a tool call can make `Toolbox.run` raise: what is wrong with it becomes the result. A tool that fails
unexpectedly does not end the turn either: the model is informed, and the traceback is saved for the user.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laguna_engine.errors import EngineError
from laguna_tui.agent.changes import Changes, ask_to_put_back, moved_notices
from laguna_tui.agent.diagnostics import Diagnostics
from laguna_tui.agent.permission_gate import PermissionGate
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.todo_list import TodoList
from laguna_tui.agent.tool_run import PermissionDenied, ToolError, ToolRun
from laguna_tui.agent.tools.base.call_rules import CallRules
from laguna_tui.agent.tools.base.model_profile import SHELL, ModelProfile, Route
from laguna_tui.agent.tools.base.results import ResultStore, ToolResult, failure
from laguna_tui.agent.tools.base.tool import Tool, ToolServices, no_commands, read_arguments
from laguna_tui.base.crash_log import write_crash_log
from laguna_tui.base.events import Notice
from laguna_tui.base.permission_request import PermissionAnswer, PermissionRequest
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

if TYPE_CHECKING:
    from laguna_tui.sandbox.quarantine import Quarantine
    from laguna_tui.sandbox.runner import CommandRunner


def _refuse(request: PermissionRequest) -> PermissionAnswer:
    """Refuse what a look-up never asks for."""
    raise PermissionDenied("looking something up changes nothing")


class Toolbox:
    """A profile's tools, for one workspace. Any thread.

    Attributes:
        permissions: Decides which calls are permitted.
    """

    def __init__(
        self,
        profile: ModelProfile,
        workspace: Workspace,
        store: ResultStore | None = None,
        *,
        codebase: Codebase | None = None,
        changes: Changes | None = None,
        commands: Callable[[], "CommandRunner"] = no_commands,
        permissions: PermissionGate | None = None,
        state: Path | None = None,
    ) -> None:
        """Take a workspace.

        Args:
            profile: The tools, and the guard of turns with them.
            store: Keeps long results; None for one in the cache folder.
            codebase: The folder's index, for tools that search it; opened when a search needs it.
            changes: Makes changes of files; None for its own.
            commands: Returns what runs commands, when the first one runs.
            permissions: Decides which calls are permitted; None: the user cannot be asked, so nothing is changed.
            state: The user's state folder, for the traceback of a tool that fails; None for the default.

        Raises:
            ValueError: One of the tools needs a codebase.
        """
        self.profile = profile
        self.workspace = workspace
        self.permissions = permissions or PermissionGate(Permissions(workspace.root))
        changes = changes or Changes()
        self._services = ToolServices(changes, codebase, commands, diagnostics=Diagnostics(commands, changes))
        self._store = store or ResultStore()
        self._state = state
        self._rules: CallRules | None = None
        self._tools = {tool.name: tool for tool in profile.tools}
        if codebase is None and (indexed := [tool.name for tool in profile.tools if tool.needs_index]):
            raise ValueError(f"{', '.join(indexed)} needs the folder's index; give the toolbox a codebase")

    @property
    def commands(self) -> "CommandRunner | None":
        """Runs the model's commands; None if it can run none."""
        try:
            return self._services.commands() if SHELL in self._tools else None
        except ToolError:
            return None

    @property
    def todo(self) -> TodoList:
        return self._services.todo

    def with_profile(self, profile: ModelProfile) -> "Toolbox":
        """Return another model's tools over the same workspace; both keep results in the same place."""
        other = copy(self)
        other.profile, other._rules = profile, None
        other._tools = {tool.name: tool for tool in profile.tools}
        return other

    @property
    def call_rules(self) -> CallRules:
        """What is known of calls' arguments: files that exist and text that is in them."""
        if self._rules is None:
            values = {tool.name: tool.values for tool in self.profile.tools}
            readable = self.permissions.permissions.readable
            self._rules = CallRules(values, self.workspace, self._services.codebase, readable)
        return self._rules

    def run(self, name: str, arguments: Mapping[str, object], run: ToolRun) -> ToolResult:
        """Run a tool; an unknown name, wrong arguments or a bad path give a result that begins with `error: `.

        Args:
            name: The tool's name as the model wrote it.
            arguments: As the model wrote them.
            run: What the call works with.

        Raises:
            EngineError: The engine fails while the tool uses it.
        """
        tool = self._tools.get(name)
        if tool is None:
            return failure(f"there is no tool {name}; the tools are {', '.join(self._tools)}")
        try:
            return self._store.limited(self._result(tool, arguments, run))
        except PermissionDenied as error:
            return replace(failure(str(error), error.shown), denied=True)
        except ToolError as error:
            return failure(str(error), error.shown)
        except WorkspaceError as error:
            return failure(str(error))
        except OSError as error:
            return failure(f"{name} could not work ({error.strerror}); try again, or ask for less")
        except EngineError:
            raise
        except Exception as error:
            return self._failed(name, error)

    def route(self, message: str, earlier: Callable[[], Sequence[str]], cancelled: Callable[[], bool]) -> Route | None:
        """Return how a turn begins before the model; None if the model begins it, or if routing fails.

        Args:
            message: The user's.
            earlier: Returns the user's messages before it, newest first.
            cancelled: Whether the turn is being stopped.

        Raises:
            EngineError: The engine fails.
        """
        if self.profile.router is None:
            return None
        readable = self.permissions.permissions.readable
        run = ToolRun(self.workspace, 0, lambda event: None, _refuse, cancelled, readable)
        try:
            return self.profile.router(message, earlier, self._services, run)
        except (ToolError, WorkspaceError, OSError):
            return None
        except EngineError:
            raise
        except Exception as error:
            write_crash_log(error, self._state)
            return None

    def _result(self, tool: Tool[Any], arguments: Mapping[str, object], run: ToolRun) -> ToolResult:
        if not tool.read_only:
            self.permissions.check()
        given = dict(arguments) if tool.parameters is not None else read_arguments(tool.arguments, arguments)
        result = tool.run(self._services, run, given)
        quarantine = None if tool.read_only else self._quarantine()
        if quarantine is None or not quarantine.has_pending:
            return result
        notes = ask_to_put_back(run, tool.name, quarantine)
        return replace(result, output="\n".join((result.output, *notes)))

    def _quarantine(self) -> "Quarantine | None":
        """Return where files are put that commands created and other programs execute."""
        commands = self.commands
        return None if commands is None else commands.quarantine

    def unreported(self) -> Iterator[Notice]:
        """Yield notices for the end of a turn about files that commands created."""
        if (quarantine := self._quarantine()) is not None:
            yield from moved_notices(quarantine)

    @property
    def runs_commands(self) -> bool:
        """Whether one of the tools runs commands, which may change any file."""
        return SHELL in self._tools

    def is_read_only(self, name: str) -> bool:
        """Return whether calls of this tool may run side by side."""
        tool = self._tools.get(name)
        return tool is not None and tool.read_only

    def _failed(self, name: str, error: Exception) -> ToolResult:
        """Report a defect of the tool: the model gets only its kind, as the message may name the user's folders."""
        log = write_crash_log(error, self._state)
        result = failure(f"{name} failed ({type(error).__name__}); try other arguments, or go on without it")
        return replace(result, full_output=str(log)) if isinstance(log, Path) else result

    def keep(self, text: str) -> str | None:
        """Write the whole of a result to disk until `close`; return its path, or None if it cannot be written."""
        return self._store.keep(text)

    def close(self) -> None:
        """Remove the results on disk."""
        self._store.close()
