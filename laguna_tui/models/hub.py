"""The Hugging Face hub: listings of repositories, and the bytes of their files, requested by a child process.

The child (`hub_requests`) may block as long as a network can. It is killed when the caller stops waiting, and ends with
this process.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from time import monotonic

from laguna_engine.native.child import Worker
from laguna_tui.base.network import Network
from laguna_tui.models.download_errors import DownloadError, Unsteady
from laguna_tui.models.entry import HubSource
from laguna_tui.models.hub_requests import HubAnswer, HubRequest
from laguna_tui.models.records import SHA256, Fingerprint, RemoteFile, RepositoryListing, from_json, to_json

_TICK_S = 0.1
"""Seconds between two calls of a request's `tick`: a tenth of the second within which a pause is promised."""
_LISTING_LIMIT_S = 60.0
"""Seconds for a whole listing, however steadily it trickles."""
_CHILD = "laguna_tui.models.hub_requests"


class Hub:
    """The hub, or the endpoint in HF_ENDPOINT. One request at a time; `close` ends the child process."""

    def __init__(self, endpoint: str | None = None, *, network: Network) -> None:
        """Request nothing yet.

        Args:
            endpoint: URL of the hub (default: huggingface_hub's).
            network: Permission to connect.
        """
        self.network = network
        self._endpoint = endpoint
        self._worker: Worker | None = None

    def listing(self, source: HubSource, tick: Callable[[], None] = lambda: None) -> RepositoryListing:
        """Return the files of the source as the hub lists them now.

        Args:
            tick: Called while the answer is awaited; may raise to stop.

        Raises:
            OfflineError: The network must not be used.
            DownloadError: It cannot be downloaded; the message says what to do.
            Unsteady: A temporary error.
        """
        self.start(source, tick)
        end = monotonic() + _LISTING_LIMIT_S

        def limited() -> None:
            tick()
            if monotonic() > end:
                raise Unsteady("the server is too slow")

        answer = self._ask(HubRequest(self._endpoint, source), limited)
        assert answer.listing is not None, "a source was given"
        return answer.listing

    def start(self, source: HubSource, tick: Callable[[], None]) -> None:
        """Start the child process, unless it is running.

        Raises:
            OfflineError: The network must not be used.
            Unsteady: No process can be started.
        """
        self.network.require(f"{source.repository} is not on this machine")
        if self._worker is None:
            try:
                self._worker = Worker(_CHILD)
            except OSError as error:
                raise Unsteady(f"no process can be started for the download ({error.strerror or error})") from error
            self._ask(HubRequest(), tick)

    def fetch(self, source: HubSource, commit: str, remote: RemoteFile, part: Path, tick: Callable[[], None]) -> None:
        """Append the missing bytes of a file to `part`; call `start` first.

        Raises:
            DownloadError: It cannot be downloaded; the message says what to do.
            Unsteady: A temporary error; the bytes that arrived stay.
            OSError: The disk refuses.
        """
        self._ask(HubRequest(self._endpoint, source, commit, remote, str(part)), tick)

    def close(self) -> None:
        """Kill the child process, whatever it is doing. Idempotent."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _ask(self, request: HubRequest, tick: Callable[[], None]) -> HubAnswer:
        assert self._worker is not None, "the child was started"
        self._worker.send(to_json(request).encode("ascii"))
        try:
            with DefaultSelector() as selector:
                selector.register(self._worker, EVENT_READ)
                while not selector.select(_TICK_S):
                    tick()
            data = self._worker.receive()
            if data is None:
                raise Unsteady("the download process ended")
        except BaseException:
            self.close()
            raise
        answer = from_json(data, HubAnswer)
        if answer.unsteady:
            raise Unsteady(answer.unsteady, answer.wait_s)
        if answer.refused:
            raise DownloadError(answer.refused)
        if answer.errno:
            raise OSError(answer.errno, os.strerror(answer.errno), answer.filename)
        return answer


def check_pins(source: HubSource, listing: RepositoryListing) -> RepositoryListing:
    """Return the listing with a hash for every file, the catalogue's where it has one.

    Raises:
        DownloadError: The catalogue pins another file than the hub has, or no hash is known.
    """
    return replace(listing, files=tuple(_pinned(source, remote) for remote in listing.files))


def _pinned(source: HubSource, remote: RemoteFile) -> RemoteFile:
    first = remote.name == source.files[0]
    pin = Fingerprint(SHA256, source.sha256) if first and source.sha256 else None
    other_size = first and source.size is not None and source.size != remote.size
    other_hash = pin is not None and remote.etag is not None and remote.etag.kind == SHA256 and remote.etag != pin
    if other_size or other_hash:
        raise DownloadError(
            f"{source.repository}/{remote.name}: the file on the hub was replaced and is not the one that the "
            "catalogue pins; update laguna-tui, or accept the new one with your own sha256 and size in models.toml"
        )
    if pin is None and remote.etag is None:
        raise DownloadError(
            f"{source.repository}/{remote.name}: the hub publishes no hash for it, so the download could not be "
            "checked; put its sha256 into your own models.toml, or use another HF_ENDPOINT"
        )
    return replace(remote, etag=pin or remote.etag)
