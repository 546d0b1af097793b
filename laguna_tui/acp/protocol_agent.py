"""The protocol's agent: answers a client over stdin and stdout, with sessions that share one engine."""

import asyncio
import os
import stat
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from acp import PROTOCOL_VERSION, schema
from acp.core import AgentSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.stdio import stdio_streams

from laguna_engine.errors import EngineError
from laguna_tui import __version__
from laguna_tui.acp.client_approver import ClientApprover
from laguna_tui.acp.editor_session import MODEL, THINKING, THINKING_VALUES, EditorSession, config_options, mode_state
from laguna_tui.acp.line_transport import LineTransport
from laguna_tui.acp.prompt_blocks import PromptMessage
from laguna_tui.acp.session_updates import sentence_update
from laguna_tui.agent.tools.mcp.mcp_config import McpServer, client_server
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import PermissionAsked
from laguna_tui.base.permission_request import Mode
from laguna_tui.base.text import sanitize_line
from laguna_tui.session.session_pool import SessionPool
from laguna_tui.session.values import SessionInfo

T = TypeVar("T")

_SEND_S = 60.0
_LINE_BYTES = 64 << 20
"""A prompt with embedded files is one line."""
NO_CLIENT = "acp talks to an editor over a pipe, which stdin is not; to configure an editor: laguna-tui acp --print zed"
_FAILED = -32603
_WRONG = -32602
_CLIENT = "the editor"
_AT_A_URL = "The MCP server {name} was left out: only servers that run as a command are supported."
_MORE_FOLDERS = "These folders are ignored: {folders}. A session is about one folder, {folder}."


class ProtocolAgent:
    """An `acp.interfaces.Agent`."""

    def __init__(self, source: SessionPool) -> None:
        self._source = source
        self._sessions: dict[str, EditorSession] = {}
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """Take the client, which connected."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **_: Any,
    ) -> schema.InitializeResponse:
        """Return what this agent can do."""
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_info=schema.Implementation(name="laguna-tui", title="Laguna", version=__version__),
            auth_methods=[],
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True, image=False, audio=False),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                ),
            ),
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse | None:
        """Accept: no authentication is needed."""
        return schema.AuthenticateResponse()

    async def new_session(
        self, cwd: str, additional_directories: list[str] | None = None, mcp_servers: list[Any] | None = None, **_: Any
    ) -> schema.NewSessionResponse:
        """Open a session about a folder."""
        held = await self._opened(cwd, servers=mcp_servers, folders=additional_directories)
        return schema.NewSessionResponse(
            session_id=held.id, modes=mode_state(held), config_options=await self._options(held)
        )

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[Any] | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> schema.LoadSessionResponse | None:
        """Open a saved session, and show its last turns again."""
        held = await self._opened(cwd, session_id, shown=True, servers=mcp_servers, folders=additional_directories)
        return schema.LoadSessionResponse(modes=mode_state(held), config_options=await self._options(held))

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **_: Any,
    ) -> schema.ResumeSessionResponse:
        """Open a saved session without showing it again."""
        held = await self._opened(cwd, session_id, servers=mcp_servers, folders=additional_directories)
        return schema.ResumeSessionResponse(modes=mode_state(held), config_options=await self._options(held))

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **_: Any,
    ) -> schema.ForkSessionResponse:
        """Copy a session, and open the copy."""
        copy = await self._guarded(lambda: self._source.fork(session_id))
        held = await self._opened(cwd, copy, servers=mcp_servers, folders=additional_directories)
        return schema.ForkSessionResponse(
            session_id=held.id, modes=mode_state(held), config_options=await self._options(held)
        )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """Return the saved sessions, the newest first."""
        found = await self._guarded(lambda: self._source.saved(None if cwd is None else Path(cwd)))
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(
                    session_id=each.id,
                    cwd=str(each.folder),
                    title=sanitize_line(each.title) or None,
                    updated_at=_iso(each.updated),
                )
                for each in found
            ]
        )

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse | None:
        """Close a session, which stays saved."""
        held = self._held(session_id)
        await self.cancel(session_id)
        del self._sessions[session_id]
        await self._on_thread(held, held.session.close)
        held.thread.shutdown(wait=False)
        return schema.CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> schema.SetSessionModeResponse | None:
        """Change what is done without asking."""
        held = self._held(session_id)
        if mode_id not in {mode.value for mode in Mode}:
            raise RequestError(_WRONG, f"There is no mode {sanitize_line(mode_id)}.")

        def change() -> None:
            held.session.permissions.mode = Mode(mode_id)

        await self._guarded(change)
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse | None:
        """Change the model or the thinking, from the next prompt on."""
        held = self._held(session_id)
        if held.busy:
            raise RequestError(_WRONG, "The model is still answering; stop it first.")
        if config_id == MODEL:
            await self._on_thread(held, lambda: self._switch(held, str(value)))
        elif config_id == THINKING and value in THINKING_VALUES:
            await self._on_thread(held, lambda: self._rethink(held, str(value)))
        else:
            raise RequestError(_WRONG, f"There is no option {sanitize_line(config_id)} with such a value.")
        return schema.SetSessionConfigOptionResponse(config_options=await self._options(held))

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        """Answer a message."""
        held = self._held(session_id)
        if held.busy:
            raise RequestError(_WRONG, "The model is still answering; stop it first.")
        message = PromptMessage.of(prompt, held.folder)
        if not message.text.strip():
            raise RequestError(_WRONG, sanitize_line(" ".join(["The message is empty.", *message.notes])))
        held.notes += message.notes
        held.stopped.clear()
        held.busy = True
        try:
            await self._on_thread(held, lambda: self._turn(held, message.text))
        finally:
            held.busy = False
        return schema.PromptResponse(stop_reason=held.writer.end, usage=held.writer.usage)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the turn."""
        held = self._sessions.get(session_id)
        if held is not None:
            held.stopped.set()
            held.session.chat.cancel()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse or ignore: there are no extensions."""
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Refuse or ignore: there are no extensions."""

    async def close(self) -> None:
        """Close all sessions: the client is gone."""
        for held in list(self._sessions.values()):
            with suppress(RequestError):
                await self.close_session(held.id)

    # -- sessions

    def _held(self, session_id: str) -> EditorSession:
        held = self._sessions.get(session_id)
        if held is None:
            raise RequestError(-32002, f"There is no session {sanitize_line(session_id)}; load it first.")
        return held

    async def _opened(
        self,
        cwd: str,
        session_id: str = "",
        *,
        shown: bool = False,
        servers: Sequence[Any] | None = None,
        folders: Sequence[str] | None = None,
    ) -> EditorSession:
        folder = Path(cwd)
        if not folder.is_absolute() or not folder.is_dir():
            raise RequestError(_WRONG, f"{sanitize_line(cwd)} is no folder; give the absolute path of one.")
        if session_id in self._sessions:
            await self.close_session(session_id)
        usable, notes = _usable(servers or ())
        if folders:
            notes.append(_MORE_FOLDERS.format(folders=", ".join(folders), folder=folder))
        session = await self._guarded(lambda: self._source.prepare(folder, session_id, usable))
        held = EditorSession(folder.resolve(), session, servers=usable, notes=notes)
        info = await self._on_thread(held, lambda: self._open(held))
        self._sessions[held.id] = held
        if shown and info.resumed is not None:
            for event in info.resumed.events:
                for update in held.writer.updates(event):
                    await self._connected.session_update(held.id, update)
        return held

    def _open(self, held: EditorSession) -> SessionInfo:
        loop, client = self._loop, self._connected
        held.session.permissions.use_approver(ClientApprover(client, lambda: held.id, lambda: held.asking, loop))
        info = held.session.open(lambda progress: None)
        held.id = self._source.save(held.session)
        held.notes += [warning for warning in info.warnings if warning not in held.warned]
        held.warned.update(info.warnings)
        return info

    def _switch(self, held: EditorSession, model: str) -> None:
        held.session.models.switch(model, lambda progress: None)
        held.changes[MODEL] = model

    def _rethink(self, held: EditorSession, value: str) -> None:
        """Change the thinking, which is fixed when a session is opened: open it again with its conversation."""
        changes = {name: setting for name, setting in held.changes.items() if name != THINKING}
        if value != "default":
            changes[THINKING] = value == "on"
        held.session.close()
        held.session = self._source.prepare(held.folder, held.id, held.servers, **changes)
        held.changes = changes
        self._open(held)

    def _turn(self, held: EditorSession, message: str) -> None:
        """Answer on the session's thread. Each generation waits until no other session generates."""
        held.writer.begin()
        if held.stopped.is_set():
            held.writer.end = "cancelled"
            return
        notes, held.notes = held.notes, []
        for note in notes:
            self._send(held, sentence_update(note))
        for event in held.session.chat.ask(message):
            if isinstance(event, PermissionAsked):
                held.asking = held.writer.call(event.call_id)
            for update in held.writer.updates(event):
                self._send(held, update)
            if held.stopped.is_set():
                held.session.chat.cancel()

    def _send(self, held: EditorSession, update: Any) -> None:
        sent = asyncio.run_coroutine_threadsafe(self._connected.session_update(held.id, update), self._loop)
        try:
            # Wait until it is sent, so that a slow client slows the turn down instead of filling memory.
            sent.result(_SEND_S)
        except Exception:
            held.stopped.set()

    async def _options(self, held: EditorSession) -> list[Any]:
        return config_options(held, await self._guarded(held.session.models.choices))

    # -- threads

    @property
    def _connected(self) -> Client:
        assert self._client is not None, "connected before the first request"
        return self._client

    async def _on_thread(self, held: EditorSession, call: Callable[[], T]) -> T:
        """Call a function on the session's thread."""
        self._loop = asyncio.get_running_loop()
        return await _as_request(self._loop.run_in_executor(held.thread, call))

    async def _guarded(self, call: Callable[[], T]) -> T:
        return await _as_request(asyncio.to_thread(call))


def _usable(servers: Sequence[Any]) -> tuple[tuple[McpServer, ...], list[str]]:
    """Return the MCP servers of a client that can be started, and sentences about the others.

    An editor passes all servers of its user. Many of them are at a URL; the session opens without those.
    """
    usable: dict[str, McpServer] = {}
    notes: list[str] = []
    for each in servers:
        if not isinstance(each, schema.McpServerStdio):
            notes.append(_AT_A_URL.format(name=each.name))
            continue
        variables = {variable.name: variable.value for variable in each.env}
        try:
            server = client_server(_CLIENT, each.name, (each.command, *each.args), variables, usable)
        except ValueError as error:
            notes.append(f"The MCP server {each.name} was left out: {error}.")
        else:
            usable[server.name] = server
    return tuple(usable.values()), notes


async def _as_request(work: Awaitable[T]) -> T:
    """Return the result. An error becomes the protocol's error, with a sentence."""
    try:
        return await work
    except (UserError, EngineError) as error:
        raise RequestError(_FAILED, sanitize_line(str(error))) from error


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def run_stdio(source: SessionPool) -> None:
    """Serve one client until it closes stdin.

    Raises:
        UserError: Stdin is a file or a device, which cannot be waited for.
    """
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()):
        raise UserError(NO_CLIENT)
    _reserve_stdout()
    try:
        asyncio.run(_serve(source))
    finally:
        # The protocol's library closed it.
        sys.stdout = sys.stderr


async def _serve(source: SessionPool) -> None:
    agent = ProtocolAgent(source)
    try:
        with suppress(ConnectionError, BrokenPipeError):
            transport = LineTransport(*await stdio_streams(limit=_LINE_BYTES))
            # Forking, resuming and closing a session are not in the stable protocol yet.
            connection = AgentSideConnection(agent, transport, listening=False, use_unstable_protocol=True)
            try:
                await connection.listen()
            finally:
                await asyncio.shield(connection.close())
    finally:
        await agent.close()


def _reserve_stdout() -> None:
    """Reserve stdout for the protocol: everything else that writes there, C libraries included, goes to stderr."""
    sys.stdout.flush()
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # The protocol's library uses it; the app itself prints nothing.
    sys.stdout = os.fdopen(own, "w", encoding="utf-8")
