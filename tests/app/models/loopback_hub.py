"""A hub on loopback: the part of the Hugging Face API that huggingface_hub and a download speak, with faults on demand.

`LoopbackHub` serves repositories from memory: model information, files directly or (LFS) by a redirect to a storage
server on another port, ranges, ETags, tokens. What goes wrong is said beforehand, one fault for each request of a kind:
`hub.faults["storage"] = [Cut(100), Status(503)]`. Everything that was asked is in `hub.requests`.
"""

import hashlib
import json
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True)
class Status:
    """Answer with this status and these headers instead."""

    code: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Cut:
    """Announce everything and close the connection after so many bytes."""

    after: int


@dataclass(frozen=True)
class Stall:
    """Go silent after so many bytes, until the hub closes or `hub.go_on` is set."""

    after: int


@dataclass(frozen=True)
class Wrong:
    """The right number of wrong bytes."""


@dataclass(frozen=True)
class TooMuch:
    """What was asked for, and more behind it."""


@dataclass(frozen=True)
class IgnoreRange:
    """Send the whole file, whatever part was asked for."""


@dataclass(frozen=True)
class OtherRange:
    """Send another part than was asked for, and say so."""


@dataclass(frozen=True)
class Headers:
    """Answer rightly, with these headers besides."""

    more: dict[str, str]


@dataclass(frozen=True)
class Body:
    """Answer 200 with this body, whatever was asked."""

    content: bytes


@dataclass(frozen=True)
class Endless:
    """Answer with this status and headers, and a body that ends when the other side hangs up, or after 1 GB."""

    code: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    beginning: bytes = b""


@dataclass(frozen=True)
class Request:
    """What was asked. kind: api, file or storage."""

    kind: str
    method: str
    path: str
    headers: dict[str, str]

    @property
    def start(self) -> int:
        """Where the range begins that was asked for."""
        value = self.headers.get("range", "bytes=0-")
        return int(value.removeprefix("bytes=").split("-")[0])


@dataclass
class Repository:
    """Files by name. token: that opens it. gated: the 401 says why. lfs_from: bytes from which a file is LFS."""

    files: dict[str, bytes]
    commit: str = "c0ffee" + "0" * 34
    token: str | None = None
    gated: bool = False
    lfs_from: int = 1000

    def is_lfs(self, name: str) -> bool:
        return len(self.files[name]) >= self.lfs_from

    def etag(self, name: str) -> str:
        return sha256(self.files[name]) if self.is_lfs(name) else git_sha1(self.files[name])

    def sibling(self, name: str) -> dict[str, object]:
        data = self.files[name]
        lfs = {"lfs": {"sha256": sha256(data), "size": len(data), "pointerSize": 134}} if self.is_lfs(name) else {}
        return {"rfilename": name, "size": len(data), "blobId": git_sha1(data), **lfs}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class LoopbackHub:
    """The servers. A context manager; `url` is the hub's own, `storage` where LFS files are."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.faults: dict[str, list[object]] = defaultdict(list)
        self.requests: list[Request] = []
        self.go_on = threading.Event()
        self.sent = 0
        """Bytes of endless answers."""
        self._servers = [self._serve(), self._serve()]
        self.url, self.storage = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)

    def asked(self, kind: str) -> list[Request]:
        """The requests of one kind, in order."""
        return [request for request in self.requests if request.kind == kind]

    def __enter__(self) -> "LoopbackHub":
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _serve(self) -> ThreadingHTTPServer:
        hub = self

        class Handler(_Handler):
            pass

        Handler.hub = hub
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server


class _Handler(BaseHTTPRequestHandler):
    """One connection. A request may be in absolute form: then somebody takes this hub for a proxy, and it is one."""

    hub: LoopbackHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Tests look at `hub.requests`."""

    def do_HEAD(self) -> None:
        self._route()

    def do_GET(self) -> None:
        self._route()

    def _route(self) -> None:
        path = unquote(urlsplit(self.path).path)
        kind = "api" if path.startswith("/api/") else "storage" if path.startswith("/storage/") else "file"
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.hub.requests.append(Request(kind, self.command, self.path, headers))
        waiting = self.hub.faults[kind]
        fault = waiting.pop(0) if waiting else None
        if isinstance(fault, Status):
            self._answer(fault.code, fault.body, fault.headers)
        elif isinstance(fault, Body):
            self._answer(200, fault.content, {"Content-Type": "text/html"})
        elif isinstance(fault, Endless):
            self._go_on_and_on(fault)
        elif isinstance(fault, Stall) and kind == "api":
            self.hub.go_on.wait(170)
            self.close_connection = True
        else:
            getattr(self, f"_{kind}")(path, fault)

    def _go_on_and_on(self, fault: Endless) -> None:
        self._head(fault.code, 1_000_000_000, fault.headers)
        piece = fault.beginning or b" " * 65536
        try:
            while self.hub.sent < 1_000_000_000:
                self.wfile.write(piece)
                self.hub.sent += len(piece)
                piece = b" " * 65536
        except OSError:
            self.close_connection = True

    def _api(self, path: str, fault: object) -> None:
        parts = path.removeprefix("/api/models/").split("/")
        name = "/".join(parts[:2])
        repository = self._allowed(name)
        if repository is None:
            return
        if len(parts) > 3 and parts[3] not in ("main", repository.commit):
            self._answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
            return
        siblings = [repository.sibling(file) for file in repository.files]
        body = {"id": name, "modelId": name, "sha": repository.commit, "siblings": siblings, "tags": [], "downloads": 0}
        more = fault.more if isinstance(fault, Headers) else {}
        self._answer(200, json.dumps(body).encode(), {"Content-Type": "application/json", **more})

    def _file(self, path: str, fault: object) -> None:
        name, _, rest = path.lstrip("/").partition("/resolve/")
        repository = self._allowed(name)
        if repository is None:
            return
        file = rest.partition("/")[2]
        if file not in repository.files:
            self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        headers = {"X-Repo-Commit": repository.commit, "Accept-Ranges": "bytes"}
        if not repository.is_lfs(file):
            self._send(repository.files[file], {**headers, "ETag": f'"{repository.etag(file)}"'}, fault)
            return
        linked = {"X-Linked-Etag": f'"{repository.etag(file)}"', "X-Linked-Size": str(len(repository.files[file]))}
        self._answer(302, b"", {**headers, **linked, "Location": self._storage_url(name, file)})

    def _storage_url(self, name: str, file: str) -> str:
        absolute = urlsplit(self.path)
        origin = f"{absolute.scheme}://{absolute.netloc}" if absolute.netloc else self.hub.storage
        return f"{origin}/storage/{name}/{file}"

    def _storage(self, path: str, fault: object) -> None:
        owner, name, file = path.removeprefix("/storage/").split("/", 2)
        self._send(self.hub.repositories[f"{owner}/{name}"].files[file], {"ETag": '"of-the-storage"'}, fault)

    def _allowed(self, name: str) -> Repository | None:
        repository = self.hub.repositories.get(name)
        sent = self.headers.get("Authorization", "")
        if repository is None:
            self._answer(404, b"", {"X-Error-Code": "RepoNotFound"})
        elif repository.token is not None and sent != f"Bearer {repository.token}":
            code = "GatedRepo" if repository.gated else ""
            self._answer(403 if sent else 401, b"", {"X-Error-Code": code} if code else {})
        else:
            return repository
        return None

    def _send(self, data: bytes, headers: dict[str, str], fault: object) -> None:
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").split("-")[0]) if asked and not isinstance(fault, IgnoreRange) else 0
        if start >= len(data) > 0:
            self._answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        if isinstance(fault, OtherRange):
            start = start // 2
        if asked and not isinstance(fault, IgnoreRange):
            headers = {**headers, "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
        more = fault.more if isinstance(fault, Headers) else {}
        body = bytes(255 - byte for byte in data[start:]) if isinstance(fault, Wrong) else data[start:]
        body += bytes(1 << 20) if isinstance(fault, TooMuch) else b""
        self._head(206 if "Content-Range" in headers else 200, len(body), {**headers, **more})
        if self.command != "HEAD":
            self._write(body, fault)

    def _write(self, body: bytes, fault: object) -> None:
        sent = body[: fault.after] if isinstance(fault, Cut | Stall) else body
        try:
            self.wfile.write(sent)
            self.wfile.flush()
            if isinstance(fault, Stall):
                self.hub.go_on.wait(170)
                self.wfile.write(body[len(sent) :])
        except OSError:
            self.close_connection = True
        if isinstance(fault, Cut):
            self.close_connection = True

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._head(status, len(body), headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
