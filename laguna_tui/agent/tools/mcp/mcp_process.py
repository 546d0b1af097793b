"""One MCP server as a process in the sandbox, spoken to over its standard input and output.

It is started when it is first needed, and again after it has ended. Whatever it does (hangs, dies, floods, sends
garbage) costs one sentence: the call is answered with it, and the process is ended.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import anyio
import mcp
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from laguna_engine.native.child import find_program
from laguna_engine.native.command_tree import CommandTree
from laguna_tui.agent.tools.mcp.mcp_config import McpServer
from laguna_tui.base.async_thread import AsyncThread
from laguna_tui.base.text import sanitize_line
from laguna_tui.sandbox.checked_start import SandboxError
from laguna_tui.sandbox.launch import prepare
from laguna_tui.sandbox.limits import LimitReachedError
from laguna_tui.sandbox.programs import why_unreadable
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy

T = TypeVar("T")

START_S, CALL_S = 20.0, 120.0
"""Seconds for starting and listing, which may unpack a package; and for a call."""
LINE_BYTES = 8 << 20
FLOOD_BYTES = 32 << 20
"""What a server may send between two requests."""
_MAX_PAGES = 8
_POLL_S, _END_S = 0.1, 10.0
_TAIL_CHARS = 300
# The server gets our pipes as its input and output.
_START = 'i=$1; o=$2; shift 2; exec "$@" <&$i >&$o'


class McpError(Exception):
    """A server cannot do what is asked; the message is a sentence that names it."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What a call was answered with. text: of all its parts, raw."""

    text: str
    ok: bool


class McpProcess:
    """A server, running or not. Any thread; calls are made one after the other."""

    def __init__(self, server: McpServer, thread: AsyncThread, commands: Callable[[], CommandRunner]) -> None:
        """Start nothing yet.

        Args:
            thread: what it is spoken to on.
            commands: gives the runner of the session's commands, whose sandbox and policy hold for the server too.
        """
        self.server = server
        self._thread, self._commands = thread, commands
        self._policy: SandboxPolicy | None = None
        self._session: mcp.ClientSession | None = None
        self._life: Future[None] | None = None
        self._received = 0
        self._flooded = False
        # Set at the end of the output of the process that was started last.
        self._ended = asyncio.Event()
        self._errors = ""
        self._tools: list[object] = []

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._life is not None and not self._life.done()

    def tools(self, cancelled: Callable[[], bool] = lambda: False) -> tuple[object, ...]:
        """Start it where it does not run, and return its tools as it lists them: any JSON.

        Raises:
            McpError: it cannot be started, or does not answer.
        """
        session = self._started(cancelled)
        self._tools = []
        self._waited(_list_all(session), START_S, "does not list its tools", cancelled)
        return tuple(self._tools)

    def call(self, name: str, arguments: Mapping[str, object], cancelled: Callable[[], bool]) -> CallAnswer:
        """Call a tool.

        Raises:
            McpError: it cannot be started, does not answer, or ended; or the call was stopped.
        """
        session = self._started(cancelled)
        self._received = 0
        return self._waited(_called(session, name, dict(arguments)), CALL_S, f"does not answer {name}", cancelled)

    def close(self) -> None:
        """End it. Idempotent."""
        life, self._life, self._session = self._life, None, None
        if life is not None:
            life.cancel()

    def _started(self, cancelled: Callable[[], bool]) -> mcp.ClientSession:
        policy = replace(self._commands().policy(network=self.server.network), programs=tuple(self.server.command))
        if self.running and self._session is not None and policy == self._policy:
            return self._session
        # The user's rules changed since it was started.
        self.close()
        self._policy = policy
        self._received, self._flooded, self._errors = 0, False, ""
        ready: Future[mcp.ClientSession] = Future()
        self._life = self._thread.start(self._live(ready, policy))
        self._life.add_done_callback(lambda _: ready.done() or ready.cancel())
        self._session = self._result(ready, START_S, "does not start", cancelled)
        return self._session

    def _waited(self, asked: Coroutine[Any, Any, T], limit_s: float, what: str, cancelled: Callable[[], bool]) -> T:
        return self._result(self._thread.start(asked), limit_s, what, cancelled)

    def _result(self, future: "Future[T]", limit_s: float, what: str, cancelled: Callable[[], bool]) -> T:
        """The result, waited for; a server that does not give one is ended."""
        waited = 0.0
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    return future.result(_POLL_S)
                waited += _POLL_S
                if not self.running and not future.done():
                    raise McpError(self._sentence("ended"))
                if cancelled():
                    raise McpError(self._sentence("was stopped with the turn"))
                if waited >= limit_s:
                    raise McpError(self._sentence(f"{what} within {limit_s:.0f} seconds, and was ended"))
        except McpError:
            future.cancel()
            self.close()
            raise
        except CancelledError:
            self.close()
            raise McpError(self._sentence("ended")) from None
        except Exception as error:
            ended = self._ended.is_set() or not self.running
            if ended:
                self._wait_for_end()
                self.close()
            said = "ended" if ended else f"failed: {sanitize_line(str(error))[:_TAIL_CHARS] or type(error).__name__}"
            raise McpError(self._sentence(said)) from error

    def _wait_for_end(self) -> None:
        """Let it end, so that what it complained about is known."""
        if self._life is not None:
            with contextlib.suppress(CancelledError, Exception):
                self._life.result(_END_S)

    def _sentence(self, what: str) -> str:
        if self._flooded:
            what = "sent far more than was asked for, and was ended"
        tail = f" ({sanitize_line(self._errors).strip()[-_TAIL_CHARS:]})" if self._errors.strip() else ""
        hidden = why_unreadable(self._policy, self.server.command) if self._policy is not None else ""
        return f"the MCP server {self.server.name} {what}{tail}" + (f": {sanitize_line(hidden)}" if hidden else "")

    async def _live(self, ready: "Future[mcp.ClientSession]", policy: SandboxPolicy) -> None:
        """The server's life, from its start to its end."""
        async with self._transport(policy) as (read, write, ended), mcp.ClientSession(read, write) as session:
            await session.initialize()
            if not ready.done():
                ready.set_result(session)
            await ended.wait()

    @contextlib.asynccontextmanager
    async def _transport(self, policy: SandboxPolicy) -> AsyncIterator[tuple[Any, Any, asyncio.Event]]:
        """Streams of messages to and from the process, and what is set when it ends."""
        into, theirs_in, theirs_out, out = *reversed(os.pipe()), *reversed(os.pipe())
        try:
            tree, cleanup = await self._spawn(policy, theirs_in, theirs_out)
        except BaseException:
            os.close(into)
            os.close(out)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        self._ended = ended
        reader = asyncio.StreamReader(limit=LINE_BYTES)
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out, "rb", 0))
        writing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(into, "wb", 0))
        writer = asyncio.StreamWriter(writing, protocol, None, loop)
        received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, sent_out = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(self._read(reader, received_in, ended)),
            asyncio.create_task(_write(writer, sent_out, ended)),
        ]
        os.set_blocking(tree.output, False)
        loop.add_reader(tree.output, self._take_errors, tree.output, tasks[0].cancel)
        try:
            yield received, sent, ended
        finally:
            for task in tasks:
                task.cancel()
            reading.close()
            writing.close()
            self._take_errors(tree.output, tasks[0].cancel)
            loop.remove_reader(tree.output)
            for stream in (received_in, received, sent, sent_out):
                stream.close()
            tree.close()
            cleanup()

    async def _spawn(
        self, policy: SandboxPolicy, theirs_in: int, theirs_out: int
    ) -> tuple[CommandTree, Callable[[], object]]:
        """Start the process in the sandbox."""
        shell = find_program("bash") or "/bin/sh"
        argv = (shell, "-c", _START, "mcp", str(theirs_in), str(theirs_out), *self.server.command)

        def start() -> tuple[CommandTree, Callable[[], object]]:
            prepared = prepare(self._commands().status, policy, argv)
            try:
                variables = {**prepared.env, **self.server.variables}
                return prepared.start(variables, (theirs_in, theirs_out)), prepared.cleanup
            except BaseException:
                prepared.cleanup()
                raise

        starting = asyncio.ensure_future(asyncio.to_thread(start))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Its pipes are closed by the caller, so not before it has them.
            with contextlib.suppress(SandboxError, OSError, ValueError):
                tree, cleanup = await starting
                tree.close()
                cleanup()
            raise
        except (SandboxError, LimitReachedError) as error:
            self._errors = str(error)
            raise

    async def _read(self, reader: asyncio.StreamReader, received: Any, ended: asyncio.Event) -> None:
        """Pass on what the server sends, line by line, until it ends or sends too much."""
        try:
            while line := await reader.readline():
                self._received += len(line)
                if self._received > FLOOD_BYTES:
                    self._flooded = True
                    return
                # What is not a message, such as a print, is ignored.
                with contextlib.suppress(ValueError, RecursionError):
                    message = self._without_tools(_decoded(line))
                    await received.send(SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False)))
        except ValueError:
            self._flooded = True
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass
        finally:
            received.close()
            ended.set()

    def _without_tools(self, message: Any) -> Any:
        """Take the list of tools out of a message, if it has one.

        The library refuses the whole list for one tool that breaks the protocol; `usable` checks them one by one.
        """
        result = message.get("result") if isinstance(message, dict) else None
        if isinstance(result, dict) and isinstance(tools := result.get("tools"), list):
            self._tools += tools
            result["tools"] = []
        return message

    def _take_errors(self, descriptor: int, end: Callable[[], object]) -> None:
        """Keep the end of what it complains about; end it where that is without end."""
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(descriptor)
        self._received += len(data)
        if self._received > FLOOD_BYTES:
            self._flooded = True
            end()
        self._errors = (self._errors + data.decode("utf-8", "replace"))[-4 * _TAIL_CHARS :]


def _integer(digits: str) -> int | float:
    """Parse an integer; one with more digits than Python converts becomes a float, mostly infinity."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _decoded(line: bytes) -> Any:
    """Return the JSON in a line; half a character, which a server leaves where it cuts a text, is replaced."""
    value = json.loads(line.decode("utf-8", "replace"), parse_int=_integer)
    if b"\\ud" in line.lower():
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


async def _write(writer: asyncio.StreamWriter, sent: Any, ended: asyncio.Event) -> None:
    try:
        async for message in sent:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            writer.write(text.encode("utf-8", "replace") + b"\n")
            await writer.drain()
    except OSError:
        ended.set()


async def _list_all(session: mcp.ClientSession) -> None:
    cursor = None
    for _ in range(_MAX_PAGES):
        params = mcp.types.PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await session.list_tools(params=params)
        cursor = page.next_cursor
        if not cursor:
            break


async def _called(session: mcp.ClientSession, name: str, arguments: dict[str, Any]) -> CallAnswer:
    # Not `call_tool`, which lists the tools again and refuses results by output schemas that no model is given.
    params = mcp.types.CallToolRequestParams(name=name, arguments=arguments)
    result = await session.send_request(mcp.types.CallToolRequest(params=params), mcp.types.CallToolResult)
    texts = (each.text if isinstance(each, mcp.types.TextContent) else f"[{each.type}]" for each in result.content)
    return CallAnswer("\n".join(texts), ok=not result.is_error)
