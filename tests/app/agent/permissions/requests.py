"""Requests as tools make them."""

from pathlib import Path

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.permission_request import CallProposal, CommandProposal, PermissionRequest

TOOL_OF = {ChangeKind.EDIT: "edit", ChangeKind.CREATE: "write", ChangeKind.DELETE: "delete", ChangeKind.MOVE: "move"}


def change(
    path: str,
    kind: ChangeKind = ChangeKind.EDIT,
    *,
    tool: str = "",
    target: str = "",
    approval_reason: str = "",
    reason_of_the_request: str = "",
) -> PermissionRequest:
    """A change of a file; nothing of it is looked at but the path and what is done."""
    proposal = ChangeProposal(
        path=path,
        before="a",
        after="b",
        places=1,
        hunks=(),
        warning="",
        root=Path("/srv/shop"),
        old=b"a",
        new=b"b",
        identity=FolderIdentity(1, 2),
        approval_reason=approval_reason,
        kind=kind,
        target=target,
    )
    return PermissionRequest(tool or TOOL_OF[kind], proposal, approval_reason=reason_of_the_request)


def command(text: str, *, approval_reason: str = "") -> PermissionRequest:
    """A command."""
    return PermissionRequest("shell", CommandProposal(text, Path("/srv/shop"), 120.0), approval_reason=approval_reason)


def call(tool: str = "tickets__close") -> PermissionRequest:
    """A call of somebody else's tool."""
    return PermissionRequest(tool, CallProposal(f"{tool}(3)"))
