"""Decides about a tool's call: by the session's permissions, and by the user if those ask."""

from collections.abc import Callable
from dataclasses import replace

from laguna_tui.agent.permissions.destructive_commands import destruction
from laguna_tui.agent.permissions.modes import PLAN_MODE, PLAN_OFF, PLAN_ON, PLANNING, Effect, Verdict
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.tool_run import PermissionDenied
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.errors import UserError
from laguna_tui.base.permission_request import (
    Approver,
    CallProposal,
    CommandProposal,
    Decision,
    Mode,
    PermissionAnswer,
    PermissionRequest,
    Proposal,
)
from laguna_tui.base.review_text import unusual_characters
from laguna_tui.base.text_diff import Sign

DECLINED = "the user declined this {what}; ask what to do instead"
DECLINED_WITH = "the user declined this {what} and says: {message}"
_DECLINED, _YOUR_MESSAGE = "Declined.", "Your message to the model: {message}"


class PermissionGate:
    """Lets permitted calls through. Any thread.

    Attributes:
        permissions: Modes and rules.
    """

    def __init__(self, permissions: Permissions, approver: Approver | None = None) -> None:
        """approver: Asks the user; None if nobody can be asked."""
        self.permissions = permissions
        self.approver = approver

    @property
    def approver(self) -> Approver | None:
        """Asks the user; None if nobody can be asked."""
        return self._approver

    @approver.setter
    def approver(self, approver: Approver | None) -> None:
        self._approver = approver
        self.permissions.headless = approver is None

    def plan_reminder(self, last: str) -> str:
        """Return the reminder of plan mode behind the user's words; empty for none.

        last: the reminder of plan mode that it read last, `PLAN_ON` or `PLAN_OFF`; empty for none.
        """
        if self.permissions.mode is Mode.PLAN:
            return PLAN_ON
        return PLAN_OFF if last == PLAN_ON else ""

    def check(self) -> None:
        """Check that a tool that is not read-only may begin.

        Raises:
            PermissionDenied: The mode lets none of them begin.
        """
        if self.permissions.mode is Mode.PLAN:
            raise PermissionDenied(PLANNING, _sentence(PLAN_MODE))

    def question(
        self, request: PermissionRequest, decided: Callable[[Verdict], None] = lambda verdict: None
    ) -> PermissionRequest | None:
        """Return the question for the user, with its reason and the rule that ALWAYS writes; None if there is none.

        Args:
            request: What a call asks for.
            decided: Called with the verdict where the user is not asked.

        Raises:
            PermissionDenied: It is not permitted, or nobody can be asked.
        """
        verdict = self.permissions.decide(request)
        if verdict.effect is not Effect.ASK:
            decided(verdict)
        if verdict.effect is Effect.DENY:
            raise _denied(request.proposal, verdict)
        if verdict.effect is Effect.ALLOW:
            return None
        # What asks for itself, such as a linter, has said what for.
        warned = with_warnings(replace(request, why=request.why or _sentence(verdict.why)))
        # A warning has to be seen each time, so there is no rule.
        rule = "" if warned.destructive or warned.unusual else self.permissions.suggest(request)
        return replace(warned, rule=rule)

    def take(self, request: PermissionRequest, answer: PermissionAnswer) -> str:
        """Apply the user's answer.

        Returns:
            What the user should know about it, a sentence; mostly empty.

        Raises:
            PermissionDenied: The user declined, or forbade it meanwhile.
        """
        if not answer.allowed:
            raise _declined(request.proposal, answer.message)
        verdict = self.permissions.decide(request)
        if verdict.effect is Effect.DENY:
            raise _denied(request.proposal, verdict)
        if answer.decision is Decision.ALWAYS and request.rule:
            try:
                self.permissions.allow_always(request.rule)
            except UserError as error:
                return str(error)
        return ""


def with_warnings(request: PermissionRequest) -> PermissionRequest:
    """Return a request with warnings about its text: what it destroys, and what is hidden in it."""
    return replace(request, destructive=_destructive(request.proposal), unusual=_unusual(request.proposal))


def _destructive(proposal: Proposal) -> str:
    return destruction(proposal.command, proposal.folder) if isinstance(proposal, CommandProposal) else ""


def _unusual(proposal: Proposal) -> str:
    match proposal:
        case CommandProposal(command=command):
            return unusual_characters(command)
        case CallProposal(summary, details):
            return unusual_characters(summary, *details)
        case change:
            added = [line.text for hunk in change.hunks for line in hunk.lines if line.sign is Sign.ADDED]
            return unusual_characters(change.path, change.target, contents=added)


def _declined(proposal: Proposal, message: str) -> PermissionDenied:
    """Return the refusal of the user, for the model and for the user."""
    what, outcome = _named(proposal)
    shown = (_DECLINED, outcome, _YOUR_MESSAGE.format(message=message) if message else "")
    sentence = DECLINED_WITH if message else DECLINED
    return PermissionDenied(sentence.format(what=what, message=message), " ".join(filter(None, shown)))


def _denied(proposal: Proposal, verdict: Verdict) -> PermissionDenied:
    return PermissionDenied(verdict.for_model, f"{_sentence(verdict.why)} {_named(proposal)[1]}")


def _named(proposal: Proposal) -> tuple[str, str]:
    """Return what was proposed, as a noun, and a sentence that says that it was not done."""
    if isinstance(proposal, ChangeProposal):
        return "edit", "Nothing was changed."
    if isinstance(proposal, CommandProposal):
        return "command", "The command was not run."
    return "call", "Nothing was done." if proposal.action else "The tool was not called."


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."
