"""The checks of a request before any endpoint sees it.

The server runs on the user's machine, where every web page in a browser can send requests too. So a request needs the
token, a Host that is a name of the server (a page whose name was made to point here sends its own), and no Origin but
an allowed one (which browsers always send with a request of a page to another server). A body has limits of size and
time.
"""

import asyncio
import hmac
import json
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from laguna_tui.server.api_error import ApiError

PUBLIC = frozenset({"/health", "/v1/health"})
"""Paths that need no token: they only tell that the server is running."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
HEADER_BYTES = 32 << 10
"""Size limit of a request's line and headers together."""
_ALLOWED_HEADERS = "authorization, content-type, x-api-key, anthropic-version, anthropic-beta"


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Which requests are answered.

    Attributes:
        token: What a request must send.
        hosts: Names of the server, in lower case without ports.
        origins: Pages that may send requests, such as `http://localhost:3000`.
        body_bytes: Size limit of a body.
        body_s: Seconds within which a body must arrive.
    """

    token: str
    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = frozenset()
    body_bytes: int = 32 << 20
    body_s: float = 30.0


class AccessControl:
    """An ASGI application that passes the allowed requests to another one, with their whole bodies."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        try:
            self._check(scope, headers, origin)
            if scope["method"] == "OPTIONS" and origin is not None:
                await _answer(send, 204, b"", _cors(origin))
                return
            body = await self._body(headers, receive)
        except ApiError as error:
            await _refuse(send, scope["path"], error)
            return
        await self._app(scope, _replayed(body, receive), _with_headers(send, origin))

    def _check(self, scope: Scope, headers: Headers, origin: str | None) -> None:
        # uvicorn applies its own limit only to a head that comes in several reads.
        if _head_bytes(scope) > HEADER_BYTES:
            raise ApiError(431, f"The request's headers are larger than {HEADER_BYTES:,} bytes; send fewer.")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._own(hosts[0]):
            raise ApiError(
                403,
                "The Host header is not a name of this server; use its address, or allow the name with --allow-host.",
                kind="permission_error",
            )
        if origin is not None and origin not in self._rules.origins:
            raise ApiError(
                403,
                "Web pages may not use this server; to allow one, add its origin with --allow-origin.",
                kind="permission_error",
            )
        if scope["method"] == "OPTIONS" and origin is not None:
            return
        if scope["path"] not in PUBLIC and not self._has_token(headers):
            raise ApiError(
                401,
                "The token is missing or wrong; send what `laguna-tui serve` printed: Authorization: Bearer TOKEN.",
                kind="authentication_error",
            )

    def _own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return name is not None and name in self._rules.hosts

    def _has_token(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        bearer = given.strip() if kind.lower() == "bearer" else ""
        wanted = self._rules.token.encode()
        return any(hmac.compare_digest(each.encode(), wanted) for each in (bearer, headers.get("x-api-key", "")))

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        limit = self._rules.body_bytes
        too_large = ApiError(413, f"The request is larger than {limit:,} bytes; send less.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > limit:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._rules.body_s):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > limit:
                        raise too_large
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise ApiError(408, "The request did not arrive in time; send it again.") from None


def _head_bytes(scope: Scope) -> int:
    line = len(scope["raw_path"]) + len(scope["query_string"])
    return line + sum(len(name) + len(value) for name, value in scope["headers"])


def own_hosts(host: str, more: Collection[str]) -> frozenset[str]:
    """Return the names of a server that listens at `host`. more: Further names."""
    names = {host.lower(), *(each.lower() for each in more)}
    return frozenset(names | LOOPBACK if host.lower() in LOOPBACK else names - {"0.0.0.0", "::"})


def error_body(path: str, error: ApiError) -> dict[str, object]:
    """Return an error in the shape of the API that the path belongs to."""
    return error.as_anthropic() if path.startswith("/v1/messages") else error.as_openai()


async def _refuse(send: Send, path: str, error: ApiError) -> None:
    # The rest of what the client sends is not read.
    await _answer(send, error.status, json.dumps(error_body(path, error)).encode(), [(b"connection", b"close")])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*kind, *headers]})
    await send({"type": "http.response.body", "body": body})


def _cors(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
        (b"access-control-allow-headers", _ALLOWED_HEADERS.encode()),
        (b"vary", b"origin"),
    ]


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a receiver of the body that was read, then of what follows: that the client left."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_headers(send: Send, origin: str | None) -> Send:
    """Return a sender that adds the headers with which a browser gives the answer to an allowed page."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start" and origin is not None:
            message = {**message, "headers": [*message["headers"], *_cors(origin)]}
        await send(message)

    return sent
