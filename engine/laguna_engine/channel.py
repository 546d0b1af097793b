"""From the engine thread to whoever reads: items travel in batches, and a slow reader slows the writer down.

One writer, one reader. The reader may block (`take`) or be woken (`poll`), so a thread and an event loop can both
read without spinning. Ending a channel never waits: what is left stays readable, then the error, if any, is raised.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Channel(Generic[T]):
    """A bounded queue of items that is filled and emptied in batches."""

    def __init__(self, capacity: int) -> None:
        """The writer waits while `capacity` items or more are unread."""
        self._capacity = capacity
        self._items: list[T] = []
        self._changed = threading.Condition()
        self._hurried = False
        self._ended = False
        self._error: BaseException | None = None
        self._wake: Callable[[], None] | None = None

    def publish(self, batch: list[T]) -> None:
        """Append `batch`, then wait until less than the capacity is unread; not once the channel is hurried."""
        self._append(batch)
        with self._changed:
            while len(self._items) >= self._capacity and not self._hurried and not self._ended:
                self._changed.wait()

    def end(self, batch: list[T], error: BaseException | None = None) -> None:
        """Append the last `batch` without waiting; the reader gets `error` after it. What follows is ignored."""
        self._append(batch, ended=True, error=error)

    def hurry(self) -> None:
        """Never make the writer wait again: what it writes is about to end, or nobody reads it."""
        with self._changed:
            self._hurried = True
            self._changed.notify_all()

    def take(self) -> list[T]:
        """All unread items, waiting for some; an empty list after the end."""
        with self._changed:
            while not self._items and not self._ended:
                self._changed.wait()
            return self._drain()

    def poll(self, wake: Callable[[], None]) -> list[T] | None:
        """All unread items, an empty list after the end, or None: then `wake` is called once when that changes.

        `wake` runs on the writer's thread and must not block.
        """
        with self._changed:
            if self._items or self._ended:
                return self._drain()
            self._wake = wake
            return None

    def _append(self, batch: list[T], *, ended: bool = False, error: BaseException | None = None) -> None:
        with self._changed:
            if self._ended:
                return
            self._items.extend(batch)
            self._ended, self._error = ended, error
            wake, self._wake = self._wake, None
            self._changed.notify_all()
        if wake is not None:
            wake()

    def _drain(self) -> list[T]:
        items, self._items = self._items, []
        if not items and self._error is not None:
            raise self._error
        self._changed.notify_all()
        return items
