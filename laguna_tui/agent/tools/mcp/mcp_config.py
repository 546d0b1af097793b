"""The MCP servers of a session: the user's `mcp.json`, a client's, and a trusted folder's own `.mcp.json`.

Both files have the form that other programs read: {"mcpServers": {"NAME": {"command": ..., "args": [...], "env":
{...}}}}. What is in them and cannot be used is left out alone, with a sentence.
"""

import codecs
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
MAX_SERVER_NAME = 32
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{MAX_SERVER_NAME - 1}}}")
_DIGEST_CHARS = 6
_MILLISECONDS = range(1000, 3_600_001)
"""What a time-out may be: those of other programs' files are in milliseconds too."""
_VARIABLE = re.compile(r"\$\{[^}]*\}")
# An editor's hint about the file's form.
_HARMLESS = {"$schema"}
_PYTHON = re.compile(r"python[\d.]*")
_NOT_TRUSTED = "{file} has {count} MCP server(s), not started before you trust it; to trust it as it is now: {command}"
_TRUST = "laguna-tui mcp trust"
_TAKEN = "{source}: the server {name!r} is left out, because {first} has one with this name; rename one of them."
_TOO_MANY = "Only {most} MCP servers are used; left out: {names}. Disable some in {file}."
_UNUSED = "{file}: these settings of the server {name!r} have no effect here: {keys}. Remove them."
_UNUSED_KEYS = '{file}: these keys have no effect: {keys}. Servers go into "mcpServers".'
_LITERAL = "{file}: variables of the server {name!r} are not expanded: {variables}. Write their values instead."


class _Server(msgspec.Struct):
    type: str = ""
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    network: bool = False
    disabled: bool = False
    url: str = ""
    timeout: int | None = None
    start_timeout: int | None = msgspec.field(name="startTimeout", default=None)


class _File(msgspec.Struct):
    # Decoded one by one, so that one that is wrong is left out alone.
    servers: dict[str, msgspec.Raw] = msgspec.field(name="mcpServers", default_factory=dict)


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server as a file names it.

    Attributes:
        name: Of letters, digits, `_` and `-`.
        command: Program and arguments.
        variables: Environment variables beside those of every command; never shown.
        network: Whether it may open connections.
        source: The file, or who else named it.
        call_s, start_s: Seconds that a call and a start may take; None for the defaults.
    """

    name: str
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    network: bool = False
    source: str = ""
    call_s: float | None = None
    start_s: float | None = None

    @property
    def digest(self) -> str:
        """Changes if another program would be started, or the same one differently."""
        parts = [self.name, *self.command, *sorted(f"{key}={value}" for key, value in self.variables.items())]
        return hashlib.sha256("\0".join([*parts, str(self.network)]).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class ConfiguredServers:
    """The servers that may be started, and sentences about those that may not."""

    servers: tuple[McpServer, ...] = ()
    notes: tuple[str, ...] = ()


def load_servers(
    folder: Path, trust: Trust, own: Path | None = None, clients: Sequence[McpServer] = ()
) -> ConfiguredServers:
    """Return the servers of the user, of a client and of a folder. Of two with one name, the first is used.

    Args:
        folder: The workspace.
        trust: Which folders are trusted, and with which bytes.
        own: The user's file; None for the one beside `config.toml`.
        clients: Servers of the program that the session is for.

    Raises:
        UserError: The user's own file is wrong.
    """
    file = own or config_path().parent / USER_FILE
    mine = _parsed(_read(file), file)
    root = project_root(folder)
    theirs = root / FOLDER_FILE
    try:
        data = _read(theirs)
        found = _parsed(data, theirs)
    except UserError as error:
        data, found = None, ConfiguredServers(notes=(str(error),))
    trusted = trust.of(root)
    accepted = data is None or (trusted is not None and trusted.accepts(trusted.folder / FOLDER_FILE, data))
    if found.servers and not accepted:
        found = ConfiguredServers(notes=(_NOT_TRUSTED.format(file=theirs, count=len(found.servers), command=_TRUST),))
    servers: dict[str, McpServer] = {}
    taken = list[str]()
    for server in (*map(_installed, mine.servers), *map(_installed, clients), *found.servers):
        first = servers.setdefault(server.name, server)
        if first is not server:
            taken.append(_TAKEN.format(source=server.source, name=server.name, first=first.source))
    ordered = sorted(servers.values(), key=lambda each: (each.source != str(file), each.name))
    notes = [*mine.notes, *found.notes, *taken]
    if beyond := ordered[MAX_SERVERS:]:
        notes.append(_TOO_MANY.format(most=MAX_SERVERS, names=_listed(each.name for each in beyond), file=file))
    return ConfiguredServers(tuple(ordered[:MAX_SERVERS]), tuple(notes))


def client_server(
    client: str, name: str, command: Sequence[str], variables: Mapping[str, str], used: Iterable[str]
) -> McpServer:
    """Return the server that a client names, whose name may be any text.

    Args:
        client: Who names it.
        used: Names of its other servers.

    Raises:
        ValueError: It cannot be started; a clause.
    """
    masked = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") if _NAME.fullmatch(name) is None else name
    masked = re.sub("__+", "_", masked)
    if not masked or len(masked) > MAX_SERVER_NAME or masked in used:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARS]
        masked = f"{masked[: MAX_SERVER_NAME - _DIGEST_CHARS - 1]}-{digest}".lstrip("-")
    _check_words(command, variables)
    return McpServer(masked, tuple(command), dict(variables), source=client)


def _installed(server: McpServer) -> McpServer:
    """Return the user's server, whose `python -m` finds only installed modules and none of the workspace, where it
    starts.
    """
    program, *arguments = server.command
    if "-m" not in arguments or _PYTHON.fullmatch(Path(program).name) is None:
        return server
    return replace(server, variables={"PYTHONSAFEPATH": "1", **server.variables})


def trust_servers(folder: Path, trust: Trust) -> tuple[Path, ConfiguredServers]:
    """Trust a folder's file as it is now, and return it and its servers.

    Raises:
        UserError: There is no such file, it is invalid, or the trust cannot be saved.
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
    """Return the bytes of a file; None if there is none."""
    try:
        return read_small_file(file, _LIMIT_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise UserError(f"{file}: cannot be read ({reason}); correct it or move it away") from error


def _parsed(data: bytes | None, file: Path) -> ConfiguredServers:
    if data is None:
        return ConfiguredServers()
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        parsed = msgspec.json.decode(data, type=_File)
        keys = _unused(data, {"mcpServers"})
    except (msgspec.DecodeError, RecursionError) as error:
        raise UserError(f"{file}: {error}; correct it or move it away") from error
    servers, notes = list[McpServer](), list[str]()
    if keys:
        notes.append(_UNUSED_KEYS.format(file=file, keys=_listed(keys)))
    for name, raw in parsed.servers.items():
        shown = sanitize_line(name)
        try:
            server = msgspec.json.decode(raw, type=_Server)
            found = tuple(_server(name, server, file))
        except (ValueError, RecursionError) as error:
            notes.append(f"{file}: the server {shown!r} is left out: {error}.")
            continue
        servers += found
        keys = _unused(raw, set(_Server.__struct_encode_fields__) - {"url"}) if found else ()
        if keys:
            notes.append(_UNUSED.format(file=file, name=shown, keys=_listed(keys)))
        words = [word for each in found for word in (*each.command, *each.variables.values())]
        if variables := dict.fromkeys(variable for word in words for variable in _VARIABLE.findall(word)):
            notes.append(_LITERAL.format(file=file, name=shown, variables=_listed(variables)))
    return ConfiguredServers(tuple(servers), tuple(notes))


def _unused(data: bytes | msgspec.Raw, known: set[str]) -> tuple[str, ...]:
    """Return the keys of an object of JSON that are not known, in quotes."""
    keys = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    return tuple(f'"{sanitize_line(key)}"' for key in keys if key not in known | _HARMLESS)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(sanitize_line, names))


def _server(name: str, server: _Server, file: Path) -> Iterator[McpServer]:
    """Yield the server, if it is enabled; raise ValueError with a clause if it cannot be used."""
    if server.disabled:
        return
    if _NAME.fullmatch(name) is None or "__" in name:
        raise ValueError(f"it needs a name of at most {MAX_SERVER_NAME} letters, digits, - and single _")
    if not server.command:
        what = "it is at a URL, which is not supported" if server.url else "it has no command"
        raise ValueError(f'{what}; give its command, or set "disabled": true')
    command = (server.command, *server.args)
    _check_words(command, server.env)
    limits = [_seconds("timeout", server.timeout), _seconds("startTimeout", server.start_timeout)]
    yield McpServer(name, command, dict(server.env), server.network, str(file), *limits)


def _seconds(key: str, milliseconds: int | None) -> float | None:
    if milliseconds is None:
        return None
    if milliseconds not in _MILLISECONDS:
        raise ValueError(f'its "{key}" is in milliseconds, from {_MILLISECONDS[0]:,} to {_MILLISECONDS[-1]:,}')
    return milliseconds / 1000


def _check_words(command: Sequence[str], variables: Mapping[str, str]) -> None:
    """Raise ValueError, with a clause, for what no process can be started with."""
    if any("\0" in word for word in (*command, *variables, *variables.values())):
        raise ValueError("it holds a NUL character; remove it")
