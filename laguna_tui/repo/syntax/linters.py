"""The linters and type checkers that a project has configured: their commands, and their findings by line.

One is found by its configuration in the folder of a file or one above it; nothing is run here. Configuration and
output come from a repository and are hostile: of the one only the presence of a section counts, and of the other only
lines that name a file inside the folder.
"""

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

# Configuration files are small.
_CONFIG_BYTES = 256 * 1024
_MAX_FOUND = 2_000
_MESSAGE_CHARS = 300
_MAX_DEPTH = 40


class Diagnostic(NamedTuple):
    """A finding about a line: `path` relative to the workspace, `line` from 1, `code` the linter's own."""

    path: str
    line: int
    message: str
    code: str


@dataclass(frozen=True, slots=True)
class Linter:
    """A linter or type checker that a project has configured.

    Attributes:
        name: the program's, as its users know it.
        folder: of the configuration, relative to the workspace; the command runs there.
        command: a line for a shell.
    """

    name: str
    folder: str
    command: str
    _line: "re.Pattern[str]" = field(repr=False, compare=False)

    def findings(self, output: str) -> list[Diagnostic]:
        """Return what the command's output says about files in the folder."""
        found: list[Diagnostic] = []
        for line in output.splitlines():
            match = self._line.match(line)
            path = _inside(self.folder, match["path"]) if match else None
            if match and path is not None:
                code = match.groupdict().get("code") or ""
                found.append(Diagnostic(path, int(match["line"]), match["message"].strip()[:_MESSAGE_CHARS], code))
                if len(found) >= _MAX_FOUND:
                    break
        return found


_PLACE = r"(?:\./)?(?P<path>[^\s:][^:]{0,400}):(?P<line>\d{1,7}):(?:\d{1,7}:)?\s*"
_RUFF = re.compile(_PLACE + r"(?P<code>[A-Z]{1,6}\d{1,5}|invalid-syntax):?\s*(?:\[\*\]\s*)?(?P<message>.+)")
_MYPY = re.compile(_PLACE + r"error:\s*(?P<message>.+?)(?:\s+\[(?P<code>[\w-]{1,60})\])?$")
_TSC = re.compile(
    r"(?P<path>[^\s(][^(]{0,400})\((?P<line>\d{1,7}),\d{1,7}\):\s*error\s+(?P<code>TS\d{1,6}):\s*(?P<message>.+)"
)
_CARGO = re.compile(_PLACE + r"(?:error|warning)(?:\[(?P<code>\w{1,20})\])?:\s*(?P<message>.+)")
_GO = re.compile(r"(?:vet:\s*)?" + _PLACE + r"(?P<message>.+)")

_PYTHON = (".py", ".pyi")
_SCRIPTS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_VENVS = (".venv/bin", "venv/bin", "node_modules/.bin")


class _Linter(NamedTuple):
    """A kind of check: the suffixes it looks at, and what finds it in a folder; its arguments, or None."""

    name: str
    suffixes: tuple[str, ...]
    line: "re.Pattern[str]"
    arguments: "Callable[[_Folder], str | None]"


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder of the workspace as configuration is looked for in it."""

    workspace: Workspace
    inside: str

    def read(self, name: str) -> str | None:
        try:
            data = self.workspace.read(posixpath.join(self.inside, name), _CONFIG_BYTES)
        except WorkspaceError:
            return None
        return data.decode("utf-8-sig", "replace")

    def toml(self, name: str) -> dict[str, Any]:
        """Return the contents of a TOML file in the folder; empty where it cannot be read."""
        with suppress(ValueError, RecursionError):
            return tomllib.loads(self.read(name) or "")
        return {}

    def section(self, name: str, section: str) -> dict[str, str] | None:
        """Return a section of an INI file in the folder, or None."""
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(self.read(name) or "")
        except (ConfigError, ValueError):
            return None
        return dict(parser[section]) if parser.has_section(section) else None

    def program(self, name: str) -> str:
        """Return the project's own program, even if it is installed in a folder above; else the user's."""
        for depth in range(self.inside.count("/") + 2 if self.inside else 1):
            for folder in _VENVS:
                up = posixpath.join("../" * depth, folder, name)
                with suppress(WorkspaceError):
                    self.workspace.read_beginning(self.workspace.locate(posixpath.join(self.inside, up)), 1)
                    return up
        return name


def configured_linters(workspace: Workspace, inside: str) -> list[Linter]:
    """Return the checks for a file, each as the nearest folder around it configures it."""
    found = []
    for kind in _KINDS:
        if inside.endswith(kind.suffixes):
            found += list(_nearest(workspace, inside, kind))
    return found


def _nearest(workspace: Workspace, inside: str, kind: _Linter) -> Iterator[Linter]:
    above = posixpath.dirname(inside)
    for _ in range(_MAX_DEPTH):
        folder = _Folder(workspace, above)
        arguments = kind.arguments(folder)
        if arguments is not None:
            program, _, rest = arguments.partition(" ")
            yield Linter(kind.name, above, f"{folder.program(program)} {rest}", kind.line)
            return
        if not above:
            return
        above = posixpath.dirname(above)


def _ruff(folder: _Folder) -> str | None:
    own = any(folder.read(name) is not None for name in ("ruff.toml", ".ruff.toml"))
    if not own and "ruff" not in _tools(folder):
        return None
    return "ruff check --quiet --no-fix --no-cache --output-format=concise ."


def _mypy(folder: _Folder) -> str | None:
    tools = _tools(folder)
    settings: dict[str, Any] | None = tools["mypy"] if isinstance(tools.get("mypy"), dict) else None
    for name in ("mypy.ini", ".mypy.ini", "setup.cfg"):
        settings = folder.section(name, "mypy") if settings is None else settings
    if settings is None:
        return None
    named = any(settings.get(key) for key in ("files", "packages", "modules"))
    return "mypy --no-color-output --no-error-summary --hide-error-context --no-pretty" + ("" if named else " .")


def _tools(folder: _Folder) -> dict[str, Any]:
    tools = folder.toml("pyproject.toml").get("tool", {})
    return tools if isinstance(tools, dict) else {}


def _with(name: str, arguments: str, folder: _Folder) -> str | None:
    return arguments if folder.read(name) is not None else None


_KINDS = (
    _Linter("ruff", _PYTHON, _RUFF, _ruff),
    _Linter("mypy", _PYTHON, _MYPY, _mypy),
    _Linter("tsc", _SCRIPTS, _TSC, partial(_with, "tsconfig.json", "tsc --noEmit --pretty false")),
    _Linter(
        "cargo check",
        (".rs",),
        _CARGO,
        partial(_with, "Cargo.toml", "cargo check --offline --quiet --all-targets --message-format=short"),
    ),
    _Linter("go vet", (".go",), _GO, partial(_with, "go.mod", "go vet ./...")),
)


def _inside(folder: str, path: str) -> str | None:
    """Return a path from a linter's output, relative to the workspace; None where it leads out of it."""
    whole = posixpath.normpath(posixpath.join(folder, path))
    return None if whole.startswith(("/", "../")) or whole == ".." else whole
