"""`write`, `move` and `delete`: whole files."""

from collections.abc import Callable
from dataclasses import dataclass

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.results import ToolAnswer
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.agent.tools.full.changing import check_read, make_change
from laguna_tui.base.schema import declared
from laguna_tui.repo.edits.file_changes import propose_delete, propose_move, propose_write


@dataclass(frozen=True, slots=True)
class WriteArguments:
    """A file and all of its text."""

    path: str = declared()
    content: str = declared(blank=True)


@dataclass(frozen=True, slots=True)
class MoveArguments:
    """A file, and the path or folder that it gets."""

    path: str = declared()
    new_path: str = declared()


@dataclass(frozen=True, slots=True)
class DeleteArguments:
    """A file, or an empty folder."""

    path: str = declared()


def _write(services: ToolServices) -> Callable[[ToolRun, WriteArguments], ToolAnswer]:
    def write(run: ToolRun, wanted: WriteArguments) -> ToolAnswer:
        """Make or overwrite a file. Raises ToolError or WorkspaceError where it is not."""
        proposal = propose_write(run.workspace, wanted.path, wanted.content)
        check_read(services, proposal)
        return make_change(services, run, WRITE.name, proposal)

    return write


def _move(services: ToolServices) -> Callable[[ToolRun, MoveArguments], ToolAnswer]:
    def move(run: ToolRun, wanted: MoveArguments) -> ToolAnswer:
        """Move a file. Raises ToolError or WorkspaceError where it is not."""
        return make_change(services, run, MOVE.name, propose_move(run.workspace, wanted.path, wanted.new_path))

    return move


def _delete(services: ToolServices) -> Callable[[ToolRun, DeleteArguments], ToolAnswer]:
    def delete(run: ToolRun, wanted: DeleteArguments) -> ToolAnswer:
        """Delete a file or an empty folder. Raises ToolError or WorkspaceError where it is not."""
        return make_change(services, run, DELETE.name, propose_delete(run.workspace, wanted.path))

    return delete


WRITE = Tool(
    "write",
    "Create a file with its folders, or replace all of one that you have read.",
    WriteArguments,
    read_only=False,
    bind=_write,
)
MOVE = Tool("move", "Move or rename a file.", MoveArguments, read_only=False, bind=_move)
DELETE = Tool("delete", "Delete a file or an empty folder.", DeleteArguments, read_only=False, bind=_delete)
