"""A plain terminal asks about an edit: what is shown, what counts as an answer, and how it ends."""

import io
import os
import pty
import threading
import time
from pathlib import Path

import pytest

from laguna_tui.agent.approval import Decision
from laguna_tui.asking import TerminalApprover, terminal_approver
from laguna_tui.repo.proposal import Proposal

DIFF = ("@@ -1 +1 @@", "-def total(items):", "+def amount\x1b]0;x\x07(items):")
PROPOSAL = Proposal("cart.py", "", "", 1, DIFF, "It no longer parses.", Path("/shop"), b"", b"")


@pytest.fixture
def terminal():
    """The user's end of a terminal and the program's."""
    user, program = pty.openpty()
    yield user, program
    for end in (user, program):
        os.close(end)


def asked(terminal, *typed, cancelled=lambda: False):
    """What is decided, and what was shown, when each of these is typed once it is asked for."""
    user, program = terminal
    done, log = [], io.StringIO()
    approver = TerminalApprover(program, log)
    thread = threading.Thread(target=lambda: done.append(approver(PROPOSAL, cancelled)))
    thread.start()
    for number, keys in enumerate(typed, 1):
        while log.getvalue().count("Make this edit?") < number:
            time.sleep(0.005)
        os.write(user, keys)
    thread.join(10)
    return done[0], log.getvalue()


@pytest.mark.parametrize(
    ("keys", "decision"),
    [
        (b"y\n", Decision.YES),
        (b" YES \n", Decision.YES),
        (b"n\n", Decision.NO),
        (b"\n", Decision.NO),
        (b"a\n", Decision.ALWAYS),
        (b"\x04", Decision.NO),
    ],
)
def test_an_answer_is_a_decision(terminal, keys, decision):
    assert asked(terminal, keys)[0] is decision


def test_the_diff_is_shown_with_nothing_in_it_that_a_terminal_obeys(terminal):
    _, shown = asked(terminal, b"n\n")
    assert "edit of cart.py in 1 place:\n  @@ -1 +1 @@\n  -def total(items):\n  +def amount␛]0;x␇(items):\n" in shown
    assert "It no longer parses." in shown


def test_anything_else_is_asked_again(terminal):
    decision, shown = asked(terminal, b"what?\n", b"y\n")
    assert decision is Decision.YES
    assert shown.count("Make this edit?") == 2


def test_what_was_typed_before_the_question_is_no_answer(terminal):
    os.write(terminal[0], b"y\n")
    time.sleep(0.05)
    assert asked(terminal, b"n\n")[0] is Decision.NO


def test_a_stop_ends_the_question(terminal):
    stopped = threading.Event()
    threading.Timer(0.2, stopped.set).start()
    done = TerminalApprover(terminal[1], io.StringIO())(PROPOSAL, stopped.is_set)
    assert done is Decision.NO


def test_nobody_is_asked_without_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert terminal_approver() is None
