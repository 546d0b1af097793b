"""The Hugging Face hub: what a repository holds, and the bytes of its files. The only file that opens sockets.

Names, authentication and proxies are huggingface_hub's; it is imported when it is needed. The requests are our own:
huggingface_hub reads every answer to its end, however long it is.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

from laguna_tui import __version__
from laguna_tui.models.answers import refusal
from laguna_tui.models.digest import Fingerprint
from laguna_tui.models.entry import Source
from laguna_tui.models.faults import DownloadError, Unsteady
from laguna_tui.models.record import Listing, Remote
from laguna_tui.models.rules import safe_path
from laguna_tui.models.stream import Ended, Opened, Stream
from laguna_tui.network import Network

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

    Methods that ask it may hang as long as a network can; call them through a `Brake`.
    """

    def __init__(self, endpoint: str | None = None, *, network: Network) -> None:
        """Nothing is asked yet. network: says whether anything may be."""
        self.network = network
        self._endpoint = endpoint

    def listing(self, source: Source) -> Listing:
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
        return Listing(commit or source.revision, tuple(_remote(name, siblings[name]) for name in chosen))

    def stream(self, source: Source, commit: str, name: str, start: int) -> Stream:
        """The file's bytes from `start` on; the answer may begin elsewhere, look at its headers.

        Raises:
            OfflineError: nothing may be asked.
        """
        url = _library().hf_hub_url(source.repository, name, revision=commit, endpoint=self._endpoint)
        return self._get(source, url, {"Range": f"bytes={start}-"} if start else {})

    def is_at(self, url: str) -> bool:
        """Whether an answer from there is the hub's own, and not that of a storage server it sent us on to."""
        return _origin(url) == _origin(self._endpoint or _library().constants.ENDPOINT)

    def _get(self, source: Source, url: str, headers: dict[str, str]) -> Stream:
        """Every request of ours goes out here."""
        self.network.require(f"{source.repository}: is not on this machine")
        library = _library()
        known = library.utils.build_hf_headers(library_name="laguna-tui", library_version=__version__)
        sent = known | headers | {"Accept-Encoding": "identity"}
        return Stream(lambda: _answer(library.utils.get_session(), url, sent))

    def _whole(self, stream: Stream, source: Source) -> bytes:
        """An answer to its end."""
        deadline = time.monotonic() + _LISTING_LIMIT_S
        item, body = stream.take(_TIMEOUT_S), bytearray()
        if isinstance(item, Opened):
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
        if not isinstance(item, Ended) or item.error is not None:
            raise broken(item)
        return bytes(body)


def broken(item: Opened | bytes | Ended) -> Unsteady:
    """Why an answer ended before it was whole."""
    error = item.error if isinstance(item, Ended) else None
    if isinstance(error, Unsteady):
        return error
    return Unsteady(trouble(error) if error is not None else "the connection was cut")


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


def trouble(error: Exception) -> str:
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


def _remote(name: str, sibling: dict[str, Any]) -> Remote:
    size, lfs = sibling.get("size"), sibling.get("lfs")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < _LARGEST_FILE:
        raise Unsteady(f"the hub did not say how large {name} is")
    etag = lfs.get("sha256") if isinstance(lfs, dict) else sibling.get("blobId")
    return Remote(name, size, Fingerprint.of(etag) if isinstance(etag, str) else None)


def _not_there(source: Source, names: list[str]) -> str:
    wanted = ", ".join(source.files)
    there = ", ".join(name[:_LONGEST_NAME_SHOWN] for name in names[:_NAMES_SHOWN]) or "nothing"
    return (
        f"{source.repository}: {wanted} names no single file in it (there is: {there}); name one in your own "
        "models.toml, or update laguna-tui"
    )
