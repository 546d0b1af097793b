"""The tools of all MCP servers of a session, as the model sees them: behind our own, under masked names.

What a server offers is saved, so that it need not run before one of its tools is called, and a session's prompt stays
the same even if the server changes. A session waits for a server that was never listed, but not for long, and only
once: a slower one is listed in the background, for the next session.
"""

import hashlib
import json
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.agent.tools.mcp.mcp_config import McpServer, load_servers
from laguna_tui.base.async_thread import AsyncThread
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import Notice
from laguna_tui.base.permission_request import CallProposal, PermissionRequest
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.context.trust import Trust

if TYPE_CHECKING:
    from laguna_tui.agent.tools.mcp.mcp_process import McpProcess
    from laguna_tui.sandbox.runner import CommandRunner

T = TypeVar("T")

PREFIX = "mcp__"
LISTS = "mcp-tools.json"
"""The file in the state folder with what servers offered last."""
MAX_NAME, MAX_DESCRIPTION, MAX_SCHEMA, MAX_RESULT = 64, 1000, 4096, 1 << 20
"""Characters: of a tool's name, its text, its schema as JSON, and of what it answers."""
MAX_TOOLS, MAX_PARAMETERS = 64, 64
"""Of a server, and of a tool: more than a model can choose from."""
_MAX_DEPTH = 32
_PARAMETER = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The names that the endpoints of models accept."""
_KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")
_SHARED = ("$defs", "definitions")
"""Where a schema has parts that others in it refer to."""
_SHOWN_PROBLEMS = 3
_LIMIT_BYTES = 4 << 20
_NO_PACKAGE = "{file} has MCP servers, which need another package: pip install 'laguna-tui[mcp]'"
_CHANGED = (
    "The MCP server {name} offers other tools than before. This session keeps its tools; the next one gets"
    " the new ones."
)
_NOT_HELD = (
    "the MCP server {name} could read or change what one of your rules protects, and no sandbox that works here can"
    " prevent that"
)
OFFER_S = 10.0
"""Seconds in which the servers that were never listed may start and list their tools before the session goes ahead."""
_DIGEST_CHARS = 6
_UNUSABLE = "{used} of {all} tools of the MCP server {name} are used; left out: {problems}."
_NOT_READY = "not ready, so without tools in this session"
_SLOW = (
    "The MCP server {name} is not ready after {seconds:.0f} seconds, so its tools come with the next session. To wait"
    " for it: laguna-tui mcp list"
)
_WAS_SLOW = (
    "The MCP server {name} was slow to start before, so it is started in the background and its tools come with the"
    " next session. To wait for it: laguna-tui mcp list"
)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the model sees it. name: Masked. theirs: The server's own name for it."""

    name: str
    theirs: str
    description: str
    parameters: Mapping[str, Any]


Listing = tuple[OfferedTool, ...]
_LISTINGS = msgspec.json.Decoder(dict[str, Listing | None])


@dataclass(frozen=True, slots=True)
class ServerOverview:
    """A server, for the user; its texts are unsanitised.

    Attributes:
        command: What is started.
        running: Whether it runs now.
        tools: What it offers in this session.
        problem: Why it offers nothing, a sentence; empty if it does.
    """

    name: str
    command: str
    source: str
    running: bool
    network: bool
    tools: tuple[OfferedTool, ...]
    problem: str = ""


class McpTools:
    """The servers of one session. Any thread, except `offer`.

    Attributes:
        notes: Sentences for the user: what is not started, and what changed.
    """

    def __init__(
        self,
        folder: Path,
        state: Path | None,
        commands: Callable[[], "CommandRunner"],
        *,
        own: Path | None = None,
        clients: Sequence[McpServer] = (),
    ) -> None:
        """Start nothing yet.

        Args:
            folder: That is asked about.
            state: The user's state folder; None trusts no folder and keeps nothing.
            commands: Returns the runner of the session's commands, whose sandbox and policy apply to the servers too.
            own: The user's file of servers; None for the usual one.
            clients: Servers of the program that the session is for.

        Raises:
            UserError: The user's file is wrong.
        """
        found = load_servers(folder, Trust(state), own, clients)
        self.notes = list(found.notes)
        self._servers, self._state, self._commands = found.servers, state, commands
        self._thread = AsyncThread("laguna-mcp")
        self._processes: dict[str, McpProcess] = {}
        self._offered: dict[str, Listing] = {}
        self._problems: dict[str, str] = {}
        self._saving = threading.Lock()
        self._checked: set[str] = set()

    def offer(self, *, fresh: bool = False) -> tuple[Tool[Any], ...]:
        """Return the tools, in the same order for the same servers.

        Those never listed are started side by side and waited for, up to `OFFER_S`.

        Args:
            fresh: Start and list all of them, however long they take.
        """
        if self._servers and find_spec("mcp") is None:
            self.notes.append(_NO_PACKAGE.format(file=self._servers[0].source))
            return ()
        saved = self._saved()
        listings: dict[str, Future[Sequence[object]]] = {}
        for server in self._servers:
            known = saved.get(server.digest)
            if known is not None and not fresh:
                self._offered[server.name] = known
            else:
                listings[server.name] = _in_background(self._process(server).tools)
        deadline = time.monotonic() + OFFER_S
        for server in self._servers:
            if server.name in listings:
                was_slow = server.digest in saved and not fresh
                wait_s = None if fresh else 0.0 if was_slow else max(deadline - time.monotonic(), 0.0)
                self._take(server, listings[server.name], wait_s, _WAS_SLOW if was_slow else _SLOW)
        return tuple(self._tool(server, offered) for server in self._servers for offered in self._of(server))

    @property
    def sources(self) -> tuple[str, ...]:
        """The files and clients that name servers."""
        return tuple(dict.fromkeys(each.source for each in self._servers))

    def overview(self) -> list[ServerOverview]:
        return [
            ServerOverview(
                each.name,
                " ".join(each.command),
                each.source,
                each.name in self._processes and self._processes[each.name].running,
                each.network,
                self._of(each),
                self._problems.get(each.name, ""),
            )
            for each in self._servers
        ]

    def close(self) -> None:
        """End all servers. Idempotent."""
        for process in self._processes.values():
            process.finish()
        self._thread.close()

    def _of(self, server: McpServer) -> Listing:
        return self._offered.get(server.name, ())

    def _process(self, server: McpServer) -> "McpProcess":
        from laguna_tui.agent.tools.mcp.mcp_process import McpProcess

        if server.name not in self._processes:
            self._processes[server.name] = McpProcess(server, self._thread, self._commands)
        return self._processes[server.name]

    def _take(self, server: McpServer, listing: "Future[Sequence[object]]", wait_s: float | None, late: str) -> None:
        """Take what a server lists.

        Args:
            wait_s: Seconds to wait for it; None for as long as it takes.
            late: The sentence about one that is not ready by then.
        """
        from laguna_tui.agent.tools.mcp.mcp_process import McpError

        try:
            listed = listing.result(wait_s)
        except TimeoutError:
            self._problems[server.name] = _NOT_READY
            self.notes.append(late.format(name=server.name, seconds=OFFER_S))
            self._save(server, None)
            listing.add_done_callback(lambda done: self._save_late(server, done))
            return
        except McpError as error:
            self._problems[server.name] = str(error)
            self.notes.append(f"{str(error)[:1].upper()}{str(error)[1:]}; its tools are left out of this session.")
            return
        offered, problems = usable(server.name, listed)
        self._offered[server.name] = offered
        self._checked.add(server.name)
        self._save(server, offered)
        if problems:
            more = len(problems) - _SHOWN_PROBLEMS
            shown = [*problems[:_SHOWN_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]
            counts = {"used": len(offered), "all": len(listed)}
            self.notes.append(_UNUSABLE.format(name=server.name, problems="; ".join(shown), **counts))

    def _save_late(self, server: McpServer, listing: "Future[Sequence[object]]") -> None:
        """Save what a server lists for the next session. It stays unlisted if it fails, or the session ends first."""
        if listing.exception() is None:
            self._save(server, usable(server.name, listing.result())[0])

    def _tool(self, server: McpServer, offered: OfferedTool) -> Tool[Any]:
        def run(services: ToolServices, run: ToolRun, arguments: dict[str, object]) -> ToolResult:
            return self._call(server, offered, run, arguments)

        return Tool(offered.name, offered.description, dict, run, parameters=dict(offered.parameters))

    def _call(
        self, server: McpServer, offered: OfferedTool, run: ToolRun, arguments: Mapping[str, object]
    ) -> ToolResult:
        from laguna_tui.agent.tools.mcp.mcp_process import McpError

        details = tuple(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
        summary = f"{offered.theirs} of the MCP server {server.name}"
        run.ask(
            PermissionRequest(
                offered.name, CallProposal(summary, details), approval_reason=self._approval_reason(server)
            )
        )
        process = self._process(server)
        try:
            self._refresh_tools(server, process, run)
            answer = process.call(offered.theirs, arguments, run.cancelled)
        except McpError as error:
            raise ToolError(f"{error}; go on without it, or tell the user") from error
        finally:
            run.note_change()
        text = sanitize(answer.text[:MAX_RESULT])
        if not answer.ok:
            raise ToolError(text or f"{offered.name} failed and does not say why")
        return ToolResult(text or "(no output)")

    def _approval_reason(self, server: McpServer) -> str:
        """Return why a call is always asked about: the user's rules for paths cannot be enforced."""
        from laguna_tui.sandbox.probe import SandboxKind

        commands = self._commands()
        policy = commands.policy()
        ruled = policy.unreadable or policy.unwritable
        held = commands.status.kind in (SandboxKind.BUBBLEWRAP, SandboxKind.SANDBOX_EXEC)
        return _NOT_HELD.format(name=server.name) if ruled and not held else ""

    def _refresh_tools(self, server: McpServer, process: "McpProcess", run: ToolRun) -> None:
        """Check once whether a server offers something else than was saved."""
        if server.name in self._checked:
            return
        now, _ = usable(server.name, process.tools(run.cancelled))
        self._checked.add(server.name)
        if now != self._of(server):
            run.emit(Notice(_CHANGED.format(name=server.name)))
            self._save(server, now)

    # -- saved lists

    def _saved(self) -> dict[str, Listing | None]:
        """Return what servers offered, by their digests, None for one that was slow; nothing if it cannot be read."""
        if self._state is not None:
            with suppress(OSError, ValueError, RecursionError):
                return _LISTINGS.decode(read_small_file(self._state / LISTS, _LIMIT_BYTES))
        return {}

    def _save(self, server: McpServer, listing: Listing | None) -> None:
        with self._saving:
            before = self._saved()
            if self._state is None or (server.digest in before and before[server.digest] == listing):
                return
            # If it fails, the servers are listed again.
            with suppress(OSError, UserError):
                self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_atomically(self._state / LISTS, msgspec.json.encode({**before, server.digest: listing}))


def _in_background(call: Callable[[], T]) -> "Future[T]":
    """Call a function on a thread that ends with the program."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="laguna-mcp-list", daemon=True).start()
    return future


def overview_text(servers: Sequence[ServerOverview], notes: Sequence[str]) -> str:
    """Return the servers and what each offers, unsanitised."""
    lines: list[str] = []
    for each in servers:
        state = "running" if each.running else "starts with its first call"
        network = ", with network" if each.network else ""
        lines.append(f"{each.name}: {each.command} ({each.problem or state}{network}; {each.source})")
        lines += [f"  {tool.name}  {tool.description}".rstrip() for tool in each.tools]
    return "\n".join([*(lines or ["No MCP servers are configured. To add one: laguna-tui mcp --help"]), *notes])


def usable(server: str, listed: Sequence[object]) -> tuple[tuple[OfferedTool, ...], tuple[str, ...]]:
    """Return the tools that can be offered, under masked names and in their order, and why the others cannot.

    Args:
        server: Its name.
        listed: What it lists, any JSON. Of two tools with one name the first is offered.
    """
    offered: dict[str, OfferedTool] = {}
    problems: list[str] = []
    names = [name for each in listed if isinstance(each, dict) and isinstance(name := each.get("name"), str) and name]
    counts = Counter(map(_masked, set(names)))
    for place, each in enumerate(listed, 1):
        name = each.get("name") if isinstance(each, dict) else None
        shown = sanitize_line(name)[:MAX_NAME] if isinstance(name, str) else f"number {place}"
        try:
            tool = _offered(server, each, counts)
            if tool.name in offered:
                raise _UnusableError("another tool has this name")
            if len(offered) == MAX_TOOLS:
                raise _UnusableError(f"a server may offer at most {MAX_TOOLS} tools")
            offered[tool.name] = tool
        except _UnusableError as error:
            problems.append(f"{shown} ({error})")
    return tuple(sorted(offered.values(), key=lambda each: each.theirs)), tuple(problems)


class _UnusableError(Exception):
    """A tool cannot be offered; the message is a clause."""


def _offered(server: str, listed: object, counts: Mapping[str, int]) -> OfferedTool:
    """Return a tool as it is offered. counts: how many names of the server become the same one."""
    if not isinstance(listed, dict) or not isinstance(theirs := listed.get("name"), str) or not theirs:
        raise _UnusableError("it has no name")
    masked = _masked(theirs)
    name = f"{PREFIX}{server}__{masked}"
    ambiguous = masked != theirs and counts[masked] > 1
    if ambiguous or not masked.strip("_") or len(name) > MAX_NAME:
        digest = hashlib.sha256(theirs.encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARS]
        name = f"{name[: MAX_NAME - _DIGEST_CHARS - 1]}_{digest}"
    description = listed.get("description")
    text = sanitize_line(description) if isinstance(description, str) else ""
    return OfferedTool(name, theirs, text[:MAX_DESCRIPTION], _schema(listed.get("inputSchema")))


def _masked(name: str) -> str:
    """Return a name of the characters that the endpoints of models accept."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _schema(given: object) -> dict[str, Any]:
    """Return the schema of an object's arguments without what only makes it longer.

    Raises:
        _UnusableError: It is not such a schema, or no model can use it.
    """
    if not isinstance(given, dict) or given.get("type", "object") != "object":
        raise _UnusableError("its schema is not one of an object")
    properties, required = given.get("properties") or {}, given.get("required") or []
    if not isinstance(properties, dict) or not all(map(_is_property, properties.values())):
        raise _UnusableError("a parameter of its schema is not a schema")
    if not isinstance(required, list) or not all(isinstance(each, str) and each in properties for each in required):
        raise _UnusableError("its schema requires parameters that it does not have")
    if len(properties) > MAX_PARAMETERS:
        raise _UnusableError(f"it has more than {MAX_PARAMETERS} parameters")
    if wrong := [name for name in properties if _PARAMETER.fullmatch(name) is None]:
        raise _UnusableError(f"a parameter is called {sanitize_line(wrong[0])[:MAX_NAME]!r}")
    parts = {"properties": properties, **{key: given[key] for key in _SHARED if key in given}, "required": required}
    schema = {"type": "object", **{key: _safe(part) for key, part in parts.items()}}
    if not all(_resolves(reference, schema) for reference in _references(schema)):
        raise _UnusableError("its schema refers to something that is not in it")
    if len(json.dumps(schema, ensure_ascii=False)) > MAX_SCHEMA:
        raise _UnusableError(f"its schema has more than {MAX_SCHEMA:,} characters")
    return schema


def _is_property(schema: object) -> bool:
    """Return whether the schema of a parameter is an object whose type, if it has one, is one of JSON's."""
    if not isinstance(schema, dict):
        return False
    kinds = schema.get("type", [])
    return all(each in _KINDS for each in (kinds if isinstance(kinds, list) else [kinds]))


def _references(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from _references(each)


def _resolves(reference: object, schema: object) -> bool:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return False
    for name in reference.split("/")[1:]:
        schema = schema.get(name) if isinstance(schema, dict) else None
    return schema is not None


def _safe(value: object, depth: int = 0) -> object:
    """Return a value of JSON with its texts sanitised; raises _UnusableError for what not every reader takes."""
    if depth > _MAX_DEPTH:
        raise _UnusableError(f"its schema is nested more than {_MAX_DEPTH} deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise _UnusableError("its schema holds a number that is not finite")
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list):
        return [_safe(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {sanitize(key): _safe(each, depth + 1) for key, each in value.items()}
    return value
