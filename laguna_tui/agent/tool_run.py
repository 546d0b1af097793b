"""What one call of a tool works with, and how a tool reports that it cannot."""

from collections.abc import Callable
from dataclasses import dataclass

from laguna_tui.base.events import ToolEvent
from laguna_tui.base.permission_request import PermissionAnswer, PermissionRequest
from laguna_tui.repo.files.sensitive_paths import unreadable_reason
from laguna_tui.repo.files.workspace import Workspace


class ToolError(Exception):
    """A call cannot be carried out; the message is a sentence for the model that ends in what to do.

    Attributes:
        shown: What the user is shown instead, in sentences; empty for the message.
    """

    def __init__(self, message: str, shown: str = "") -> None:
        super().__init__(message)
        self.shown = shown


class PermissionDenied(ToolError):
    """The user, a rule or the mode does not allow what a call asked for."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call of a tool, on a worker thread.

    Attributes:
        workspace: The folder that is asked about.
        call_id: The call's number.
        emit: Passes an event on to the front end. Any thread.
        ask: Asks for permission and blocks until there is an answer, which allows it; raises PermissionDenied where it
            is not given.
        cancelled: Whether the turn is being stopped; asked often enough that a tool ends within 0.1 s.
        readable: Why a located path may not be shown to the model, a sentence for it; empty if it may be.
        note_change: Notes that files were changed by the call, however it did that.
    """

    workspace: Workspace
    call_id: int
    emit: Callable[[ToolEvent], None]
    ask: Callable[[PermissionRequest], PermissionAnswer]
    cancelled: Callable[[], bool]
    readable: Callable[[str], str] = unreadable_reason
    note_change: Callable[[], None] = lambda: None

    def check_readable(self, inside: str) -> None:
        """Check that a located path may be shown to the model.

        Raises:
            ToolError: It may not.
        """
        if why := self.readable(inside):
            raise ToolError(why)
