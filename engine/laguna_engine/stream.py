"""Transfers the events of one generation from the engine thread to the reader, in batches through a bounded channel.

The engine thread puts events into an `EventBatcher`, which publishes them to a bounded `Channel`: a slow reader blocks
the writer, and a fast stream wakes its reader 200 times a second instead of once per token. The reader holds an
`EventStream` (threads) or an `AsyncEventStream` (event loops). Closing it, leaving the loop, an interrupted wait or
dropping the last reference cancels the generation.

The channel has no locks, only `SimpleQueue`s, whose `put` is reentrant: a signal handler or the garbage collector may
call it at any point. They also cost the writer a tenth of what a condition does.
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
    """A bounded queue of batches.

    Attributes:
        wake: if set, called on the writer's thread after every change; it must not block.
    """

    def __init__(self, capacity: int) -> None:
        """Create a channel whose writer blocks while at least `capacity` items are unread."""
        self.wake: Callable[[], None] | None = None
        self._capacity = capacity
        self._batches: queue.SimpleQueue[list[T]] = queue.SimpleQueue()
        self._room: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._written = self._read = 0
        self._waiting = self._hurried = self._ended = False
        self._error: BaseException | None = None

    def publish(self, batch: list[T]) -> None:
        """Append `batch`, then wait until fewer items than the capacity are unread; no wait after `hurry`."""
        # An empty batch marks the end.
        if self._ended or not batch:
            return
        self._written += len(batch)
        self._put(batch)
        while self._full():
            self._waiting = True
            # Checked again after setting the flag: the reader may have made room before it saw the flag.
            if self._full():
                self._room.get()
            self._waiting = False

    def end(self, batch: list[T], error: BaseException | None = None) -> None:
        """Append the last `batch` without waiting; `error` is raised in the reader after it. Later calls do nothing."""
        if self._ended:
            return
        self._error = error
        self._ended = True
        if batch:
            self._batches.put(batch)
        self._put([])
        self._room.put(None)

    def hurry(self) -> None:
        """Never block the writer again: the stream is about to end, or nobody reads it."""
        self._hurried = True
        self._room.put(None)

    def take(self) -> list[T]:
        """Wait for the next batch; an empty one after the end."""
        return self._received(self._batches.get())

    def poll(self) -> list[T] | None:
        """Return the next batch, empty after the end, or None if there is none yet; set `wake` before the call."""
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
            # The end marker stays in the queue for later calls.
            self._batches.put(batch)
            if self._error is not None:
                raise self._error
        self._read += len(batch)
        if self._waiting:
            self._room.put(None)
        return batch


_PUBLISH_SECONDS = 0.005
"""Shorter than a screen refresh, long compared with a wake-up. Slower streams publish every token at once."""


class EventBatcher:
    """Collects the events of one generation for its channel. Engine thread only."""

    def __init__(self, channel: Channel[Event]) -> None:
        self._channel = channel
        self._published = 0.0
        self.batch: list[Event] = []
        self.put = self.batch.append

    def due(self) -> bool:
        """Return whether enough time has passed since the last `publish`."""
        return time.perf_counter() - self._published >= _PUBLISH_SECONDS

    def publish(self) -> None:
        """Publish the events put so far; blocks while the reader is far behind."""
        self._published = time.perf_counter()
        self._channel.publish(self.batch.copy())
        self.batch.clear()

    def publish_now(self, event: Event) -> None:
        """Publish `event` at once, without delaying the next `publish`."""
        self.put(event)
        self.publish()
        self._published = 0.0


class _Held:
    """The reader's end of one generation.

    Attributes:
        end_thinking: has the next token close the thinking of a request with a thinking budget; no effect outside of
            thinking. Any thread.
    """

    def __init__(
        self, channel: Channel[Event], cancel: Callable[[], None], end_thinking: Callable[[], None], owner: object
    ) -> None:
        """Keep `owner` alive: an engine without references closes itself."""
        self._channel = channel
        self._cancel = cancel
        self.end_thinking = end_thinking
        self._owner = owner
        self._unread: deque[Event] = deque()
        self._closed = False

    def stop(self) -> None:
        """Cancel the generation if it is running; what it still gives can be read, up to its `Finished`. Any thread."""
        self._cancel()

    def _release(self) -> None:
        self._closed = True
        self._unread.clear()
        self._cancel()

    @contextmanager
    def _or_release(self) -> Iterator[None]:
        """Cancel if the wait is interrupted (Ctrl-C, a cancelled task): the reader will not return."""
        try:
            yield
        except BaseException:
            self._release()
            raise

    def __del__(self) -> None:
        self._cancel()


class EventStream(_Held):
    """Iterates over one generation's events; used by one thread at a time."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        """Wait for the next event; raises the engine's error if the generation failed."""
        if not self._unread and not self._closed:
            with self._or_release():
                self._unread.extend(self._channel.take())
        if not self._unread:
            raise StopIteration
        return self._unread.popleft()

    def close(self) -> None:
        """Cancel the generation if it is running, and end the iteration. Does not wait."""
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEventStream(_Held):
    """Iterates over one generation's events in an event loop, which is woken once per batch."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """Wait for the next event; raises the engine's error if the generation failed."""
        if not self._unread and not self._closed:
            with self._or_release():
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
        """Cancel the generation if it is running, and end the iteration. Does not wait."""
        self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _waker(loop: asyncio.AbstractEventLoop, changed: asyncio.Event, cancel: Callable[[], None]) -> Callable[[], None]:
    """Return a function that wakes `loop` from the engine thread; a closed loop cancels the generation."""

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(changed.set)
        except RuntimeError:
            cancel()

    return wake
