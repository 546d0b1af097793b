"""Approvers that know what they want, whatever is proposed."""

from collections.abc import Callable

from laguna_tui.agent.permissions import Decision
from laguna_tui.base.change_proposal import ChangeProposal


def never(proposal: ChangeProposal, cancelled: Callable[[], bool]) -> Decision:
    return Decision.NO


def always(proposal: ChangeProposal, cancelled: Callable[[], bool]) -> Decision:
    return Decision.YES
