"""Permission on a plain terminal: what is asked about on stderr, the user's answer from stdin."""

import os
import select
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TextIO

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.permission_request import (
    Approver,
    CallProposal,
    CommandProposal,
    Decision,
    PermissionAnswer,
    PermissionRequest,
)
from laguna_tui.base.text import sanitize_line

# How soon a Ctrl-C is noticed while waiting for input.
_POLL_S = 0.1
_READ_BYTES = 4096
_QUESTION = "{what}? [y]es, [N]o{always}: "
_ALWAYS = ", [a]lways in this folder: {rule}"
_ANSWERS = {
    "": Decision.NO,
    **dict.fromkeys(("n", "no"), Decision.NO),
    **dict.fromkeys(("y", "yes"), Decision.YES),
    **dict.fromkeys(("a", "always"), Decision.ALWAYS),
}


def terminal_approver() -> Approver | None:
    """Return the approver of this process; None when stdin or stderr is not a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return TerminalApprover(sys.stdin.fileno(), sys.stderr)


def request_lines(request: PermissionRequest) -> Iterator[str]:
    """Yield what is asked about, and why, as sanitised lines."""
    match request.proposal:
        case CommandProposal(command):
            yield "command:"
            yield from (f"  {sanitize_line(line)}" for line in command.splitlines())
        case CallProposal(summary, details):
            yield f"call of {sanitize_line(summary)}"
            yield from (f"  {sanitize_line(line)}" for line in details)
        case change:
            yield from change_lines(change)
    yield from (sanitize_line(sentence) for sentence in (request.sandbox, request.why) if sentence)


def change_lines(proposal: ChangeProposal) -> Iterator[str]:
    """Yield a change's diff as sanitised lines."""
    yield f"{proposal.kind.value} of {sanitize_line(proposal.path)} in {proposal.counted}:"
    yield from (f"  {sanitize_line(line)}" for line in proposal.diff)
    if proposal.warning:
        yield sanitize_line(proposal.warning)


def _question(request: PermissionRequest) -> str:
    match request.proposal:
        case CommandProposal():
            what = "Run this command"
        case CallProposal():
            what = "Make this call"
        case _:
            what = "Make this edit"
    return _QUESTION.format(what=what, always=_ALWAYS.format(rule=sanitize_line(request.rule)) if request.rule else "")


class TerminalApprover:
    """Asks on a terminal until the answer is valid. End of input means no."""

    def __init__(self, keys: int, log: TextIO) -> None:
        """keys: descriptor that is read. log: where the question is written."""
        self._keys = keys
        self._log = log

    def __call__(self, request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
        """Return the user's answer; NO once cancelled."""
        self._log.write("\n" + "".join(f"{line}\n" for line in request_lines(request)))
        # Input typed before the question appeared does not answer it.
        with suppress(termios.error):
            termios.tcflush(self._keys, termios.TCIFLUSH)
        while True:
            self._log.write(_question(request))
            self._log.flush()
            line = self._line(cancelled)
            if line is None:
                self._log.write("\n")
                return PermissionAnswer(Decision.NO)
            decision = _ANSWERS.get(line.strip().lower())
            if decision is not None and (request.rule or decision is not Decision.ALWAYS):
                return PermissionAnswer(decision)

    def _line(self, cancelled: Callable[[], bool]) -> str | None:
        """The line typed up to Enter; None at the end of input, or when the turn is stopped."""
        while not cancelled():
            if select.select([self._keys], [], [], _POLL_S)[0]:
                typed = os.read(self._keys, _READ_BYTES)
                return typed.decode(errors="replace") if typed else None
        return None
