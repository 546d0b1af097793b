"""`edit`: a text in one file replaced, if the user agrees. The only tool that changes anything."""

import os
from collections.abc import Callable, Mapping

import platformdirs

from laguna_engine.chat.messages import ToolSpec
from laguna_tui.agent.tools.arguments import check_names, flag, text
from laguna_tui.agent.tools.edits import Edits
from laguna_tui.agent.tools.result import Answer, Steps
from laguna_tui.repo.edits import EditError, propose
from laguna_tui.repo.names import shown
from laguna_tui.repo.proposal import Proposal
from laguna_tui.repo.workspace import Workspace
from laguna_tui.settings import APP

SPEC = ToolSpec(
    name="edit",
    description="Replace text in a file. The old text must occur exactly once.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "old": {"type": "string"},
            "new": {"type": "string"},
            "all": {"type": "boolean", "description": "replace every occurrence, names as whole words"},
        },
        "required": ["path", "old", "new"],
    },
)
_OWN = "{path} belongs to laguna-tui itself; edit another file"


class Edit:
    """The tool, for one session's edits."""

    def __init__(self, edits: Edits) -> None:
        self._edits = edits

    def __call__(self, workspace: Workspace, arguments: Mapping[str, object], should_stop: Callable[[], bool]) -> Steps:
        """The proposal, what comes of it, and `Changed PATH in N places.`, with a line for each of its notes.

        Raises:
            ArgumentError: an argument is missing or wrong.
            WorkspaceError: the edit is not made, and why; the file is as it was.
        """
        check_names(arguments, ("path", "old", "new", "all"))
        self._edits.check()
        path = text(arguments, "path")
        old, new = text(arguments, "old", blank=True), text(arguments, "new", blank=True)
        proposal = propose(workspace, path, old, new, flag(arguments, "all"), should_stop)
        _check_owner(proposal)
        yield from self._edits.make(proposal, should_stop)
        return Answer("\n".join([f"Changed `{shown(proposal.path)}` in {proposal.counted}.", *proposal.notes]))


def _check_owner(proposal: Proposal) -> None:
    """Refuse to change what the app itself goes by, in a folder that has it inside."""
    file = proposal.root / proposal.path
    places = (
        platformdirs.user_config_path(APP),
        platformdirs.user_state_path(APP),
        platformdirs.user_cache_path(APP),
        platformdirs.user_data_path(APP),
    )
    if any(file.is_relative_to(os.path.realpath(place)) for place in places):
        raise EditError(_OWN.format(path=shown(proposal.path)))
