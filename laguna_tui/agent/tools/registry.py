"""All tools together: what a model is told about them, and the one way to run them.

There are two sets. `basic` is what the bundled model was trained on, byte for byte: its answers are lists to repeat.
`full` searches by pattern, by symbol and by meaning, and reads. Both edit. Which one a model gets, its entry in the
catalogue says.

Nothing a tool call contains can make `Toolbox.run` raise: what is wrong with it becomes the answer. A tool that fails
in a way nobody expected does not end the turn either: the model is told, and the traceback is kept for the user.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from laguna_engine.chat.messages import ToolSpec
from laguna_engine.errors import EngineError
from laguna_tui.agent.permissions import EditMode
from laguna_tui.agent.tools.base import edit
from laguna_tui.agent.tools.base.edit import SessionEdits
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.results import Answer, ResultStore, Steps, ToolResult, failure
from laguna_tui.agent.tools.base.tool_arguments import ArgumentError
from laguna_tui.agent.tools.full import find, read, search
from laguna_tui.agent.tools.nano import find as nano_find
from laguna_tui.agent.tools.nano import search as nano_search
from laguna_tui.agent.tools.nano.guard import NanoGuard
from laguna_tui.base.crash_log import write_crash_log
from laguna_tui.base.events import EditDone, EditProposed
from laguna_tui.context.codebase import Codebase
from laguna_tui.models.entry import ToolSet
from laguna_tui.repo.workspace import Workspace, WorkspaceError


class Run(Protocol):
    """A tool's work on checked or unchecked arguments; raises ArgumentError or WorkspaceError."""

    def __call__(
        self, workspace: Workspace, arguments: Mapping[str, object], should_stop: Callable[[], bool]
    ) -> Answer | Steps: ...


@dataclass(frozen=True, slots=True)
class Tool:
    """What the model is told about a tool, and what it does."""

    spec: ToolSpec
    run: Run


_SPECS = {
    ToolSet.BASIC: (nano_find.SPEC, nano_search.SPEC, edit.SPEC),
    ToolSet.FULL: (find.SPEC, search.SPEC, read.SPEC, edit.SPEC),
}
TOOL_SPECS = _SPECS[ToolSet.BASIC]


def tool_specs(name: str) -> tuple[ToolSpec, ...]:
    """What a model is told about the tools of a set.

    Raises:
        ValueError: there is no such set.
    """
    return _SPECS[ToolSet(name)]


class Toolbox:
    """A set of tools, for one workspace. tools: which set it is."""

    def __init__(
        self,
        workspace: Workspace,
        store: ResultStore | None = None,
        *,
        codebase: Codebase | None = None,
        tools: str = ToolSet.BASIC,
        edits: SessionEdits | None = None,
        state: Path | None = None,
    ) -> None:
        """Take a workspace.

        Args:
            store: where long results are kept; None means the cache folder.
            codebase: the folder's index, which the full set searches; it is started when a search needs it.
            tools: a `ToolSet`; without a codebase there is only the basic one.
            edits: what edits go through; None makes none.
            state: the user's state folder, which gets the traceback of a tool that fails; None: the system's own.
        """
        self.workspace = workspace
        self._codebase = codebase
        self._store = store or ResultStore()
        self._edits = edits or SessionEdits(EditMode.NEVER)
        self._state = state
        self.tools = ToolSet.BASIC if codebase is None else ToolSet(tools)
        looking: tuple[Tool, ...] = (Tool(nano_find.SPEC, nano_find.run), Tool(nano_search.SPEC, nano_search.run))
        if codebase is not None and self.tools is ToolSet.FULL:
            looking = (Tool(find.SPEC, find.run), Tool(search.SPEC, search.Search(codebase)), Tool(read.SPEC, read.run))
        self._tools = {tool.spec.name: tool for tool in (*looking, Tool(edit.SPEC, edit.Edit(self._edits)))}

    def with_tools(self, tools: str) -> "Toolbox":
        """Another set over the same workspace, for another model; both keep their results in one place."""
        return Toolbox(
            self.workspace, self._store, codebase=self._codebase, tools=tools, edits=self._edits, state=self._state
        )

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is to be told about exactly these tools."""
        return tuple(tool.spec for tool in self._tools.values())

    def guard(self, asked: str, before: str) -> Guard:
        """What a turn with these tools is held against.

        Args:
            asked: the user's message.
            before: all that stands in the prompt before it, but for the system's part.
        """
        return NanoGuard(asked, before) if self.tools is ToolSet.BASIC else Guard()

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
        tool = self._tools.get(name)
        if tool is None:
            return failure(f"there is no tool {name}; the tools are {', '.join(self._tools)}")
        try:
            answer = tool.run(self.workspace, arguments, should_stop)
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
        """What the model is to be told before the next message; a small one was never trained on any."""
        return self._edits.news if self.tools is ToolSet.FULL else ()

    def forget_news(self) -> None:
        """The model was told, or is never to be told."""
        self._edits.forget_news()

    def keep(self, text: str) -> str | None:
        """Put the whole of an answer on disk until `close`; its path, or None when the disk refuses."""
        return self._store.keep(text)

    def close(self) -> None:
        """Remove the results that were kept on disk."""
        self._store.close()
