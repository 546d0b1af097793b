"""`edit`: a text in one file replaced, if that is allowed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool, ToolServices, Value
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import declared
from laguna_tui.repo.edits.edit_files import EditDialect, propose_edit

NAME = "edit"
_DESCRIPTION = "Replace text in a file. The old text must occur exactly once."


class Edit(Protocol):
    """The arguments of an edit, in any order."""

    @property
    def path(self) -> str: ...

    @property
    def old(self) -> str: ...

    @property
    def new(self) -> str: ...

    @property
    def all(self) -> bool: ...


E = TypeVar("E", bound=Edit)


@dataclass(frozen=True, slots=True)
class EditArguments:
    """A file, the text to replace in it and the new text, in one place or in all."""

    path: str = declared()
    old: str = declared(blank=True)
    new: str = declared(blank=True)
    all: bool = declared(False, "replace every occurrence, names as whole words")


def make_edit(services: ToolServices, run: ToolRun, tool: str, proposal: ChangeProposal) -> ToolResult:
    """Make a change; answer `Changed PATH in N places.`, with a line for each of its notes."""
    made = services.changes.make(run, tool, proposal)
    return ToolResult("\n".join([f"Changed `{escaped(made.path)}` in {made.counted}.", *made.notes]))


def edit_tool(
    dialect: EditDialect,
    arguments: type[E],
    make: Callable[[ToolServices, ToolRun, str, ChangeProposal], ToolResult] = make_edit,
) -> Tool[E]:
    """Return the tool.

    Args:
        dialect: How texts are treated that are not quite the file's.
        arguments: In the order in which the model writes them.
        make: Makes a proposed change of the named tool, and reports its effects.
    """

    def edit(services: ToolServices, run: ToolRun, wanted: E) -> ToolResult:
        proposal = propose_edit(
            run.workspace, wanted.path, wanted.old, wanted.new, wanted.all, run.cancelled, run.readable, dialect=dialect
        )
        return make(services, run, NAME, proposal)

    return Tool(NAME, _DESCRIPTION, arguments, edit, values={"path": Value.FILE, "old": Value.EXCERPT})
