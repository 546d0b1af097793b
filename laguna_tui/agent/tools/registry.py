"""A profile's tools for one workspace, and the one way to run them.

Nothing a tool call contains can make `Toolbox.run` raise: what is wrong with it becomes the answer. A tool that fails
in a way nobody expected does not end the turn either: the model is told, and the traceback is kept for the user.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path

from laguna_engine.errors import EngineError
from laguna_tui.agent.permissions import EditMode
from laguna_tui.agent.tools.base.edit import SessionEdits
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.model_profile import ModelProfile, ToolServices
from laguna_tui.agent.tools.base.results import Answer, ResultStore, ToolResult, failure
from laguna_tui.agent.tools.base.tool_arguments import ArgumentError
from laguna_tui.base.crash_log import write_crash_log
from laguna_tui.base.events import EditDone, EditProposed
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.workspace import Workspace, WorkspaceError


class Toolbox:
    """A profile's tools, for one workspace."""

    def __init__(
        self,
        profile: ModelProfile,
        workspace: Workspace,
        store: ResultStore | None = None,
        *,
        codebase: Codebase | None = None,
        edits: SessionEdits | None = None,
        state: Path | None = None,
    ) -> None:
        """Take a workspace.

        Args:
            profile: which tools there are, and what turns with them are held against.
            store: where long results are kept; None means the cache folder.
            codebase: the folder's index, for tools that search it; it is started when a search needs it.
            edits: what edits go through; None makes none.
            state: the user's state folder, which gets the traceback of a tool that fails; None: the system's own.

        Raises:
            ValueError: one of the tools needs a codebase.
        """
        self.profile = profile
        self.workspace = workspace
        self._services = ToolServices(edits or SessionEdits(EditMode.NEVER), codebase)
        self._store = store or ResultStore()
        self._state = state
        self._tools = {tool.spec.name: tool.bind(self._services) for tool in profile.tools}

    def with_profile(self, profile: ModelProfile) -> "Toolbox":
        """Another model's tools over the same workspace; both keep their results in one place."""
        services = self._services
        return Toolbox(
            profile, self.workspace, self._store, codebase=services.codebase, edits=services.edits, state=self._state
        )

    def guard(self, asked: str, before: str) -> Guard:
        """What a turn with these tools is held against.

        Args:
            asked: the user's message.
            before: all that stands in the prompt before it, but for the system's part.
        """
        return self.profile.guard(asked, before)

    def run(
        self, name: str, arguments: Mapping[str, object], should_stop: Callable[[], bool] = lambda: False
    ) -> ToolResult:
        """Run a tool and tell nothing on the way; arguments and result are those of `steps`."""
        steps = self.steps(name, arguments, should_stop)
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                result: ToolResult = stop.value
                return result

    def steps(
        self, name: str, arguments: Mapping[str, object], should_stop: Callable[[], bool] = lambda: False
    ) -> Generator[EditProposed | EditDone, None, ToolResult]:
        """Run a tool; an unknown name, wrong arguments or a bad path give a result that begins with `error: `.

        Args:
            name: the tool's name as the model wrote it.
            arguments: as the model wrote them.
            should_stop: asked now and then; once true, the tool returns early with what it has.

        Raises:
            EngineError: the engine fails while the tool uses it.
        """
        run = self._tools.get(name)
        if run is None:
            return failure(f"there is no tool {name}; the tools are {', '.join(self._tools)}")
        try:
            answer = run(self.workspace, arguments, should_stop)
            return self._store.result(answer if isinstance(answer, Answer) else (yield from answer))
        except (ArgumentError, WorkspaceError) as error:
            return failure(str(error))
        except OSError as error:
            return failure(f"{name} could not work ({error.strerror}); try again, or ask for less")
        except EngineError:
            raise
        except Exception as error:
            return self._failed(name, error)

    def _failed(self, name: str, error: Exception) -> ToolResult:
        """A defect of the tool: the model hears only its kind, because the message may name the user's folders."""
        log = write_crash_log(error, self._state)
        told = failure(f"{name} failed ({type(error).__name__}); try other arguments, or go on without it")
        return replace(told, full_output=str(log)) if isinstance(log, Path) else told

    @property
    def news(self) -> tuple[str, ...]:
        """What the model is to be told before the next message."""
        return self._services.edits.news if self.profile.takes_news else ()

    def forget_news(self) -> None:
        """The model was told, or is never to be told."""
        self._services.edits.forget_news()

    def keep(self, text: str) -> str | None:
        """Put the whole of an answer on disk until `close`; its path, or None when the disk refuses."""
        return self._store.keep(text)

    def close(self) -> None:
        """Remove the results that were kept on disk."""
        self._store.close()
