"""Which request is answered next: one at a time, the clients in turn, with a limit of waiting requests."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from laguna_tui.server.api_error import ApiError

BUSY_RETRY_S = 5


class FairQueue:
    """Gives turns on one event loop.

    A client with many requests does not hold up the others: of the waiting clients, the one whose last turn is longest
    ago is next.

    Attributes:
        limit: Maximum number of waiting requests.
        inside: Requests between `enter` and `leave`: they have a turn, or wait for one.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.inside = 0
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._taken = ""
        self._busy = False

    @property
    def waiting(self) -> int:
        """Number of waiting requests."""
        return sum(map(len, self._waiting.values()))

    @property
    def now(self) -> str:
        """The client that has the turn; empty for none."""
        return self._taken

    def enter(self) -> None:
        """Register a request, which may take turns until `leave`. ApiError if too many wait already."""
        if self.inside > self.limit:
            raise ApiError(
                429,
                f"{self.limit} requests are waiting already; try again soon.",
                kind="rate_limit_error",
                retry_after=BUSY_RETRY_S,
            )
        self.inside += 1

    def leave(self) -> None:
        """End a request, which takes no more turns."""
        self.inside -= 1

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn of this client, and hold it inside the context."""
        await self._wait(client)
        self._taken = client
        try:
            yield
        finally:
            self._taken = ""
            self._next()

    async def _wait(self, client: str) -> None:
        if not self._busy:
            self._busy = True
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                # It was given the turn at the same moment.
                self._next()
            else:
                self._leave(client, place)
            raise

    def _leave(self, client: str, place: "asyncio.Future[None]") -> None:
        places = self._waiting.get(client)
        if places is not None and place in places:
            places.remove(place)
            if not places:
                del self._waiting[client]

    def _next(self) -> None:
        """Pass the turn on."""
        while self._waiting:
            client, places = next(iter(self._waiting.items()))
            place = places.popleft()
            # The client's other requests wait behind those of other clients.
            del self._waiting[client]
            if places:
                self._waiting[client] = places
            if not place.done():
                place.set_result(None)
                return
        self._busy = False
