"""Where the session's thread waits for the user to decide about an edit. Knows nothing of the screen.

The wait ends by an answer, by a turn that is stopped, or by an app that is left: never by nobody being there.
"""

import threading
from collections.abc import Callable

from laguna_tui.agent.approval import Decision
from laguna_tui.repo.proposal import Proposal

# How soon a stop is noticed.
LOOK_S = 0.05


class Approvals:
    """An `Approver` for the session's thread; the screen's thread looks at `waiting` and answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decided = threading.Event()
        self._decision = Decision.NO
        self._waiting = self._left = False

    @property
    def waiting(self) -> bool:
        """Whether a question has no answer yet."""
        return self._waiting

    def __call__(self, proposal: Proposal, cancelled: Callable[[], bool]) -> Decision:
        del proposal  # the screen has it from the event before
        with self._lock:
            self._decided.clear()
            self._decision, self._waiting = Decision.NO, not self._left
        while self._waiting and not self._decided.wait(LOOK_S):
            if cancelled():
                break
        with self._lock:
            self._waiting = False
            return self._decision

    def answer(self, decision: Decision) -> None:
        """What the user decided about the question that waits; without one it is nothing."""
        with self._lock:
            if self._waiting:
                self._decision, self._waiting = decision, False
                self._decided.set()

    def leave(self) -> None:
        """Nobody will be there to answer any more: what waits and what comes is declined."""
        with self._lock:
            self._left, self._waiting = True, False
            self._decided.set()
