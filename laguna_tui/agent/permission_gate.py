"""Who decides about what a tool asks for: the mode, or the user."""

from laguna_tui.agent.tool_run import PermissionDenied
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.permission_request import (
    Approver,
    CommandProposal,
    Decision,
    EditMode,
    PermissionAnswer,
    PermissionRequest,
    Proposal,
)
from laguna_tui.repo.relative_paths import escaped

NOT_ALLOWED = "edits are not allowed here; say what you would change instead"
NOBODY_TO_ASK = "nobody can be asked about edits here; tell the user that --edits allow would make them"
NOT_UNASKED = (
    "{what} unasked, because {because}, and nobody can be asked here; tell the user to ask for it in a"
    " terminal and to agree there"
)
DECLINED = "the user declined this {what}; ask what to do instead"
DECLINED_WITH = "the user declined this {what} and says: {message}"


class PermissionGate:
    """Lets through what is permitted in a session. Any thread.

    Attributes:
        mode: what is made unasked; may be set at any time.
        approver: asks the user; None where nobody can be asked.
    """

    def __init__(self, mode: EditMode = EditMode.ASK, approver: Approver | None = None) -> None:
        self.mode = mode
        self.approver = approver

    def check(self) -> None:
        """Do nothing where tools may change something, if only with the user's permission.

        Raises:
            PermissionDenied: nothing is changed here.
        """
        if self.mode is EditMode.NEVER:
            raise PermissionDenied(NOT_ALLOWED)
        if self.mode is EditMode.ASK and self.approver is None:
            raise PermissionDenied(NOBODY_TO_ASK)

    def asks(self, request: PermissionRequest) -> bool:
        """Whether the user has to be asked.

        Raises:
            PermissionDenied: it is not permitted, or nobody can be asked.
        """
        self.check()
        change = isinstance(request.proposal, ChangeProposal)
        if change and self.mode is EditMode.ALLOW and not request.always_asks:
            return False
        if self.approver is None:
            raise PermissionDenied(_unasked(request))
        return True

    def take(self, request: PermissionRequest, answer: PermissionAnswer) -> None:
        """Do what the user answered.

        Raises:
            PermissionDenied: the user declined, or forbade all of it meanwhile.
        """
        what = _named(request.proposal)
        if not answer.allowed:
            sentence = DECLINED_WITH if answer.message else DECLINED
            raise PermissionDenied(sentence.format(what=what, message=answer.message))
        self.check()
        if answer.decision is Decision.ALWAYS:
            self.mode = EditMode.ALLOW


def _unasked(request: PermissionRequest) -> str:
    proposal = request.proposal
    if isinstance(proposal, ChangeProposal):
        what, because = f"{escaped(proposal.path)} is not edited", request.always_asks
    else:
        what, because = f"this {_named(proposal)} is not run", request.always_asks or "the user decides about each"
    return NOT_UNASKED.format(what=what, because=because)


def _named(proposal: Proposal) -> str:
    if isinstance(proposal, ChangeProposal):
        return "edit"
    return "command" if isinstance(proposal, CommandProposal) else "call"
