"""Files that a command created and other programs execute: they are moved away, and the user decides about them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from laguna_tui.agent.tool_run import PermissionDenied, ToolRun
from laguna_tui.base.events import Notice
from laguna_tui.base.permission_request import CallProposal, PermissionRequest
from laguna_tui.repo.files.protected_paths import executed_because

if TYPE_CHECKING:
    from laguna_tui.sandbox.quarantine import Quarantine

_MOST_NAMED = 20
_ALWAYS = "commands may not create files that other programs execute"


def notices(quarantine: "Quarantine") -> Iterator[Notice]:
    """Yield notices for the end of a turn: what appeared meanwhile and was moved."""
    for each in quarantine.take_unreported():
        yield Notice(
            f"{each.path} appeared while a background command or an MCP server ran. It was moved to {each.stored},"
            " because other programs execute it; the next command asks whether to put it back."
        )


def ask_to_put_back(run: ToolRun, tool: str, quarantine: "Quarantine") -> Iterator[str]:
    """Put back what was moved since the last call if the user agrees; yield notes for the model."""
    moved = quarantine.take_pending()
    if not moved:
        return
    # The last one of each name: a command that was refused may have created it again.
    latest = {each.path: each for each in moved}
    names = list(latest)
    shown = ", ".join(names[:_MOST_NAMED]) + (f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else "")
    details = tuple(f"{path}: {executed_because(path)}" for path in names)
    proposal = CallProposal(shown, details, action=f"Put back {shown}")
    try:
        run.ask(PermissionRequest(tool, proposal, always_asks=_ALWAYS))
    except PermissionDenied:
        for each in latest.values():
            run.emit(Notice(f"{each.path} was moved to {each.stored}, because other programs execute it."))
        yield f"{shown} cannot be created by a command, because other programs execute it; it was moved away"
        return
    if failed := quarantine.put_back(latest.values()):
        places = ", ".join(str(latest[path].stored) for path in failed)
        run.emit(Notice(f"Not put back: {', '.join(failed)}. It is in {places}."))
        yield f"{', '.join(failed)} could not be put back"
