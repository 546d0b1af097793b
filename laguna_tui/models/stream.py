"""A file's bytes from a server, read by a thread of its own, so that whoever wants them never hangs with it.

The thread fills a short queue. The reader takes what is there, notices a stall by the clock, and walks away whenever
it likes: the connection is then shut, which ends the thread as well.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import Any

_QUEUED = 64
"""Chunks, of at most 64 KiB: what may have arrived without being on the disk."""
_PATIENCE_S = 0.2


@dataclass(frozen=True, slots=True)
class Opened:
    """The beginning of an answer. url: who gave it, after all redirects."""

    status: int
    headers: Mapping[str, str]
    url: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The answer is over; error: why, if it broke off."""

    error: Exception | None = None


Item = Opened | bytes | Ended


class Stream:
    """An answer on its way: `Opened`, bytes, `Ended`."""

    def __init__(self, connect: Callable[[], AbstractContextManager[Any]]) -> None:
        """connect: gives an httpx response when entered; called on the thread."""
        self._connect = connect
        self._queue: Queue[Item] = Queue(_QUEUED)
        self._left = threading.Event()
        self._connection: Any = None
        threading.Thread(target=self._read, daemon=True, name="laguna-download").start()

    def take(self, timeout_s: float) -> Item | None:
        """What came next, or None if nothing came for so long."""
        try:
            return self._queue.get(timeout=timeout_s)
        except Empty:
            return None

    def leave(self) -> None:
        """Nobody reads on: shut the connection. Idempotent."""
        self._left.set()
        connection = self._connection
        if isinstance(connection, socket.socket):
            # The plain socket's method, also for TLS, whose own would fight with the thread that reads.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _read(self) -> None:
        try:
            with self._connect() as response:
                network = response.extensions.get("network_stream")
                self._connection = network.get_extra_info("socket") if network is not None else None
                self._put(Opened(response.status_code, response.headers, str(response.url)))
                for chunk in response.iter_raw():
                    if not self._put(chunk):
                        return
            self._put(Ended())
        except Exception as error:
            self._put(Ended(error))

    def _put(self, item: Item) -> bool:
        while not self._left.is_set():
            try:
                self._queue.put(item, timeout=_PATIENCE_S)
            except Full:
                continue
            return True
        return False
