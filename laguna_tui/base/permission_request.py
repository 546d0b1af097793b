"""What a tool asks permission for, and what the user answers, as values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.stored_json import Tagged


class Mode(Enum):
    """What is done without asking.

    Attributes:
        ASK: reading.
        ACCEPT_EDITS: also changes of files, but no deletions.
        PLAN: reading; the rest is denied.
        AUTO: also changes and deletions of files, and commands in the sandbox.
    """

    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    AUTO = "auto"

    @property
    def changes_unasked(self) -> bool:
        """Return whether files are changed without asking."""
        return self in (Mode.ACCEPT_EDITS, Mode.AUTO)


class CommandProposal(Tagged, frozen=True):
    """A shell command to run. All texts are raw: a front end passes them through `laguna_tui.base.text`.

    Attributes:
        command: a line for `sh -c`, as the model wrote it.
        folder: its working directory.
        timeout_s: seconds after which it is killed.
        background: whether it continues while the model does.
    """

    command: str
    folder: Path
    timeout_s: float
    background: bool = False


class CallProposal(Tagged, frozen=True):
    """A call of somebody else's tool, or another action.

    Attributes:
        summary: the call in a line, raw.
        details: its arguments, a line each, raw.
        action: another action, raw, as in "Put back .vscode"; empty for a call.
    """

    summary: str
    details: tuple[str, ...] = ()
    action: str = ""


Proposal = ChangeProposal | CommandProposal | CallProposal


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """One thing that a tool may do only with permission.

    Attributes:
        tool: the tool's name.
        proposal: what would be done.
        why: why the user is asked, a sentence; filled in when that is decided.
        sandbox: what the sandbox allows, or that there is none, a sentence; empty for changes of files.
        rule: the rule that ALWAYS writes, exactly as in the file of rules; empty if there is none.
        approval_reason: why the user is always asked, a clause; empty where rules and modes decide.
        network: whether YES_WITH_NETWORK can be answered.
        destructive: what it destroys, a sentence; filled in with `why`, empty if nothing is known.
        unusual: which of its characters are hidden or look like others, a sentence; filled in with `why`.
    """

    tool: str
    proposal: Proposal
    why: str = ""
    sandbox: str = ""
    rule: str = ""
    approval_reason: str = ""
    network: bool = False
    destructive: str = ""
    unusual: str = ""

    @property
    def has_hunks(self) -> bool:
        """Whether an answer may accept some of its hunks only."""
        proposal = self.proposal
        return isinstance(proposal, ChangeProposal) and proposal.kind is ChangeKind.EDIT and len(proposal.hunks) > 1


class Decision(Enum):
    """The user's decision. ALWAYS: yes, and the request's rule is written."""

    YES = "yes"
    NO = "no"
    ALWAYS = "always"
    YES_WITH_NETWORK = "yes_with_network"


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """The answer to a request.

    Attributes:
        decision: yes or no.
        message: what the user tells the model with a NO; usually empty.
        edited: the file's text or the command as the user edited it; None if unchanged.
        hunks: with a YES to an edit, the indices of the hunks that may be written; None for all.
    """

    decision: Decision
    message: str = ""
    edited: str | None = None
    hunks: tuple[int, ...] | None = None

    @classmethod
    def of_hunks(cls, accepted: Sequence[int], count: int) -> "PermissionAnswer":
        """Return the answer to an edit of `count` hunks of which the user accepts some, none or all."""
        if not accepted:
            return cls(Decision.NO)
        return cls(Decision.YES, hunks=tuple(accepted) if len(accepted) < count else None)

    @property
    def allowed(self) -> bool:
        """Whether it may be done."""
        return self.decision is not Decision.NO


class Approver(Protocol):
    """Asks the user."""

    def __call__(self, request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
        """Return the user's answer; blocks the thread that iterates the turn's events.

        Args:
            request: what would be done.
            cancelled: called now and then; once true, the turn is being stopped, and the answer is NO.
        """
        ...
