"""Approval of a proposed edit on a plain terminal: its diff on stderr, the user's answer from stdin."""

import os
import select
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TextIO

from laguna_tui.agent.permissions import Approver, Decision
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.text import sanitize_line

# How soon a Ctrl-C is noticed while waiting for input.
_POLL_S = 0.1
_READ_BYTES = 4096
_QUESTION = "Make this edit? [y]es, [N]o, [a]lways in this session: "
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


def diff_lines(proposal: ChangeProposal) -> Iterator[str]:
    """Yield an edit's diff as sanitised lines."""
    yield f"edit of {sanitize_line(proposal.path)} in {proposal.counted}:"
    yield from (f"  {sanitize_line(line)}" for line in proposal.diff)
    if proposal.warning:
        yield sanitize_line(proposal.warning)


class TerminalApprover:
    """Asks on a terminal until the answer is valid. End of input means no."""

    def __init__(self, keys: int, log: TextIO) -> None:
        """keys: descriptor that is read. log: where the question is written."""
        self._keys = keys
        self._log = log

    def __call__(self, proposal: ChangeProposal, cancelled: Callable[[], bool]) -> Decision:
        """Return the user's decision; NO once cancelled."""
        self._log.write("\n" + "".join(f"{line}\n" for line in diff_lines(proposal)))
        # Input typed before the question appeared does not answer it.
        with suppress(termios.error):
            termios.tcflush(self._keys, termios.TCIFLUSH)
        while True:
            self._log.write(_QUESTION)
            self._log.flush()
            line = self._line(cancelled)
            if line is None:
                self._log.write("\n")
                return Decision.NO
            decision = _ANSWERS.get(line.strip().lower())
            if decision is not None:
                return decision

    def _line(self, cancelled: Callable[[], bool]) -> str | None:
        """The line typed up to Enter; None at the end of input, or when the turn is stopped."""
        while not cancelled():
            if select.select([self._keys], [], [], _POLL_S)[0]:
                typed = os.read(self._keys, _READ_BYTES)
                return typed.decode(errors="replace") if typed else None
        return None
