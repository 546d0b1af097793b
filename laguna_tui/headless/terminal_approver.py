"""A proposed edit on a plain terminal: its diff on stderr, and the user's answer from stdin."""

import os
import select
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TextIO

from laguna_tui.agent.permissions import Approver, Decision
from laguna_tui.base.edit_proposal import EditProposal
from laguna_tui.base.text import sanitize_line

# How soon a Ctrl-C is noticed while nothing is typed.
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
    """Who asks the user of this process; None when stdin or stderr is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return TerminalApprover(sys.stdin.fileno(), sys.stderr)


def diff_lines(proposal: EditProposal) -> Iterator[str]:
    """What an edit would change, a line at a time, with nothing left in them that a terminal would obey."""
    yield f"edit of {sanitize_line(proposal.path)} in {proposal.counted}:"
    yield from (f"  {sanitize_line(line)}" for line in proposal.diff)
    if proposal.warning:
        yield sanitize_line(proposal.warning)


class TerminalApprover:
    """Asks on a terminal, again until the answer is one. The end of the input is a no."""

    def __init__(self, keys: int, log: TextIO) -> None:
        """Take the descriptor that is typed into, and where the question is written."""
        self._keys = keys
        self._log = log

    def __call__(self, proposal: EditProposal, cancelled: Callable[[], bool]) -> Decision:
        """What the user decides; NO once cancelled."""
        self._log.write("\n" + "".join(f"{line}\n" for line in diff_lines(proposal)))
        # What was typed before the question was there is no answer to it.
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
        """What was typed up to Enter; None when there is no more, or the turn is stopped."""
        while not cancelled():
            if select.select([self._keys], [], [], _POLL_S)[0]:
                typed = os.read(self._keys, _READ_BYTES)
                return typed.decode(errors="replace") if typed else None
        return None
