"""From the engine thread to whoever reads: items travel in batches, and a slow reader slows the writer down.

One writer, one reader. The reader may block (`take`) or be woken (`poll` and `wake`), so a thread and an event loop can
both read without spinning. Ending never waits: what is left stays readable, then the error, if any, is raised.

There are no locks here, only `SimpleQueue`s, whose `put` may be entered again by a signal handler or by the garbage
collector in the middle of anything. They also cost the writer a tenth of what a condition does.
"""

import queue
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Channel(Generic[T]):
    """A bounded queue that is filled and emptied in batches.

    `wake` is called on the writer's thread after every change while it is set; it must not block.
    """

    def __init__(self, capacity: int) -> None:
        """The writer waits while `capacity` items or more are unread."""
        self.wake: Callable[[], None] | None = None
        self._capacity = capacity
        self._batches: queue.SimpleQueue[list[T]] = queue.SimpleQueue()
        self._room: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._written = self._read = 0
        self._waiting = self._hurried = self._ended = False
        self._error: BaseException | None = None

    def publish(self, batch: list[T]) -> None:
        """Append `batch`, then wait until less than the capacity is unread; not once the channel is hurried."""
        # An empty batch would read as the end.
        if self._ended or not batch:
            return
        self._written += len(batch)
        self._put(batch)
        while self._full():
            self._waiting = True
            # Asked again after telling the reader, who may have made room and seen nobody waiting.
            if self._full():
                self._room.get()
            self._waiting = False

    def end(self, batch: list[T], error: BaseException | None = None) -> None:
        """Append the last `batch` without waiting; the reader gets `error` after it. What follows is ignored."""
        if self._ended:
            return
        self._error = error
        self._ended = True
        if batch:
            self._batches.put(batch)
        self._put([])
        self._room.put(None)

    def hurry(self) -> None:
        """Never make the writer wait again: what it writes is about to end, or nobody reads it."""
        self._hurried = True
        self._room.put(None)

    def take(self) -> list[T]:
        """The next batch, waiting for it; an empty one after the end."""
        return self._received(self._batches.get())

    def poll(self) -> list[T] | None:
        """The next batch, an empty one after the end, or None if there is none yet; set `wake` before asking."""
        try:
            return self._received(self._batches.get_nowait())
        except queue.Empty:
            return None

    def _full(self) -> bool:
        return self._written - self._read >= self._capacity and not (self._hurried or self._ended)

    def _put(self, batch: list[T]) -> None:
        self._batches.put(batch)
        wake = self.wake
        if wake is not None:
            wake()

    def _received(self, batch: list[T]) -> list[T]:
        if not batch:
            # The end stays there for whoever asks again.
            self._batches.put(batch)
            if self._error is not None:
                raise self._error
        self._read += len(batch)
        if self._waiting:
            self._room.put(None)
        return batch
