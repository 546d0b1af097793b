"""Requests to pause or cancel a download, checked by every loop of it."""

import threading


class Paused(Exception):
    """The user paused the download, which can be resumed later."""


class Cancelled(Exception):
    """The user cancelled the download; the received bytes may be removed."""


class DownloadCancellation:
    """A request to pause or cancel. Set from any thread, checked by the one that downloads."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._reason: type[Paused] | type[Cancelled] = Paused

    def pause(self) -> None:
        """Request a stop that keeps the received bytes."""
        self._requested.set()

    def cancel(self) -> None:
        """Request a stop after which the received bytes may be removed."""
        self._reason = Cancelled
        self._requested.set()

    def reset(self) -> None:
        """Clear the request."""
        self._reason = Paused
        self._requested.clear()

    def check(self) -> None:
        """Raise Paused or Cancelled if a stop was requested."""
        if self._requested.is_set():
            raise self._reason

    def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`; raise Paused or Cancelled as soon as a stop is requested."""
        self._requested.wait(seconds)
        self.check()
