"""The Hugging Face hub: listings of repositories, and the bytes of their files. The only module that opens sockets.

URLs, authentication and proxies are huggingface_hub's, imported when needed. The requests are our own, because
huggingface_hub reads every response to its end, however long it is. A response is read by a thread of its own into a
short queue, so that its reader can time out on a stall and close at any moment; closing shuts the connection down,
which ends the thread as well.
"""

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from queue import Empty, Full, Queue
from typing import Any
from urllib.parse import quote, urlsplit

from laguna_tui import __version__
from laguna_tui.base.network import Network
from laguna_tui.models.catalogue_rules import safe_path
from laguna_tui.models.download_errors import DownloadError, Unsteady, refusal
from laguna_tui.models.entry import HubSource
from laguna_tui.models.records import SHA256, Fingerprint, RemoteFile, RepositoryListing

_QUEUED = 64
"""Chunks of at most 64 KiB: the most that is received without being on the disk."""
_PUT_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class ResponseStart:
    """Start of a response. url: the URL that answered, after all redirects."""

    status: int
    headers: Mapping[str, str]
    url: str


@dataclass(frozen=True, slots=True)
class ResponseEnd:
    """End of a response. error: the reason if it was cut off."""

    error: Exception | None = None


ResponseItem = ResponseStart | bytes | ResponseEnd


class ResponseStream:
    """A response being received: `ResponseStart`, chunks of bytes, `ResponseEnd`."""

    def __init__(self, connect: Callable[[], AbstractContextManager[Any]]) -> None:
        """connect: context manager that yields an httpx response; called on the reading thread."""
        self._connect = connect
        self._queue: Queue[ResponseItem] = Queue(_QUEUED)
        self._closed = threading.Event()
        self._connection: Any = None
        threading.Thread(target=self._read, daemon=True, name="laguna-download").start()

    def read(self, timeout_s: float) -> ResponseItem | None:
        """The next item, or None after `timeout_s` seconds."""
        try:
            return self._queue.get(timeout=timeout_s)
        except Empty:
            return None

    def close(self) -> None:
        """Shut the connection down. Idempotent."""
        self._closed.set()
        connection = self._connection
        if isinstance(connection, socket.socket):
            # The plain socket's method, also for TLS, where the TLS one would race with the reading thread.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _read(self) -> None:
        try:
            with self._connect() as response:
                network = response.extensions.get("network_stream")
                self._connection = network.get_extra_info("socket") if network is not None else None
                self._put(ResponseStart(response.status_code, response.headers, str(response.url)))
                for chunk in response.iter_raw():
                    if not self._put(chunk):
                        return
            self._put(ResponseEnd())
        except Exception as error:
            self._put(ResponseEnd(error))

    def _put(self, item: ResponseItem) -> bool:
        while not self._closed.is_set():
            try:
                self._queue.put(item, timeout=_PUT_POLL_S)
            except Full:
                continue
            return True
        return False


_TIMEOUT_S = 30.0
"""Timeout of one read (a transfer detects a stall much earlier)."""
_LISTING_LIMIT_S = 60.0
"""Seconds for a whole listing, however steadily it trickles."""
LISTING_LIMIT_BYTES = 4 << 20
"""Of a listing: a file takes about 250 bytes in it, and parsed JSON up to 25 times its length."""
_LARGEST_FILE = 1 << 50
"""Bytes; a larger size in a listing is a mistake or an attack."""
_MOST_REDIRECTS = 20
_OK = 200
_NAMES_SHOWN = 20
_LONGEST_NAME_SHOWN = 120
_NO_HUB = "the server that answered is not the hub (a log-in page of this network, or a wrong HF_ENDPOINT)"


class Hub:
    """The hub, or the endpoint in HF_ENDPOINT.

    Methods that send a request block as long as a network can; call them through a `Cancellation`.
    """

    def __init__(self, endpoint: str | None = None, *, network: Network) -> None:
        """Prepare; nothing is requested yet. network: permission to connect."""
        self.network = network
        self._endpoint = endpoint

    def listing(self, source: HubSource) -> RepositoryListing:
        """Return the files of the source as the hub lists them now.

        Raises:
            OfflineError: The network must not be used.
            DownloadError: It cannot be downloaded; the message says what to do.
            Unsteady: A temporary error.
        """
        origin = self._endpoint or _library().constants.ENDPOINT
        revision = quote(source.revision, safe="")
        stream = self._get(source, f"{origin}/api/models/{source.repository}/revision/{revision}?blobs=true", {})
        try:
            body = self._read_all(stream, source)
        finally:
            stream.close()
        commit, siblings = _parsed(body)
        chosen = source.select(siblings)
        if chosen is None or not all(map(safe_path, chosen)):
            raise DownloadError(_no_match_text(source, sorted(siblings)))
        return RepositoryListing(commit or source.revision, tuple(_remote(name, siblings[name]) for name in chosen))

    def stream(self, source: HubSource, commit: str, name: str, start: int) -> ResponseStream:
        """Request the file's bytes from offset `start`. The response may start elsewhere; check its headers.

        Raises:
            OfflineError: The network must not be used.
        """
        url = _library().hf_hub_url(source.repository, name, revision=commit, endpoint=self._endpoint)
        return self._get(source, url, {"Range": f"bytes={start}-"} if start else {})

    def is_at(self, url: str) -> bool:
        """Whether a response from `url` is the hub's own, rather than that of a storage server it redirected to."""
        return _origin(url) == _origin(self._endpoint or _library().constants.ENDPOINT)

    def _get(self, source: HubSource, url: str, headers: dict[str, str]) -> ResponseStream:
        """Send a request; every request goes through here."""
        self.network.require(f"{source.repository}: is not on this machine")
        library = _library()
        known = library.utils.build_hf_headers(library_name="laguna-tui", library_version=__version__)
        sent = known | headers | {"Accept-Encoding": "identity"}
        return ResponseStream(lambda: _answer(library.utils.get_session(), url, sent))

    def _read_all(self, stream: ResponseStream, source: HubSource) -> bytes:
        """Read a response to its end."""
        deadline = time.monotonic() + _LISTING_LIMIT_S
        item, body = stream.read(_TIMEOUT_S), bytearray()
        if isinstance(item, ResponseStart):
            if item.status != _OK:
                raise refusal(item.status, item.headers, source.repository, by_hub=self.is_at(item.url))
            if item.headers.get("content-encoding", "identity") != "identity":
                raise Unsteady("the hub compressed its response, although it was asked not to")
            item = stream.read(_TIMEOUT_S)
        while isinstance(item, bytes):
            body += item
            if len(body) > LISTING_LIMIT_BYTES:
                raise Unsteady(f"{_NO_HUB}: its answer is larger than {LISTING_LIMIT_BYTES >> 20} MiB")
            if time.monotonic() > deadline:
                raise Unsteady("the server is too slow")
            item = stream.read(_TIMEOUT_S)
        if item is None:
            raise Unsteady("the server stopped sending")
        if not isinstance(item, ResponseEnd) or item.error is not None:
            raise connection_error(item)
        return bytes(body)


def connection_error(item: ResponseStart | bytes | ResponseEnd) -> Unsteady:
    """The error for a response that ended early."""
    error = item.error if isinstance(item, ResponseEnd) else None
    if isinstance(error, Unsteady):
        return error
    return Unsteady(network_error_text(error) if error is not None else "the connection was closed")


@contextmanager
def _answer(session: Any, url: str, headers: dict[str, str]) -> Iterator[Any]:
    """The response after all redirects, open for reading; the bodies of redirects are not read."""
    request = session.build_request("GET", url, headers=headers, timeout=_TIMEOUT_S)
    for _ in range(_MOST_REDIRECTS):
        response = session.send(request, stream=True, follow_redirects=False)
        try:
            request = response.next_request
            if request is None:
                yield response
                return
        finally:
            response.close()
    raise Unsteady("too many redirects")


def network_error_text(error: Exception) -> str:
    """A network error as part of a sentence."""
    name = type(error).__name__
    kinds = (
        ("Proxy", f"the proxy refused ({error})"),
        ("ConnectTimeout", "the connection timed out"),
        ("Connect", f"the hub cannot be reached ({error})"),
        ("Timeout", "the server stopped sending"),
        ("Protocol", "the connection was closed"),
        ("Read", "the connection was closed"),
        ("Redirect", "too many redirects"),
    )
    return next((words for part, words in kinds if part in name), f"{name}: {error}")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _library() -> Any:
    """Import huggingface_hub with telemetry off, which would otherwise look at the environment at the first use.

    Its logging is set to errors only: it prints servers' messages verbatim on a screen that a TUI may be drawn on.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import huggingface_hub
    import huggingface_hub.constants
    import huggingface_hub.errors
    import huggingface_hub.utils

    library: Any = huggingface_hub
    library.utils.logging.set_verbosity_error()
    return library


def _parsed(body: bytes) -> tuple[str, dict[str, dict[str, Any]]]:
    """The commit (empty if absent) and the attributes of each file, by name."""
    try:
        answer = json.loads(body)
        siblings = {str(sibling["rfilename"]): dict(sibling) for sibling in answer["siblings"]}
        return str(answer.get("sha") or ""), siblings
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unsteady(_NO_HUB) from error


def _remote(name: str, sibling: dict[str, Any]) -> RemoteFile:
    size, lfs = sibling.get("size"), sibling.get("lfs")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < _LARGEST_FILE:
        raise Unsteady(f"the hub did not report the size of {name}")
    etag = lfs.get("sha256") if isinstance(lfs, dict) else sibling.get("blobId")
    return RemoteFile(name, size, Fingerprint.from_etag(etag) if isinstance(etag, str) else None)


def _no_match_text(source: HubSource, names: list[str]) -> str:
    wanted = ", ".join(source.files)
    there = ", ".join(name[:_LONGEST_NAME_SHOWN] for name in names[:_NAMES_SHOWN]) or "nothing"
    return (
        f"{source.repository}: {wanted} does not name exactly one file (there is: {there}); name one in your own "
        "models.toml, or update laguna-tui"
    )


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
            f"{source.repository}/{remote.name}: the file on the hub is not the one that this catalogue pins (it was "
            "replaced there); update laguna-tui, or accept the new one with your own sha256 and size in models.toml"
        )
    if pin is None and remote.etag is None:
        raise DownloadError(
            f"{source.repository}/{remote.name}: the hub publishes no hash for it, so the download could not be "
            "checked; put its sha256 into your own models.toml, or use another HF_ENDPOINT"
        )
    return replace(remote, etag=pin or remote.etag)
