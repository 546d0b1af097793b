"""The tools of all MCP servers of a session, as the model is told of them: behind our own, under masked names.

What a server offers is kept from the last time, so that it need not run before one of its tools is called, and the
prompt of a session stays as it began whatever the server says later.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.agent.tools.base.results import Answer
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.agent.tools.mcp.mcp_config import McpServer, load_servers
from laguna_tui.base.async_thread import AsyncThread
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import Notice
from laguna_tui.base.permission_request import CallProposal, PermissionRequest
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.context.trust import Trust
from laguna_tui.sandbox.probe import SandboxStatus, probe_sandbox

if TYPE_CHECKING:
    from laguna_tui.agent.tools.mcp.mcp_process import ListedTool, McpProcess

PREFIX = "mcp__"
LISTS = "mcp-tools.json"
"""The file in the state folder with what servers offered last."""
MAX_NAME, MAX_DESCRIPTION, MAX_SCHEMA, MAX_RESULT = 64, 1000, 4096, 1 << 20
"""Characters: of a tool's name, its text, its schema as JSON, and of what it answers."""
_LIMIT_BYTES = 4 << 20
_NO_PACKAGE = "{file} names MCP servers, for which a package is missing; install it: pip install 'laguna-tui[mcp]'"
_CHANGED = (
    "The MCP server {name} offers other tools than before. This session keeps those it began with; the next one has"
    " the new ones."
)
_UNUSABLE = "The MCP server {name} offers {count} tool(s) that are left out, because a name or a schema is unusable."


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the model is told of it. name: masked; theirs: as the server calls it."""

    name: str
    theirs: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServerOverview:
    """A server, for the user: raw texts.

    Attributes:
        command: what is started.
        running: whether it runs now.
        tools: what it offers in this session.
        problem: why it offers nothing, a sentence; empty where it does.
    """

    name: str
    command: str
    source: str
    running: bool
    network: bool
    tools: tuple[OfferedTool, ...]
    problem: str = ""


class McpTools:
    """The servers of one session. Any thread, but for `offer`.

    Attributes:
        notes: sentences for the user: what is not started, and what changed.
    """

    def __init__(
        self,
        folder: Path,
        state: Path | None,
        *,
        own: Path | None = None,
        status: Callable[[], SandboxStatus] = probe_sandbox,
    ) -> None:
        """Start nothing yet.

        Args:
            folder: that is asked about.
            state: the user's state folder; None trusts no folder and keeps nothing.
            own: the user's file of servers; None for the usual one.
            status: the sandbox that works here.

        Raises:
            UserError: the user's file is wrong.
        """
        found = load_servers(folder, Trust(state), own)
        self.notes = list(found.notes)
        self._servers, self._folder, self._state, self._status = found.servers, folder, state, status
        self._thread = AsyncThread("laguna-mcp")
        self._processes: dict[str, McpProcess] = {}
        self._offered: dict[str, tuple[OfferedTool, ...]] = {}
        self._problems: dict[str, str] = {}
        self._checked: set[str] = set()

    def offer(self, *, fresh: bool = False) -> tuple[Tool[Any], ...]:
        """The tools, in the same order for the same servers; those never listed before are started and asked.

        fresh: ask all of them.
        """
        if self._servers and find_spec("mcp") is None:
            self.notes.append(_NO_PACKAGE.format(file=self._servers[0].source))
            return ()
        kept = self._kept()
        for server in self._servers:
            known = kept.get(server.digest)
            if known is not None and not fresh:
                self._offered[server.name] = known
                continue
            self._list(server)
        if self._servers:
            self._keep(kept)
        return tuple(self._tool(server, offered) for server in self._servers for offered in self._of(server))

    def overview(self) -> list[ServerOverview]:
        """All servers."""
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
            process.close()
        self._thread.close()

    def _of(self, server: McpServer) -> tuple[OfferedTool, ...]:
        return self._offered.get(server.name, ())

    def _process(self, server: McpServer) -> "McpProcess":
        from laguna_tui.agent.tools.mcp.mcp_process import McpProcess

        if server.name not in self._processes:
            self._processes[server.name] = McpProcess(server, self._folder, self._thread, self._status)
        return self._processes[server.name]

    def _list(self, server: McpServer) -> None:
        """Start a server and take what it offers."""
        from laguna_tui.agent.tools.mcp.mcp_process import McpError

        try:
            listed = self._process(server).tools()
        except McpError as error:
            self._problems[server.name] = str(error)
            self.notes.append(f"{str(error)[:1].upper()}{str(error)[1:]}; its tools are left out of this session.")
            return
        offered = tuple(usable(server.name, listed))
        self._offered[server.name] = offered
        self._checked.add(server.name)
        if left := len(listed) - len(offered):
            self.notes.append(_UNUSABLE.format(name=server.name, count=left))

    def _tool(self, server: McpServer, offered: OfferedTool) -> Tool[Any]:
        def run(run: ToolRun, arguments: dict[str, object]) -> Answer:
            return self._call(server, offered, run, arguments)

        def bind(services: ToolServices) -> Callable[[ToolRun, Any], Answer]:
            return run

        return Tool(
            offered.name, offered.description, dict, read_only=False, bind=bind, parameters=dict(offered.parameters)
        )

    def _call(self, server: McpServer, offered: OfferedTool, run: ToolRun, arguments: Mapping[str, object]) -> Answer:
        from laguna_tui.agent.tools.mcp.mcp_process import McpError

        details = tuple(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
        summary = f"{offered.theirs} of the MCP server {server.name}"
        run.ask(PermissionRequest(offered.name, CallProposal(summary, details)))
        process = self._process(server)
        try:
            self._look_again(server, process, run)
            answer = process.call(offered.theirs, arguments, run.cancelled)
        except McpError as error:
            raise ToolError(f"{error}; go on without it, or tell the user") from error
        run.note_change()
        text = sanitize(answer.text[:MAX_RESULT])
        if not answer.ok:
            raise ToolError(text or f"{offered.name} failed and does not say why")
        return Answer(text or "(no output)")

    def _look_again(self, server: McpServer, process: "McpProcess", run: ToolRun) -> None:
        """Notice once that a server offers something else than was kept of it."""
        if server.name in self._checked:
            return
        now = tuple(usable(server.name, process.tools(run.cancelled)))
        self._checked.add(server.name)
        if now != self._of(server):
            run.emit(Notice(_CHANGED.format(name=server.name)))
            kept = self._kept()
            self._write({**kept, server.digest: now})

    # -- what was offered last

    def _kept(self) -> dict[str, tuple[OfferedTool, ...]]:
        """What servers offered, by their digests; nothing where that cannot be read."""
        if self._state is None:
            return {}
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            table = json.loads(read_small_file(self._state / LISTS, _LIMIT_BYTES))
            return {digest: tuple(OfferedTool(**each) for each in tools) for digest, tools in table.items()}
        return {}

    def _keep(self, before: Mapping[str, tuple[OfferedTool, ...]]) -> None:
        listed = {each.digest: self._offered[each.name] for each in self._servers if each.name in self._offered}
        if any(before.get(digest) != tools for digest, tools in listed.items()):
            self._write({**before, **listed})

    def _write(self, table: Mapping[str, Sequence[OfferedTool]]) -> None:
        if self._state is None:
            return
        text = json.dumps({digest: list(map(asdict, tools)) for digest, tools in table.items()})
        # Without it, the servers are asked again.
        with suppress(OSError, UserError):
            self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(self._state / LISTS, text.encode())


def overview_text(servers: Sequence[ServerOverview], notes: Sequence[str]) -> str:
    """Servers and what each offers, raw."""
    lines: list[str] = []
    for each in servers:
        state = "runs" if each.running else "starts with its first call"
        network = ", with network" if each.network else ""
        lines.append(f"{each.name}: {each.command} ({each.problem or state}{network}; {each.source})")
        lines += [f"  {tool.name}  {tool.description}".rstrip() for tool in each.tools]
    return "\n".join([*(lines or ["No MCP server is named. Name one: laguna-tui mcp --help"]), *notes])


def usable(server: str, listed: "Sequence[ListedTool]") -> Iterator[OfferedTool]:
    """The tools that can be offered, under masked names, in the order of these; of two with one name the first."""
    seen: set[str] = set()
    for tool in sorted(listed, key=lambda each: each.name):
        masked = re.sub(r"[^A-Za-z0-9_-]", "_", tool.name)
        name = f"{PREFIX}{server}__{masked}"
        schema = _schema(tool.parameters)
        if not masked.strip("_") or len(name) > MAX_NAME or name in seen or schema is None:
            continue
        seen.add(name)
        text = sanitize_line(tool.description)
        yield OfferedTool(name, tool.name, text[:MAX_DESCRIPTION], schema)


def _schema(given: object) -> dict[str, Any] | None:
    """The schema of an object's arguments, without what only makes it long; None where it is none, or too long."""
    if not isinstance(given, Mapping) or given.get("type", "object") != "object":
        return None
    properties = given.get("properties", {})
    required = given.get("required", [])
    if not isinstance(properties, Mapping) or not all(isinstance(each, Mapping) for each in properties.values()):
        return None
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        return None
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties), "required": required}
    try:
        text = json.dumps(schema)
    except (TypeError, ValueError, RecursionError):
        return None
    return json.loads(sanitize(text)) if len(text) <= MAX_SCHEMA else None
