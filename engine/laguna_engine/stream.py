"""A running generation, as the caller holds it: an iterator of events for threads, and its twin for event loops.

Letting go of it cancels the generation: closing it, leaving the loop, an interrupted wait, losing the last reference.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from laguna_engine.events import Event
from laguna_engine.generation.generation import Generation


class _Held:
    """The reader's end of one generation."""

    def __init__(self, generation: Generation, owner: object) -> None:
        """`owner` is kept alive: an engine that nobody holds any more closes itself."""
        self._channel = generation.channel
        self._cancel = generation.cancel
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
