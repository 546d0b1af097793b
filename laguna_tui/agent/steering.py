"""Messages that the user sends while the model works, queued until the next tool boundary."""

from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock


class Steering:
    """Messages sent while a turn runs, until they are in the conversation. Any thread."""

    def __init__(self, waiting: Iterable[str] = ()) -> None:
        """waiting: Messages of an earlier turn that did not go in."""
        self._lock = Lock()
        self._waiting = deque(waiting)
        self._open = False

    def begin(self) -> None:
        """Accept messages; drop those left over."""
        with self._lock:
            self._waiting.clear()
            self._open = True

    def put(self, message: str, record: Callable[[], None] = lambda: None) -> bool:
        """Queue a message for the next tool boundary; False if the turn has no further one.

        Args:
            message: What the user says.
            record: Records that it is accepted, before it can be in the conversation.
        """
        with self._lock:
            if self._open:
                record()
                self._waiting.append(message)
            return self._open

    def next(self, *, last: bool) -> str:
        """Return the oldest message, which stays queued; empty for none. last: Then accept no other one."""
        with self._lock:
            self._open = self._open and not (last and not self._waiting)
            return self._waiting[0] if self._waiting else ""

    def took(self) -> None:
        """Remove the oldest message: it is in the conversation."""
        with self._lock:
            self._waiting.popleft()

    def end(self) -> None:
        """Accept no more."""
        with self._lock:
            self._open = False

    def unsent(self) -> tuple[str, ...]:
        """Return the messages that did not go in; each once."""
        with self._lock:
            unsent = tuple(self._waiting)
            self._waiting.clear()
            return unsent
