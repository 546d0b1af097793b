"""Which MCP servers there are: the user's `mcp.json`, and a folder's own `.mcp.json` where the user trusts its bytes.

Both have the form that other programs read: {"mcpServers": {"NAME": {"command": ..., "args": [...], "env": {...}}}}.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from laguna_engine.files import read_small_file
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import config_path
from laguna_tui.base.text import sanitize_line
from laguna_tui.context.trust import Trust, project_root

USER_FILE, FOLDER_FILE = "mcp.json", ".mcp.json"
MAX_SERVERS = 16
_LIMIT_BYTES = 1 << 18
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_PYTHON = re.compile(r"python[\d.]*")
_NOT_TRUSTED = "{file} names {count} MCP server(s), which are not started: to trust it as it is now, run: {command}"
_TRUST = "laguna-tui mcp trust"


class _Server(msgspec.Struct):
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    network: bool = False
    disabled: bool = False
    url: str = ""


class _File(msgspec.Struct):
    # Decoded one by one, so that a wrong one is left out alone.
    servers: dict[str, msgspec.Raw] = msgspec.field(name="mcpServers", default_factory=dict)


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server as a file names it.

    Attributes:
        name: of letters, digits, `_` and `-`.
        command: program and arguments.
        variables: what it has in its environment beside what every command has; never shown.
        network: whether it may open connections.
        source: the file.
    """

    name: str
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    network: bool = False
    source: str = ""

    @property
    def digest(self) -> str:
        """What changes when another program would be started, or the same one otherwise."""
        parts = [self.name, *self.command, *sorted(f"{key}={value}" for key, value in self.variables.items())]
        return hashlib.sha256("\0".join([*parts, str(self.network)]).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class McpServers:
    """The servers that may be started, and sentences about those that may not."""

    servers: tuple[McpServer, ...] = ()
    notes: tuple[str, ...] = ()


def load_servers(folder: Path, trust: Trust, own: Path | None = None) -> McpServers:
    """The servers of the user and of a folder. Nothing is started.

    Args:
        folder: that is asked about.
        trust: which folders are trusted, and with which bytes.
        own: the user's file; None for the one beside `config.toml`.

    Raises:
        UserError: the user's own file is wrong.
    """
    file = own or config_path().parent / USER_FILE
    mine = _parsed(_read(file), file)
    servers, notes = {each.name: _installed(each) for each in mine.servers}, list(mine.notes)
    root = project_root(folder)
    theirs = root / FOLDER_FILE
    try:
        data = _read(theirs)
        found = _parsed(data, theirs)
    except UserError as error:
        data, found = None, McpServers(notes=(str(error),))
    trusted = trust.of(root)
    accepted = data is None or (trusted is not None and trusted.accepts(trusted.folder / FOLDER_FILE, data))
    if found.servers and not accepted:
        found = McpServers(notes=(_NOT_TRUSTED.format(file=theirs, count=len(found.servers), command=_TRUST),))
    notes += found.notes
    # The user's own come first, and keep their names.
    servers = {**{each.name: each for each in found.servers}, **servers}
    ordered = sorted(servers.values(), key=lambda each: (each.source != str(file), each.name))
    if len(ordered) > MAX_SERVERS:
        notes.append(f"Only {MAX_SERVERS} MCP servers are used; the others are left out. Disable some in {file}.")
    return McpServers(tuple(ordered[:MAX_SERVERS]), tuple(notes))


def _installed(server: McpServer) -> McpServer:
    """The user's server, whose `python -m` finds installed modules alone and none of the workspace, where it starts."""
    program, *arguments = server.command
    if "-m" not in arguments or _PYTHON.fullmatch(Path(program).name) is None:
        return server
    return replace(server, variables={"PYTHONSAFEPATH": "1", **server.variables})


def trust_servers(folder: Path, trust: Trust) -> tuple[Path, McpServers]:
    """Trust a folder's file as it is now, and return it and its servers.

    Raises:
        UserError: there is no such file, it is wrong, or the trust cannot be kept.
    """
    root = project_root(folder)
    file = root / FOLDER_FILE
    data = _read(file)
    if data is None:
        raise UserError(f"{file}: there is no such file, so there is nothing to trust")
    servers = _parsed(data, file)
    trust.grant(root, {FOLDER_FILE: data})
    return file, servers


def _read(file: Path) -> bytes | None:
    """The bytes of a file; None where there is none."""
    try:
        return read_small_file(file, _LIMIT_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise UserError(f"{file}: cannot be read ({reason}); correct it or move it away") from error


def _parsed(data: bytes | None, file: Path) -> McpServers:
    if data is None:
        return McpServers()
    try:
        parsed = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UserError(f"{file}: {error}; correct it or move it away") from error
    servers, notes = list[McpServer](), list[str]()
    for name, raw in parsed.servers.items():
        try:
            servers += _server(name, msgspec.json.decode(raw, type=_Server), file)
        except (ValueError, RecursionError) as error:
            notes.append(f"{file}: the server {sanitize_line(name)!r} is left out: {error}.")
    return McpServers(tuple(servers), tuple(notes))


def _server(name: str, server: _Server, file: Path) -> Iterator[McpServer]:
    """Yield the server, if it is enabled; raises ValueError with a clause if it cannot be used."""
    if server.disabled:
        return
    if _NAME.fullmatch(name) is None or "__" in name:
        raise ValueError("it needs a name of at most 32 letters, digits, - and single _")
    if not server.command:
        what = "it is at a URL, which is not supported" if server.url else "it has no command"
        raise ValueError(f'{what}; give its command, or set "disabled": true')
    words = [server.command, *server.args, *server.env, *server.env.values()]
    if any("\0" in word for word in words):
        raise ValueError("it holds a NUL character; remove it")
    yield McpServer(name, (server.command, *server.args), dict(server.env), server.network, str(file))
