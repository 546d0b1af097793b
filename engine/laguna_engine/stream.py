"""The events of one generation on their way from the engine thread to the reader: batched, bounded, iterated.

The engine thread puts events into an `EventBatcher`, which publishes them to a bounded `Channel`: a slow reader slows
the writer down, and a fast stream wakes its reader 200 times a second, not once a token. The reader holds an
`EventStream` (threads) or an `AsyncEventStream` (event loops). Dropping it cancels the generation: closing it, leaving
the loop, an interrupted wait, losing the last reference.

The channel has no locks, only `SimpleQueue`s, whose `put` may be entered again by a signal handler or by the garbage
collector in the middle of anything. They also cost the writer a tenth of what a condition does.
"""

import asyncio
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Self, TypeVar

from laguna_engine.events import Event

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


_PUBLISH_SECONDS = 0.005
"""Shorter than a screen refresh, long against a wake-up. Slower streams publish every token at once."""


class EventBatcher:
    """Collects the events of one generation for its channel. Engine thread only."""

    def __init__(self, channel: Channel[Event]) -> None:
        self._channel = channel
        self._published = 0.0
        self.batch: list[Event] = []
        self.put = self.batch.append

    def due(self) -> bool:
        """Whether the last `publish` is long enough ago for the next."""
        return time.perf_counter() - self._published >= _PUBLISH_SECONDS

    def publish(self) -> None:
        """Hand over what was put; waits while the reader is far behind."""
        self._published = time.perf_counter()
        self._channel.publish(self.batch.copy())
        self.batch.clear()

    def tell(self, event: Event) -> None:
        """Hand over `event` at once, and do not let what comes next wait for it."""
        self.put(event)
        self.publish()
        self._published = 0.0


class _Held:
    """The reader's end of one generation."""

    def __init__(self, channel: Channel[Event], cancel: Callable[[], None], owner: object) -> None:
        """`owner` is kept alive: an engine that is no longer held closes itself."""
        self._channel = channel
        self._cancel = cancel
        self._owner = owner
        self._unread: deque[Event] = deque()
        self._closed = False

    def _let_go(self) -> None:
        self._closed = True
        self._unread.clear()
        self._cancel()

    @contextmanager
    def _or_let_go(self) -> Iterator[None]:
        """Who is interrupted while waiting (Ctrl-C, a cancelled task) will not come back."""
        try:
            yield
        except BaseException:
            self._let_go()
            raise

    def __del__(self) -> None:
        self._cancel()


class EventStream(_Held):
    """Iterates over one generation's events, from any thread but one at a time."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        """The next event, waiting for it; the engine's error, if the generation failed."""
        if not self._unread and not self._closed:
            with self._or_let_go():
                self._unread.extend(self._channel.take())
        if not self._unread:
            raise StopIteration
        return self._unread.popleft()

    def close(self) -> None:
        """Cancel the generation if it still runs, and end the iteration. Does not wait."""
        self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEventStream(_Held):
    """Iterates over one generation's events in an event loop, which is woken once a batch."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """The next event, waiting for it; the engine's error, if the generation failed."""
        if not self._unread and not self._closed:
            with self._or_let_go():
                self._unread.extend(await self._take())
        if not self._unread:
            raise StopAsyncIteration
        return self._unread.popleft()

    async def _take(self) -> list[Event]:
        changed = asyncio.Event()
        self._channel.wake = _waker(asyncio.get_running_loop(), changed, self._cancel)
        try:
            while (batch := self._channel.poll()) is None:
                await changed.wait()
                changed.clear()
        finally:
            self._channel.wake = None
        return batch

    async def aclose(self) -> None:
        """Cancel the generation if it still runs, and end the iteration. Does not wait."""
        self._let_go()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _waker(loop: asyncio.AbstractEventLoop, changed: asyncio.Event, cancel: Callable[[], None]) -> Callable[[], None]:
    """What the engine thread calls to wake `loop`; a loop that was closed reads no more, so that cancels."""

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(changed.set)
        except RuntimeError:
            cancel()

    return wake
