"""Who decides about an edit: the user, for each or for all of a session, or nobody because edits are not allowed."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from laguna_tui.base.change_proposal import ChangeProposal


class EditMode(Enum):
    """Which edits are made: those that the user agrees to, all, or none.

    With ALLOW the user is still asked about what other programs obey or run (`repo/protected.py`).
    """

    ASK = "ask"
    ALLOW = "allow"
    NEVER = "never"


class Decision(Enum):
    """What the user says to a proposed edit. ALWAYS: yes, and to all later ones of this session."""

    YES = "yes"
    NO = "no"
    ALWAYS = "always"


class Approver(Protocol):
    """Asks the user about an edit."""

    def __call__(self, proposal: ChangeProposal, cancelled: Callable[[], bool]) -> Decision:
        """What the user decides; blocks until then, on the thread that iterates the turn's events.

        Args:
            proposal: what would be changed.
            cancelled: asked now and then; once true, the turn is being stopped, and the answer is NO.
        """
        ...
