"""Runs slow queries beside the screen, so that fast typing costs no more than slow typing."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class QueryThread:
    """Runs one query at a time on a thread. Where a worker is cancelled while its query waits, that is never run."""

    def __init__(self) -> None:
        self._running: asyncio.Future[Any] | None = None

    async def run(self, query: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query after the one that runs now, and return its result."""
        while self._running is not None and not self._running.done():
            await asyncio.wait([self._running])
        running = asyncio.get_running_loop().run_in_executor(None, partial(query, *args, **kwargs))
        self._running = running
        return await asyncio.shield(running)
