"""The session's thread waits for the decision about an edit, and never forever."""

import threading
import time
from pathlib import Path

import pytest

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.permission_request import Decision, PermissionAnswer, PermissionRequest
from laguna_tui.tui.controllers.approval_controller import Approvals
from tests.tui.changes import Project

PATIENCE_S = 60


class Asking:
    """A thread that asks about an edit. `stopped`: its turn is being stopped."""

    def __init__(self, approvals: Approvals, proposal: ChangeProposal) -> None:
        self.stopped = threading.Event()
        self._answers: list[PermissionAnswer] = []
        self._thread = threading.Thread(
            target=lambda: self._answers.append(approvals(PermissionRequest("edit", proposal), self.stopped.is_set)),
            daemon=True,
        )
        self._thread.start()
        deadline = time.monotonic() + PATIENCE_S
        while not approvals.waiting and self._thread.is_alive():
            assert time.monotonic() < deadline

    @property
    def answer(self) -> Decision:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "it waits for ever"
        return self._answers[0].decision


@pytest.fixture
def proposal(tmp_path: Path) -> ChangeProposal:
    return Project(tmp_path).rename()


@pytest.mark.parametrize("decision", list(Decision))
def test_an_answer_ends_the_wait(proposal: ChangeProposal, decision: Decision) -> None:
    approvals = Approvals()
    asking = Asking(approvals, proposal)
    approvals.answer(PermissionAnswer(decision))
    assert asking.answer is decision
    assert not approvals.waiting


def test_a_turn_that_is_stopped_ends_the_wait(proposal: ChangeProposal) -> None:
    asking = Asking(Approvals(), proposal)
    asking.stopped.set()
    assert asking.answer is Decision.NO


def test_leaving_ends_the_wait_and_declines_what_comes_later(proposal: ChangeProposal) -> None:
    approvals = Approvals()
    asking = Asking(approvals, proposal)
    approvals.leave()
    assert asking.answer is Decision.NO
    assert Asking(approvals, proposal).answer is Decision.NO


def test_an_answer_to_no_question_is_not_kept_for_the_next(proposal: ChangeProposal) -> None:
    approvals = Approvals()
    approvals.answer(PermissionAnswer(Decision.YES))
    asking = Asking(approvals, proposal)
    assert approvals.waiting
    asking.stopped.set()
    assert asking.answer is Decision.NO
