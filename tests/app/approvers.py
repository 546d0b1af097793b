"""Approvers that know what they want, whatever is proposed."""

from collections.abc import Callable

from laguna_tui.agent.permissions import Decision
from laguna_tui.base.edit_proposal import EditProposal


def never(proposal: EditProposal, cancelled: Callable[[], bool]) -> Decision:
    return Decision.NO


def always(proposal: EditProposal, cancelled: Callable[[], bool]) -> Decision:
    return Decision.YES
