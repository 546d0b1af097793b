"""Approvers that know what they want, whatever is proposed."""

from collections.abc import Callable

from laguna_tui.agent.approval import Decision
from laguna_tui.repo.proposal import Proposal


def never(proposal: Proposal, cancelled: Callable[[], bool]) -> Decision:
    return Decision.NO


def always(proposal: Proposal, cancelled: Callable[[], bool]) -> Decision:
    return Decision.YES
