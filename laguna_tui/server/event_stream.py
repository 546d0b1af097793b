"""Sends an answer as server-sent events, and notices when its client disconnects or stops reading."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

T = TypeVar("T")

ABORT = "laguna_tui.abort"
"""Key of the function that drops the connection, in an ASGI scope."""
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: clients ignore it, and their time limit for reading starts again."""


class _NotReading(Exception):
    """The client reads nothing."""


class ClientDisconnected(Exception):
    """The client closed its connection."""


async def unless_disconnected(request: Request, work: Coroutine[object, object, T]) -> T:
    """Return the result of `work`; cancel it and raise ClientDisconnected when the client leaves."""
    task = asyncio.ensure_future(work)
    disconnected = asyncio.ensure_future(_disconnected(request.receive))
    try:
        await asyncio.wait({task, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientDisconnected
    finally:
        for each in (task, disconnected):
            each.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStreamResponse(Response):
    """Server-sent events.

    Comments go out while nothing else does, so that neither client nor proxy gives up during a long prefill.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncIterator[bytes],
        keep_alive_s: float,
        send_s: float,
        failed: Callable[[Exception], bytes],
    ) -> None:
        """Send `events`.

        Args:
            events: Complete events.
            keep_alive_s: Seconds without an event before a comment is sent.
            send_s: Seconds for which a client may read nothing.
            failed: Returns the last event of an answer that an error ended.
        """
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events, self._keep_alive_s, self._send_s, self._failed = events, keep_alive_s, send_s, failed
        self._sent = 0.0
        self._unsent: list[bytes] = []
        self._ready = asyncio.Event()
        self._complete = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        self._sent = asyncio.get_running_loop().time()
        collecting = asyncio.ensure_future(self._collect())
        work = self._send_events(send), _disconnected(receive), self._keep_alive(send)
        tasks = {asyncio.ensure_future(each) for each in work}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except _NotReading:
            # Closing the connection would wait until everything sent was read.
            if (abort := scope.get(ABORT)) is not None:
                abort()
        finally:
            tasks.add(collecting)
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _collect(self) -> None:
        """Collect the events: those that come together are sent together, which saves most of their cost."""
        try:
            async for body in self._events:
                self._unsent.append(body)
                self._ready.set()
        except Exception as error:
            self._unsent.append(self._failed(error))
        finally:
            self._complete = True
            self._ready.set()
            close = getattr(self._events, "aclose", None)
            if close is not None:
                await close()

    async def _send_events(self, send: Send) -> None:
        complete = False
        while not complete:
            await self._ready.wait()
            self._ready.clear()
            complete = self._complete
            body = b"".join(self._unsent)
            self._unsent.clear()
            if body:
                await self._send(send, body)
        await self._send(send, b"", more=False)

    async def _keep_alive(self, send: Send) -> None:
        """Send a comment whenever nothing else was sent for long. Its own task, so that an event needs none."""
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(self._sent + self._keep_alive_s - now())
            if now() >= self._sent + self._keep_alive_s:
                await self._send(send, KEEP_ALIVE)

    async def _send(self, send: Send, body: bytes, *, more: bool = True) -> None:
        # A client that reads nothing keeps its connection full.
        try:
            async with asyncio.timeout(self._send_s):
                await send({"type": "http.response.body", "body": body, "more_body": more})
        except TimeoutError:
            raise _NotReading from None
        self._sent = asyncio.get_running_loop().time()
