"""`edit`: a text in one file replaced, if that is allowed."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import platformdirs

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.results import Answer
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.paths import APP
from laguna_tui.base.schema import declared
from laguna_tui.repo.edit_files import EditDialect, EditError, propose_edit
from laguna_tui.repo.relative_paths import escaped

NAME = "edit"
_DESCRIPTION = "Replace text in a file. The old text must occur exactly once."
_OWN = "{path} belongs to laguna-tui itself; edit another file"


@dataclass(frozen=True, slots=True)
class EditArguments:
    """A file, the text to replace in it and the new text, in one place or in all."""

    path: str = declared()
    old: str = declared(blank=True)
    new: str = declared(blank=True)
    all: bool = declared(False, "replace every occurrence, names as whole words")


def edit_tool(dialect: EditDialect) -> Tool[EditArguments]:
    """The tool. dialect: what is made of texts that are not quite the file's."""

    def bound(services: ToolServices) -> Callable[[ToolRun, EditArguments], Answer]:
        def edit(run: ToolRun, wanted: EditArguments) -> Answer:
            """Make the edit; answers `Changed PATH in N places.`, with a line for each of its notes.

            Raises:
                ToolError, WorkspaceError: the edit is not made, and why; the file is as it was.
            """
            proposal = propose_edit(
                run.workspace, wanted.path, wanted.old, wanted.new, wanted.all, run.cancelled, dialect=dialect
            )
            _check_owner(proposal)
            made = services.changes.make(run, NAME, proposal)
            return Answer("\n".join([f"Changed `{escaped(made.path)}` in {made.counted}.", *made.notes]))

        return edit

    return Tool(NAME, _DESCRIPTION, EditArguments, read_only=False, bind=bound)


def _check_owner(proposal: ChangeProposal) -> None:
    """Refuse to change what the app itself goes by, in a folder that has it inside."""
    file = proposal.root / proposal.path
    places = (
        platformdirs.user_config_path(APP),
        platformdirs.user_state_path(APP),
        platformdirs.user_cache_path(APP),
        platformdirs.user_data_path(APP),
    )
    if any(file.is_relative_to(os.path.realpath(place)) for place in places):
        raise EditError(_OWN.format(path=escaped(proposal.path)))
