"""One reading ahead: begun by the session's thread, dropped by the screen's, and never in the way of what comes after.

`ChatSession.cancel` stops whatever runs. Between two jobs of the session's thread that could be the next answer, or it
could come too early to be heard. So a cancel is only sent while this job has not ended, under one lock with its end,
and is sent again until it has.
"""

import threading

from laguna_tui.tui.session import ChatSession


class Ahead:
    """`message`: as far as it was typed. `dropped`: somebody wants the session. `failed`: it could not be read."""

    def __init__(self, session: ChatSession, message: str) -> None:
        self.message = message
        self.dropped = False
        self.failed = False
        self._session = session
        self._lock = threading.Lock()
        self._over = False

    def run(self) -> None:
        """Read, on the session's thread.

        An error is not told: nobody asked for anything yet, and the message itself will meet it.
        """
        try:
            if not self.dropped:
                self._session.ahead(self.message)
        except Exception:
            self.failed = True
        finally:
            with self._lock:
                self._over = True

    def drop(self) -> None:
        """Make it end soon. Call again while it has not: a cancel just before it began to read was not heard."""
        self.dropped = True
        with self._lock:
            if not self._over:
                self._session.cancel()
