"""Sends answers: in one object, or as server-sent events; a client that leaves, or reads nothing, ends its answer."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

T = TypeVar("T")

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: clients ignore it, and their time limit for reading begins anew."""


class ClientGone(Exception):
    """The client closed its connection; there is nobody to answer."""


async def unless_gone(request: Request, work: Coroutine[object, object, T]) -> T:
    """What `work` returns; it is cancelled, and ClientGone raised, once the client has left."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request.receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGone
    finally:
        for each in (task, gone):
            each.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


async def _gone(receive: Receive) -> None:
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
            events: whole ones.
            keep_alive_s: so long nothing is sent before a comment is.
            send_s: so long a client may read nothing.
            failed: makes the last event of an error in mid-answer.
        """
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events, self._keep_alive_s, self._send_s, self._failed = events, keep_alive_s, send_s, failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.ensure_future(self._send_all(send))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                with suppress(TimeoutError):
                    # Who reads nothing is left; the connection is closed because the answer is not complete.
                    sending.result()
        finally:
            for task in (sending, gone):
                task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await sending

    async def _send_all(self, send: Send) -> None:
        events = self._events
        following: asyncio.Future[bytes] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(_next(events))
                done, _ = await asyncio.wait({following}, timeout=self._keep_alive_s)
                if not done:
                    await self._put(send, KEEP_ALIVE)
                    continue
                body = self._taken(following)
                following = None
                if body is None:
                    break
                await self._put(send, body)
            await self._put(send, b"", more=False)
        finally:
            if following is not None:
                following.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await following
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()

    def _taken(self, following: "asyncio.Future[bytes]") -> bytes | None:
        """The next event; None after the last."""
        try:
            return following.result()
        except _End:
            return None
        except Exception as error:
            return self._failed(error)

    async def _put(self, send: Send, body: bytes, *, more: bool = True) -> None:
        # A client that reads nothing keeps its connection full.
        async with asyncio.timeout(self._send_s):
            await send({"type": "http.response.body", "body": body, "more_body": more})


class _End(Exception):
    """There are no more events; a task cannot raise StopAsyncIteration."""


async def _next(events: AsyncIterator[bytes]) -> bytes:
    try:
        return await anext(events)
    except StopAsyncIteration:
        raise _End from None
