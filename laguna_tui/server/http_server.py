"""The server: its socket, thread and event loop, with time limits for idle clients."""

import asyncio
import contextlib
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from laguna_engine.files import read_small_file
from laguna_tui.base.errors import UserError
from laguna_tui.server.access_control import HEADER_BYTES, LOOPBACK, AccessRules, own_hosts
from laguna_tui.server.chat_prompts import chat_prompts
from laguna_tui.server.event_stream import ABORT
from laguna_tui.server.http_app import DEFAULT_TIMING, Timing, http_app
from laguna_tui.server.model_service import ModelService, Shared
from laguna_tui.session.values import ClientUse

HEADER_S = 15.0
"""A connection without a complete request head by then is closed."""
IDLE_S = 30.0
CONNECTIONS = 256
TOKEN_CHARS = 16
_TOKEN_BYTES = 1024
_STOP_S = 5.0


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How to serve.

    Attributes:
        host, port: Where to listen; port 0 takes a free one.
        expose: Whether other machines may reach it.
        token_file: File with the token; None makes one up.
        allow_hosts: More names of the server.
        allow_origins: Web pages that may send requests.
        held_bytes: Memory for conversations that wait.
        waiting: Maximum number of waiting requests.
        body_bytes: Size limit of a body.
        body_s: Seconds within which a body must arrive.
        timing: Time limits of streams.
        header_s: Seconds within which a request's head must arrive.
    """

    host: str = "127.0.0.1"
    port: int = 8093
    expose: bool = False
    token_file: Path | None = None
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    held_bytes: int = 4 << 30
    waiting: int = 128
    body_bytes: int = 32 << 20
    body_s: float = 30.0
    timing: Timing = DEFAULT_TIMING
    header_s: float = HEADER_S


def access_rules(options: ServerOptions) -> AccessRules:
    """Return which requests are answered.

    Raises:
        UserError: Other machines could reach it without `expose`, or with a token that can be guessed.
    """
    token = secrets.token_urlsafe(24) if options.token_file is None else _token(options.token_file)
    if options.host.lower() not in LOOPBACK:
        if not options.expose:
            raise UserError(
                f"--host {options.host}: other machines could use the model; if you want that, add --expose"
            )
        if options.token_file is None:
            raise UserError("--expose: other machines need a token that you chose; add --token-file FILE")
    hosts = own_hosts(options.host, options.allow_hosts)
    if not hosts:
        raise UserError(f"--host {options.host}: the server needs a name that clients use; add --allow-host NAME")
    return AccessRules(token, hosts, frozenset(options.allow_origins), options.body_bytes, options.body_s)


def _token(path: Path) -> str:
    try:
        token = read_small_file(path.expanduser(), _TOKEN_BYTES).decode().strip()
    except (OSError, ValueError) as error:
        raise UserError(f"--token-file {path}: cannot be read ({error}); choose another file") from error
    if len(token) < TOKEN_CHARS or not token.isascii() or any(map(str.isspace, token)):
        raise UserError(f"--token-file {path}: the token needs at least {TOKEN_CHARS} ASCII characters, without blanks")
    return token


class HttpServer:
    """A server on a thread of its own.

    Attributes:
        url: Where it listens; empty before `start`.
        token: What clients must send.
    """

    def __init__(self, shared: Shared, options: ServerOptions, log: Callable[[str], None] = lambda line: None) -> None:
        """Nothing listens before `start`. UserError as for `access_rules`.

        Args:
            shared: Returns the open model; None while none is open.
            options: How to serve.
            log: Takes lines for whoever runs the server; they contain names that clients chose.
        """
        self._options, self._shared, self._log = options, shared, log
        self._rules = access_rules(options)
        self.token = self._rules.token
        self.url = ""
        self._service: ModelService | None = None
        self._server: Server | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def start(self) -> None:
        """Start to listen.

        Raises:
            UserError: The address is not available.
            EngineError: The model cannot chat.
        """
        model = self._shared()
        if model is not None:
            chat_prompts(model)
        bound = self._bound()
        config = Config(
            http_app(self._running, self._rules, self._options.timing),
            http=_protocol(self._options.header_s),
            h11_max_incomplete_event_size=HEADER_BYTES,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=int(IDLE_S),
            timeout_graceful_shutdown=int(_STOP_S),
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
        )
        self._server = Server(config)
        # Whoever started the server handles signals.
        self._server.capture_signals = contextlib.nullcontext  # type: ignore[assignment, method-assign]
        self._thread = threading.Thread(target=self._serve, args=(bound,), name="laguna-server", daemon=True)
        self._thread.start()

    def ended(self, seconds: float) -> bool:
        """Wait for its end, for so long at most; returns whether it ended. An endless wait may block Ctrl-C."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """End all answers and close the socket. Idempotent."""
        if self._server is not None:
            self._server.should_exit = True
            self._server.force_exit = True
        if self._thread is not None:
            self._thread.join(2 * _STOP_S)
            self._thread = None

    @property
    def running(self) -> bool:
        """Whether it listens."""
        return self._thread is not None and not self._ended.is_set()

    def clients(self) -> tuple[ClientUse, ...]:
        """Return who used it, the latest first. Any thread."""
        service = self._service
        return () if service is None else service.metrics.clients(service.queue.now)

    @property
    def waiting(self) -> int:
        """Number of waiting requests. Any thread."""
        return 0 if self._service is None else self._service.queue.waiting

    def _running(self) -> ModelService:
        if self._service is None:
            options = self._options
            self._service = ModelService(self._shared, options.held_bytes, options.waiting, self._log)
        return self._service

    def _bound(self) -> socket.socket:
        host, port = self._options.host, self._options.port
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            bound = socket.create_server((host, port), family=family, backlog=CONNECTIONS)
        except OSError as error:
            raise UserError(
                f"--host {host} --port {port}: {error.strerror}; choose another port, or 0 for a free one"
            ) from error
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{bound.getsockname()[1]}"
        return bound

    def _serve(self, bound: socket.socket) -> None:
        assert self._server is not None, "made before the thread"
        try:
            asyncio.run(self._server.serve([bound]))
        finally:
            bound.close()
            self._ended.set()


def _protocol(header_s: float) -> type[asyncio.Protocol]:
    class Guarded(H11Protocol):
        """Closes a connection on which no complete request head arrives: it is half open, or too slow."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            answered = self.app

            async def app(scope: Any, receive: Any, send: Any) -> None:
                scope[ABORT] = transport.abort
                await answered(scope, receive, send)

            self.app = app
            self._head_timer = self.loop.call_later(header_s, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_timer.cancel()
            super().connection_lost(exc)

        def _give_up(self) -> None:
            # None before the first request, whatever uvicorn declares.
            request: object = self.cycle
            if request is None and not self.transport.is_closing():
                self.transport.close()

    return Guarded
