"""The Hugging Face hub: what a repository holds, and the bytes of its files. The only file that opens sockets.

Names, authentication and proxies are huggingface_hub's; it is imported when it is needed. The requests are our own:
huggingface_hub reads every answer to its end, however long it is. An answer is read by a thread of its own, which
fills a short queue: its reader notices a stall by the clock and may leave at any time; the connection is then shut,
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
"""Chunks, of at most 64 KiB: what may have arrived without being on the disk."""
_PATIENCE_S = 0.2


@dataclass(frozen=True, slots=True)
class ResponseStart:
    """The beginning of an answer. url: who gave it, after all redirects."""

    status: int
    headers: Mapping[str, str]
    url: str


@dataclass(frozen=True, slots=True)
class ResponseEnd:
    """The answer is over; error: why, if it broke off."""

    error: Exception | None = None


ResponseItem = ResponseStart | bytes | ResponseEnd


class ResponseStream:
    """An answer on its way: `ResponseStart`, bytes, `ResponseEnd`."""

    def __init__(self, connect: Callable[[], AbstractContextManager[Any]]) -> None:
        """connect: gives an httpx response when entered; called on the thread."""
        self._connect = connect
        self._queue: Queue[ResponseItem] = Queue(_QUEUED)
        self._left = threading.Event()
        self._connection: Any = None
        threading.Thread(target=self._read, daemon=True, name="laguna-download").start()

    def take(self, timeout_s: float) -> ResponseItem | None:
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
                self._put(ResponseStart(response.status_code, response.headers, str(response.url)))
                for chunk in response.iter_raw():
                    if not self._put(chunk):
                        return
            self._put(ResponseEnd())
        except Exception as error:
            self._put(ResponseEnd(error))

    def _put(self, item: ResponseItem) -> bool:
        while not self._left.is_set():
            try:
                self._queue.put(item, timeout=_PATIENCE_S)
            except Full:
                continue
            return True
        return False


_TIMEOUT_S = 30.0
"""For one silence of a server (which is noticed long before in a transfer)."""
_LISTING_LIMIT_S = 60.0
"""For a whole answer about a repository, however steadily it trickles."""
LISTING_LIMIT_BYTES = 4 << 20
"""Of an answer about a repository: a file takes about 250 bytes in it, and parsed JSON up to 25 times its length."""
_LARGEST_FILE = 1 << 50
"""Bytes; what is said to be larger is a mistake or an attack."""
_MOST_REDIRECTS = 20
_OK = 200
_NAMES_SHOWN = 20
_LONGEST_NAME_SHOWN = 120
_NO_HUB = "what answered is not the hub (a log-in page of this network, or a wrong HF_ENDPOINT)"


class Hub:
    """The hub, or what HF_ENDPOINT says is one.

    Methods that ask it may hang as long as a network can; call them through a `Cancellation`.
    """

    def __init__(self, endpoint: str | None = None, *, network: Network) -> None:
        """Nothing is asked yet. network: says whether anything may be."""
        self.network = network
        self._endpoint = endpoint

    def listing(self, source: HubSource) -> RepositoryListing:
        """What the source consists of now.

        Raises:
            OfflineError: nothing may be asked. DownloadError: it cannot be had, and what to do about that.
            Unsteady: not at the moment.
        """
        origin = self._endpoint or _library().constants.ENDPOINT
        revision = quote(source.revision, safe="")
        stream = self._get(source, f"{origin}/api/models/{source.repository}/revision/{revision}?blobs=true", {})
        try:
            body = self._whole(stream, source)
        finally:
            stream.leave()
        commit, siblings = _parsed(body)
        chosen = source.chosen(siblings)
        if chosen is None or not all(map(safe_path, chosen)):
            raise DownloadError(_not_there(source, sorted(siblings)))
        return RepositoryListing(commit or source.revision, tuple(_remote(name, siblings[name]) for name in chosen))

    def stream(self, source: HubSource, commit: str, name: str, start: int) -> ResponseStream:
        """The file's bytes from `start` on; the answer may begin elsewhere, look at its headers.

        Raises:
            OfflineError: nothing may be asked.
        """
        url = _library().hf_hub_url(source.repository, name, revision=commit, endpoint=self._endpoint)
        return self._get(source, url, {"Range": f"bytes={start}-"} if start else {})

    def is_at(self, url: str) -> bool:
        """Whether an answer from there is the hub's own, and not that of a storage server it sent us on to."""
        return _origin(url) == _origin(self._endpoint or _library().constants.ENDPOINT)

    def _get(self, source: HubSource, url: str, headers: dict[str, str]) -> ResponseStream:
        """Every request of ours goes out here."""
        self.network.require(f"{source.repository}: is not on this machine")
        library = _library()
        known = library.utils.build_hf_headers(library_name="laguna-tui", library_version=__version__)
        sent = known | headers | {"Accept-Encoding": "identity"}
        return ResponseStream(lambda: _answer(library.utils.get_session(), url, sent))

    def _whole(self, stream: ResponseStream, source: HubSource) -> bytes:
        """An answer to its end."""
        deadline = time.monotonic() + _LISTING_LIMIT_S
        item, body = stream.take(_TIMEOUT_S), bytearray()
        if isinstance(item, ResponseStart):
            if item.status != _OK:
                raise refusal(item.status, item.headers, source.repository, by_hub=self.is_at(item.url))
            if item.headers.get("content-encoding", "identity") != "identity":
                raise Unsteady("the hub packed its answer in a way nobody asked for")
            item = stream.take(_TIMEOUT_S)
        while isinstance(item, bytes):
            body += item
            if len(body) > LISTING_LIMIT_BYTES:
                raise Unsteady(f"{_NO_HUB}: it answers with more than {LISTING_LIMIT_BYTES >> 20} MiB")
            if time.monotonic() > deadline:
                raise Unsteady("the server is too slow")
            item = stream.take(_TIMEOUT_S)
        if item is None:
            raise Unsteady("the server went silent")
        if not isinstance(item, ResponseEnd) or item.error is not None:
            raise connection_error(item)
        return bytes(body)


def connection_error(item: ResponseStart | bytes | ResponseEnd) -> Unsteady:
    """Why an answer ended before it was whole."""
    error = item.error if isinstance(item, ResponseEnd) else None
    if isinstance(error, Unsteady):
        return error
    return Unsteady(network_error_text(error) if error is not None else "the connection was cut")


@contextmanager
def _answer(session: Any, url: str, headers: dict[str, str]) -> Iterator[Any]:
    """The response at the end of all redirects, open for reading; the bodies of redirects are not read."""
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
    raise Unsteady("the server sends us around in circles")


def network_error_text(error: Exception) -> str:
    """What a network error means, as part of a sentence."""
    name = type(error).__name__
    kinds = (
        ("Proxy", f"the proxy refused ({error})"),
        ("ConnectTimeout", "nothing answers"),
        ("Connect", f"the hub cannot be reached ({error})"),
        ("Timeout", "the server went silent"),
        ("Protocol", "the connection was cut"),
        ("Read", "the connection was cut"),
        ("Redirect", "the server sends us around in circles"),
    )
    return next((words for part, words in kinds if part in name), f"{name}: {error}")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _library() -> Any:
    """huggingface_hub, without its question of who is running it, which would be asked at every first use.

    It also prints what servers want said, as they said it, on a screen that may be drawn on: that is turned off.
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
    """The commit, empty if it is not said, and what is known of each file, by its name."""
    try:
        answer = json.loads(body)
        siblings = {str(sibling["rfilename"]): dict(sibling) for sibling in answer["siblings"]}
        return str(answer.get("sha") or ""), siblings
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unsteady(_NO_HUB) from error


def _remote(name: str, sibling: dict[str, Any]) -> RemoteFile:
    size, lfs = sibling.get("size"), sibling.get("lfs")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < _LARGEST_FILE:
        raise Unsteady(f"the hub did not say how large {name} is")
    etag = lfs.get("sha256") if isinstance(lfs, dict) else sibling.get("blobId")
    return RemoteFile(name, size, Fingerprint.of(etag) if isinstance(etag, str) else None)


def _not_there(source: HubSource, names: list[str]) -> str:
    wanted = ", ".join(source.files)
    there = ", ".join(name[:_LONGEST_NAME_SHOWN] for name in names[:_NAMES_SHOWN]) or "nothing"
    return (
        f"{source.repository}: {wanted} names no single file in it (there is: {there}); name one in your own "
        "models.toml, or update laguna-tui"
    )


def check_pins(source: HubSource, listing: RepositoryListing) -> RepositoryListing:
    """The listing with a hash for every file, which the catalogue may know better.

    Raises:
        DownloadError: the catalogue names another file than the hub has, or nobody says what its bytes come to.
    """
    return replace(listing, files=tuple(_agreed(source, remote) for remote in listing.files))


def _agreed(source: HubSource, remote: RemoteFile) -> RemoteFile:
    first = remote.name == source.files[0]
    pin = Fingerprint(SHA256, source.sha256) if first and source.sha256 else None
    other_size = first and source.size is not None and source.size != remote.size
    other_hash = pin is not None and remote.etag is not None and remote.etag.kind == SHA256 and remote.etag != pin
    if other_size or other_hash:
        raise DownloadError(
            f"{source.repository}/{remote.name}: the file on the hub is not the one that this catalogue names (it was "
            "replaced there); update laguna-tui, or accept the new one with your own sha256 and size in models.toml"
        )
    if pin is None and remote.etag is None:
        raise DownloadError(
            f"{source.repository}/{remote.name}: the hub does not say what its bytes come to, so nobody could check "
            "them; put its sha256 into your own models.toml, or use another HF_ENDPOINT"
        )
    return replace(remote, etag=pin or remote.etag)
