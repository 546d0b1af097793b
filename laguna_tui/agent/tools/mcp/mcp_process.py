"""One MCP server as a process in the sandbox, spoken to over its standard input and output.

It is started when it is first needed, and again after it has ended. Whatever it does (hangs, dies, floods, sends
garbage) costs one sentence: the call is answered with it, and the process is ended. What it lists and answers is taken
from its messages as JSON before the library sees it, which refuses a whole message for one part that breaks the
protocol.
"""

import asyncio
import contextlib
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import anyio
import mcp
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from laguna_engine.native.child import find_program
from laguna_tui.agent.tools.mcp.mcp_config import McpServer
from laguna_tui.base.async_thread import AsyncThread
from laguna_tui.base.text import sanitize_line
from laguna_tui.sandbox.bubblewrap import SandboxError
from laguna_tui.sandbox.launch import LimitReachedError, prepare
from laguna_tui.sandbox.native.command_tree import CommandTree
from laguna_tui.sandbox.programs import why_unreadable
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy

T = TypeVar("T")

START_S, CALL_S = 20.0, 120.0
"""Seconds for starting and for listing, each of which may unpack a package; and for a call, between two messages about
its progress. A server's entry may give others."""
LONGEST_CALL_S = 3600.0
"""Seconds for a call that reports progress."""
LINE_BYTES = 8 << 20
FLOOD_BYTES = 32 << 20
"""What a server may send between two requests."""
_POLL_S, _END_S = 0.1, 10.0
_PING_S = 2.0
"""Seconds in which a server whose call was stopped has to show that it still listens."""
_TAIL_CHARS = 300
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INTERNAL_ERROR = -32603
# The server gets our pipes as its input and output, without copies, which would stay open after it closes one.
_START = 'i=$1; o=$2; shift 2; eval "exec \\"\\$@\\" <&$i >&$o $i<&- $o>&-"'


class McpError(Exception):
    """A server cannot do what is asked; the message is a sentence that names it."""


class _StoppedError(McpError):
    """A call was stopped, and its server runs on."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of a call. text: Of all its parts, unsanitised."""

    text: str
    ok: bool


class McpProcess:
    """A server, running or not. Any thread; calls are made one after the other."""

    def __init__(self, server: McpServer, thread: AsyncThread, commands: Callable[[], CommandRunner]) -> None:
        """Start nothing yet.

        Args:
            thread: What it is spoken to on.
            commands: Returns the runner of the session's commands, whose sandbox and policy apply to the server too.
        """
        self.server = server
        self._thread, self._commands = thread, commands
        self._lock = threading.Lock()
        self._finished = False
        self._progressed = 0.0
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
        """Start the server if it does not run, and return its tools as it lists them: any JSON.

        Raises:
            McpError: It cannot be started, or does not answer.
        """
        session = self._started(cancelled)
        self._tools = []
        self._waited(_list_all(session), self._start_s, "does not list its tools", cancelled)
        return tuple(self._tools)

    def call(self, name: str, arguments: Mapping[str, object], cancelled: Callable[[], bool]) -> CallAnswer:
        """Call a tool.

        A call that is stopped leaves the server running, if it still listens.

        Raises:
            McpError: It cannot be started, does not answer, or ended; or the call was stopped.
        """
        session = self._started(cancelled)
        self._received = 0
        limit_s = CALL_S if self.server.call_s is None else self.server.call_s
        calling = self._called(session, name, _whole_characters(dict(arguments)))
        return self._waited(calling, limit_s, f"does not answer {name}", cancelled)

    def close(self) -> None:
        """End the server. Idempotent; the next call starts it again."""
        life, self._life, self._session = self._life, None, None
        if life is not None:
            life.cancel()

    def finish(self) -> None:
        """End the server for good, even while another thread starts it. Idempotent."""
        with self._lock:
            self._finished = True
        self.close()

    @property
    def _start_s(self) -> float:
        return START_S if self.server.start_s is None else self.server.start_s

    def _started(self, cancelled: Callable[[], bool]) -> mcp.ClientSession:
        policy = replace(self._commands().policy(network=self.server.network), programs=tuple(self.server.command))
        if self.running and self._session is not None and policy == self._policy:
            return self._session
        # The user's rules changed since it was started.
        self.close()
        self._policy = policy
        self._received, self._flooded, self._errors = 0, False, ""
        ready: Future[mcp.ClientSession] = Future()
        with self._lock:
            if self._finished:
                raise McpError(self._sentence("ended with the session"))
            self._life = life = self._thread.start(self._live(ready, policy))
        life.add_done_callback(lambda _: ready.done() or ready.cancel())
        self._session = self._result(ready, self._start_s, "does not start", cancelled)
        return self._session

    def _waited(self, asked: Coroutine[Any, Any, T], limit_s: float, what: str, cancelled: Callable[[], bool]) -> T:
        return self._result(self._thread.start(asked), limit_s, what, cancelled)

    def _result(self, future: "Future[T]", limit_s: float, what: str, cancelled: Callable[[], bool]) -> T:
        """Wait for a result; a server that does not give one is ended.

        limit_s: between two messages about its progress.
        """
        begun = self._progressed = time.monotonic()
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    return future.result(_POLL_S)
                if not self.running and not future.done():
                    raise McpError(self._sentence("ended"))
                if cancelled():
                    raise self._stopped(future)
                self._check_time(begun, limit_s, what)
        except McpError as error:
            future.cancel()
            if not isinstance(error, _StoppedError):
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
            said = "ended" if ended else f"failed: {sanitize_line(_reason(error))[:_TAIL_CHARS]}"
            raise McpError(self._sentence(said)) from error

    def _check_time(self, begun: float, limit_s: float, what: str) -> None:
        """Raise McpError if there was no progress for `limit_s`, or all of it took too long."""
        now = time.monotonic()
        for since, most_s in ((self._progressed, limit_s), (begun, LONGEST_CALL_S)):
            if now - since >= most_s:
                raise McpError(self._sentence(f"{what} within {most_s:.0f} seconds, and was ended"))

    def _stopped(self, future: "Future[Any]") -> McpError:
        """Stop a call, of which the library notifies the server; return the error that says so."""
        future.cancel()
        if self._listens():
            return _StoppedError(f"the call of the MCP server {self.server.name} was stopped with the turn")
        return McpError(self._sentence("was stopped with the turn"))

    def _listens(self) -> bool:
        """Return whether it answers a ping, which a server can while one of its tools runs."""
        session = self._session
        if session is None:
            return False
        pinged = self._thread.start(session.send_ping())
        try:
            pinged.result(_PING_S)
        except mcp.MCPError:
            # An error is an answer, too.
            return not self._ended.is_set()
        except (CancelledError, Exception):
            pinged.cancel()
            return False
        return True

    async def _called(self, session: mcp.ClientSession, name: str, arguments: dict[str, Any]) -> CallAnswer:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            self._progressed = time.monotonic()

        # Not `call_tool`, which lists the tools again and refuses results by output schemas that no model is given.
        params = mcp.types.CallToolRequestParams(name=name, arguments=arguments)
        request = mcp.types.CallToolRequest(params=params)
        result = await session.send_request(request, mcp.types.CallToolResult, progress_callback=progressed)
        texts = (each.text for each in result.content if isinstance(each, mcp.types.TextContent))
        return CallAnswer("\n".join(texts), ok=not result.is_error)

    def _wait_for_end(self) -> None:
        """Wait for its end, so that what it complained about is known."""
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
        """Run the server from its start to its end."""
        async with self._transport(policy) as (read, write, ended), mcp.ClientSession(read, write) as session:
            await session.initialize()
            if not ready.done():
                ready.set_result(session)
            await ended.wait()

    @contextlib.asynccontextmanager
    async def _transport(self, policy: SandboxPolicy) -> AsyncIterator[tuple[Any, Any, asyncio.Event]]:
        """Yield streams of messages to and from the process, and an event set when it ends."""
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
            # The caller closes its pipes, so wait until it has them.
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
                    await received.send(SessionMessage(_message(self._simple(_decoded(line)))))
        except ValueError:
            self._flooded = True
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass
        finally:
            received.close()
            ended.set()

    def _simple(self, message: Any) -> Any:
        """Return a message with what the library might refuse of a result taken out, or put as text.

        A list of tools goes to `_tools`; `usable` checks them one by one.
        """
        result = message.get("result") if isinstance(message, dict) else None
        if isinstance(result, dict) and isinstance(tools := result.get("tools"), list):
            self._tools += tools
            result["tools"] = []
        elif isinstance(result, dict) and not result.keys().isdisjoint(("content", "structuredContent")):
            content = [{"type": "text", "text": _answer_text(result)}]
            message["result"] = {"content": content, "isError": bool(result.get("isError"))}
        return message

    def _take_errors(self, descriptor: int, end: Callable[[], object]) -> None:
        """Keep the end of its error output; end a server that floods it."""
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
    value = json.loads(line.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace"), parse_int=_integer)
    return _whole_characters(value) if b"\\ud" in line.lower() else value


def _whole_characters(value: Any) -> Any:
    """Return a value of JSON without halves of characters, which no text in UTF-8 can hold."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _message(value: Any) -> Any:
    """Return a message of the library; an error for an answer that breaks the protocol, so that its request ends.

    Raises:
        ValueError: It is not a message.
    """
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as error:
        if not isinstance(value, dict) or "method" in value or not isinstance(value.get("id"), int):
            raise
        reason = {"code": _INTERNAL_ERROR, "message": f"its answer breaks the protocol: {_reason(error)}"}
        return jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", "id": value["id"], "error": reason})


def _reason(error: Exception) -> str:
    """Return the message of an error in a line; for a message that breaks the protocol only the first problem."""
    if isinstance(error, ValidationError):
        problem = error.errors(include_url=False, include_input=False)[-1]
        return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
    return str(error) or type(error).__name__


def _answer_text(result: Mapping[str, Any]) -> str:
    """Return a tool's answer: its items in order, or its structured content if it has no other."""
    content, structured = result.get("content"), result.get("structuredContent")
    text = "\n".join(map(_item_text, content if isinstance(content, list) else ()))
    return text if text.strip() or structured is None else json.dumps(structured, ensure_ascii=False)


def _item_text(item: object) -> str:
    match item:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text), **about}}:
            return f"[resource {about.get('uri', '')}]\n{text}"
        case {"type": "resource" as kind, "resource": {"uri": str(uri)}} | {
            "type": "resource_link" as kind,
            "uri": str(uri),
        }:
            return f"[{kind} {uri}]"
        case {"type": str(kind)}:
            return f"[{kind}]"
        case _:
            return "[unknown]"


async def _write(writer: asyncio.StreamWriter, sent: Any, ended: asyncio.Event) -> None:
    try:
        async for message in sent:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            writer.write(text.encode("utf-8", "replace") + b"\n")
            await writer.drain()
    except OSError:
        pass
    finally:
        ended.set()


async def _list_all(session: mcp.ClientSession) -> None:
    cursor: str | None = None
    # A server that repeats itself would have no last page.
    seen: set[str | None] = set()
    while cursor not in seen:
        seen.add(cursor)
        params = mcp.types.PaginatedRequestParams(cursor=cursor) if cursor else None
        cursor = (await session.list_tools(params=params)).next_cursor or None
