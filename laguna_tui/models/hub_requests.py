"""Requests to the Hugging Face hub, made in a child process that can be killed. The only module that opens sockets.

URLs, authentication and proxies are huggingface_hub's. The requests are our own, because huggingface_hub reads every
response to its end, however long it is. A file's bytes are written to its partial file here, and the parent sees it
grow.
"""

import errno
import json
import os
import re
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import RawIOBase
from typing import Any
from urllib.parse import quote, urlsplit

from laguna_engine.native.child import serve
from laguna_tui import __version__
from laguna_tui.base.errors import UserError
from laguna_tui.models.catalogue_rules import safe_path
from laguna_tui.models.download_errors import DownloadError, Unsteady, refusal
from laguna_tui.models.entry import HubSource
from laguna_tui.models.records import Fingerprint, RemoteFile, RepositoryListing, from_json, to_json

LISTING_LIMIT_BYTES = 4 << 20
"""Of a listing: a file takes about 250 bytes in it, and parsed JSON up to 25 times its length."""
_TIMEOUT_S = 30.0
"""Timeout of one read; the parent notices a stall and a listing that trickles."""
_LARGEST_FILE = 1 << 50
"""Bytes; a larger size in a listing is a mistake or an attack."""
_MOST_REDIRECTS = 20
_OK, _PARTIAL, _NOT_SATISFIABLE = 200, 206, 416
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")
"""At most 18 digits: no file is larger, and Python refuses to parse integers of thousands of digits."""
_NAMES_SHOWN = 20
_LONGEST_NAME_SHOWN = 120
_NO_HUB = "the server that answered is not the hub (perhaps a login page of this network, or a wrong HF_ENDPOINT)"
_TWO_WRITERS = (
    "{file}: another laguna-tui is downloading it too, which this disk's locks do not prevent; wait until it "
    "has ended, then run the same command again"
)


@dataclass(frozen=True, slots=True)
class HubRequest:
    """A request to the child; without a source it only prepares for others.

    Attributes:
        endpoint: URL of the hub; None for huggingface_hub's.
        source: The repository; without the other fields its files are listed.
        commit: Commit of the file to fetch.
        remote: The file.
        part: Path of its partial file.
    """

    endpoint: str | None = None
    source: HubSource | None = None
    commit: str = ""
    remote: RemoteFile | None = None
    part: str = ""


@dataclass(frozen=True, slots=True)
class HubAnswer:
    """The child's answer.

    Attributes:
        listing: The requested files.
        unsteady: Reason of a temporary error.
        wait_s: Seconds that the server asks to wait after it.
        refused: Message of an error that a retry does not change.
        errno: Error number of the disk; `filename` is the file.
    """

    listing: RepositoryListing | None = None
    unsteady: str = ""
    wait_s: float | None = None
    refused: str = ""
    errno: int = 0
    filename: str | None = None


def answer(data: bytes) -> bytes:
    """Do what a request says; errors are part of the answer."""
    request = from_json(data, HubRequest)
    done = HubAnswer()
    try:
        if request.source is None:
            _library().utils.get_session()  # imports most of what requests need, before anybody measures a stall
        elif request.remote is None:
            done = HubAnswer(list_repository(request.endpoint, request.source))
        else:
            fetch(request.endpoint, request.source, request.commit, request.remote, request.part)
    except Unsteady as fault:
        done = HubAnswer(unsteady=fault.reason, wait_s=fault.wait_s)
    except UserError as error:
        done = HubAnswer(refused=str(error))
    except OSError as error:
        done = HubAnswer(errno=error.errno or errno.EIO, filename=error.filename)
    except Exception as error:
        done = HubAnswer(unsteady=_network_error_text(error))
    return to_json(done).encode("ascii")


def list_repository(endpoint: str | None, source: HubSource) -> RepositoryListing:
    """Return the files of the source as the hub lists them now.

    Raises:
        DownloadError: It cannot be downloaded; the message says what to do.
        Unsteady: A temporary error.
    """
    revision = quote(source.revision, safe="")
    body = bytearray()
    with _response(f"{_hub(endpoint)}/api/models/{source.repository}/revision/{revision}?blobs=true", {}) as response:
        _check_status(response, endpoint, source)
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > LISTING_LIMIT_BYTES:
                raise Unsteady(f"{_NO_HUB}: its answer is larger than {LISTING_LIMIT_BYTES >> 20} MiB")
    commit, siblings = _parsed(body)
    chosen = source.select(siblings)
    if chosen is None or not all(map(safe_path, chosen)):
        raise DownloadError(_no_match_text(source, sorted(siblings)))
    return RepositoryListing(commit or source.revision, tuple(_remote(name, siblings[name]) for name in chosen))


def fetch(endpoint: str | None, source: HubSource, commit: str, remote: RemoteFile, part: str) -> None:
    """Append the missing bytes of a file to its partial file, which never grows beyond the file's size.

    Raises:
        DownloadError: It cannot be downloaded; the message says what to do.
        Unsteady: A temporary error; the bytes that arrived stay.
        OSError: The disk refuses.
    """
    url = _library().hf_hub_url(source.repository, remote.name, revision=commit, endpoint=endpoint)
    with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644), "r+b", buffering=0) as file:
        have = file.seek(0, os.SEEK_END)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        if hard == resource.RLIM_INFINITY or hard >= remote.size:
            resource.setrlimit(resource.RLIMIT_FSIZE, (remote.size, hard))
        with _response(url, {"Range": f"bytes={have}-"} if have else {}) as response:
            if response.status_code == _NOT_SATISFIABLE and have:
                file.truncate(0)
                raise Unsteady("the server refused to resume the file")
            _check_status(response, endpoint, source)
            _check_etag(response, endpoint, source, remote)
            if not _continues(response, remote, have):
                file.truncate(0)
                file.seek(0)
            _write_all(response, file, remote)
        if not os.path.lexists(part) or not os.path.samestat(os.fstat(file.fileno()), os.lstat(part)):
            raise DownloadError(_TWO_WRITERS.format(file=f"{source.repository}/{remote.name}"))
        if file.tell() < remote.size:
            raise Unsteady("the connection was closed")


def _write_all(response: Any, file: RawIOBase, remote: RemoteFile) -> None:
    try:
        for chunk in response.iter_raw():
            left = memoryview(chunk)
            while left:
                left = left[file.write(left) or 0 :]
    except OSError as error:
        if error.errno != errno.EFBIG or file.tell() < remote.size:
            raise
        file.truncate(0)
        raise Unsteady("the server sent more bytes than the file has") from error


def is_hub(url: str, endpoint: str | None) -> bool:
    """Return whether a response is the hub's own, not that of a storage server it redirected to."""
    return _origin(url) == _origin(_hub(endpoint))


def _check_status(response: Any, endpoint: str | None, source: HubSource) -> None:
    """Raise the error for a response without content, or with content of another form than asked for."""
    if response.status_code not in (_OK, _PARTIAL):
        by_hub = is_hub(str(response.url), endpoint)
        raise refusal(response.status_code, response.headers, source.repository, by_hub=by_hub)
    if response.headers.get("content-encoding", "identity") != "identity":
        raise Unsteady("the server compressed its response, although it was asked not to")


def _check_etag(response: Any, endpoint: str | None, source: HubSource, remote: RemoteFile) -> None:
    """Raise DownloadError when the hub reports another hash. A storage server's ETag is not a hash of the file."""
    etag, known = Fingerprint.from_etag(response.headers.get("etag", "").strip('"')), remote.etag
    if etag and known and is_hub(str(response.url), endpoint) and etag.kind == known.kind and etag != known:
        raise DownloadError(
            f"{source.repository}/{remote.name}: changed on the hub during the download; run the same command again "
            "to get the new one"
        )


def _continues(response: Any, remote: RemoteFile, have: int) -> bool:
    """Return whether the response begins where the partial file ends; a server that ignores Range starts at byte 0.

    Raises:
        Unsteady: It is neither the whole file nor the requested range of it.
    """
    if response.status_code == _OK:
        length = response.headers.get("content-length")
        if length is not None and length != str(remote.size):
            raise Unsteady(f"the response has {length} bytes, not {remote.size}")
        return not have
    found = _RANGE.fullmatch(response.headers.get("content-range", ""))
    if found is None or int(found[1]) != have or found[3] not in ("*", str(remote.size)):
        raise Unsteady("the server sent another range of the file than requested")
    return True


@contextmanager
def _response(url: str, headers: Mapping[str, str]) -> Iterator[Any]:
    """Open the response after all redirects; the bodies of redirects are not read."""
    library = _library()
    known = library.utils.build_hf_headers(library_name="laguna-tui", library_version=__version__)
    sent = {**known, **headers, "Accept-Encoding": "identity"}
    session = library.utils.get_session()
    request = session.build_request("GET", url, headers=sent, timeout=_TIMEOUT_S)
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


def _network_error_text(error: Exception) -> str:
    """Return a network error as part of a sentence."""
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


def _hub(endpoint: str | None) -> str:
    return endpoint or str(_library().constants.ENDPOINT)


def _library() -> Any:
    """Import huggingface_hub with telemetry off, which would otherwise examine the environment at the first use.

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


def _parsed(body: bytes | bytearray) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the commit (empty if absent) and the attributes of each file, by name."""
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


if __name__ == "__main__":
    serve(answer)
