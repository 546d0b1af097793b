"""The project's own check: how it is found, and when the model is reminded of it.

A repository's files are hostile. They decide only which of the commands below is proposed; no text of theirs gets into
a command or into a sentence. What the user chose for the folder (`/check`, `permissions.toml`) comes first.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from laguna_engine.chat.messages import ToolCall
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.tools.base.model_profile import SHELL
from laguna_tui.agent.tools.base.results import CommandEnd, ToolResult
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

# Files with a project's settings have a few kilobytes.
_LIMIT_BYTES = 1 << 20
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGETS = ("test", "check")
# A rule's targets stand before a colon that does not begin an assignment. All patterns take linear time.
_RULE = re.compile(r"^([^\s:#=][^:#=\n]*):(?!:{0,2}=)", re.MULTILINE)
_PYTEST_SECTION = re.compile(r"^\[(?:tool:)?pytest\][ \t]*$", re.MULTILINE)
_CTEST = re.compile(
    r"^[ \t]*(?:enable_testing[ \t]*\(|include[ \t]*\([ \t]*CTest[ \t]*\))", re.MULTILINE | re.IGNORECASE
)
# Runners of programs in a Python project's environment, by lock file.
_PYTHON_RUNNERS = {
    "uv.lock": "uv run",
    "poetry.lock": "poetry run",
    "pdm.lock": "pdm run",
    "Pipfile.lock": "pipenv run",
}
# JavaScript package managers, by lock file and by the name in `packageManager`.
_NODE_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
_NODE_COMMANDS = {"npm": "npm test", "pnpm": "pnpm test", "yarn": "yarn test", "bun": "bun run test"}
# What may follow the check in a command: its exit code is still known, from the status of its pipe.
_INTO_PIPE = r"(?: *2>(?:&1|/dev/null))? *(?P<pipe>(?:\|&?[^|&;<>()`$\n]+)*)"
# The argument of the tool `SHELL` with the command.
_COMMAND = "cmd"
# What `npm init` writes where there are no tests.
_NO_TEST = "no test specified"

NO_CHECK = "none"
"""What the user types for a project without a check."""
_CHOSEN = "{command} now checks this project. The model is reminded to run it after its changes."
_SHOWN = "{command} checks this project, because {why}. To change it: /check COMMAND"
_NONE = "No command checks this project, so the model is not reminded to run one. To set one: /check COMMAND"
_UNKNOWN = "No command that checks this project was found. To set one: /check COMMAND, such as /check make test"


@dataclass(frozen=True, slots=True)
class ProjectCheck:
    """A command that checks the project.

    Attributes:
        command: For a shell in the project's folder; one of a fixed set, or the user's own. Empty for none.
        reason: What it was found by, to follow "because".
    """

    command: str
    reason: str


def find_check(workspace: Workspace, chosen: str | None = None) -> ProjectCheck | None:
    """Return the check of the project in a workspace; None if none is found. Starts nothing, reads only small files.

    chosen: the user's own for this folder, empty for none; None finds it.
    """
    if chosen is not None:
        return ProjectCheck(chosen, "it was chosen for this folder")
    files = _ProjectFiles(workspace)
    return next((check for find in _FINDERS if (check := find(files)) is not None), None)


def choose_check(permissions: Permissions, workspace: Workspace, typed: str) -> str:
    """Make what the user typed the project's check; return a sentence about it.

    Args:
        permissions: Keeps the choice for the folder.
        typed: A command, `none` for no check; empty shows which it is.

    Raises:
        UserError: It is not a command on one line; or it cannot be saved, and applies to this session only.
    """
    if typed:
        permissions.choose_check("" if typed == NO_CHECK else typed)
    check = find_check(workspace, permissions.check)
    if check is None:
        return _UNKNOWN
    if not check.command:
        return _NONE
    return _CHOSEN.format(command=check.command) if typed else _SHOWN.format(command=check.command, why=check.reason)


class _ProjectFiles:
    """Files at a workspace's top; unreadable, too large or malformed ones count as missing."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def has(self, path: str) -> bool:
        try:
            return not self._workspace.is_folder(path)
        except (WorkspaceError, OSError):
            return False

    def first(self, *paths: str) -> str:
        """Return the first of these files that exists; "" for none."""
        return next(filter(self.has, paths), "")

    def text(self, path: str) -> str:
        """Return the text of a file; "" if it cannot be read."""
        try:
            data = self._workspace.read(self._workspace.locate(path), _LIMIT_BYTES)
        except (WorkspaceError, OSError):
            return ""
        return data.decode("utf-8-sig", "replace")

    def json(self, path: str) -> Mapping[str, object]:
        """Return the object in a JSON file."""
        try:
            return _table(json.loads(self.text(path)))
        except (ValueError, RecursionError):
            return {}

    def toml(self, path: str) -> Mapping[str, object]:
        # Most folders have no such file.
        import tomllib

        try:
            return tomllib.loads(self.text(path))
        except (ValueError, RecursionError):
            return {}


def _make(files: _ProjectFiles) -> ProjectCheck | None:
    name = files.first(*_MAKEFILES)
    targets = {target for rule in _RULE.finditer(files.text(name)) for target in rule[1].split()} if name else set()
    target = next((target for target in _TARGETS if target in targets), "")
    return ProjectCheck(f"make {target}", f"the {name} has a target {target}") if target else None


def _python(files: _ProjectFiles) -> ProjectCheck | None:
    settings = files.toml("pyproject.toml") if files.has("pyproject.toml") else {}
    tools = _table(settings.get("tool"))
    # First, because the others create environments, which needs a network.
    if reason := _pytest(files, settings, tools):
        command = "python3 -m pytest"
        if files.has(".venv/bin/python"):
            command = ".venv/bin/python -m pytest"
        elif lock := files.first(*_PYTHON_RUNNERS):
            command = f"{_PYTHON_RUNNERS[lock]} pytest"
        return ProjectCheck(command, reason)
    if "tox" in tools or files.has("tox.ini"):
        return ProjectCheck("tox", "tox is configured")
    if files.has("noxfile.py"):
        return ProjectCheck("nox", "there is a noxfile.py")
    if "hatch" in tools and "envs" in _table(tools["hatch"]):
        return ProjectCheck("hatch test", "pyproject.toml has environments for hatch")
    return None


def _pytest(files: _ProjectFiles, settings: Mapping[str, object], tools: Mapping[str, object]) -> str:
    """Return what shows that the project's tests are pytest's; "" for nothing."""
    if "pytest" in tools:
        return "pyproject.toml configures pytest"
    if name := files.first("pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"):
        return f"there is a {name}"
    for name in ("tox.ini", "setup.cfg"):
        if files.has(name) and _PYTEST_SECTION.search(files.text(name)):
            return f"{name} configures pytest"
    if any(re.match(r"pytest\b(?!-)", each) for each in _requirements(settings, tools)):
        return "pyproject.toml requires pytest"
    return ""


def _requirements(settings: Mapping[str, object], tools: Mapping[str, object]) -> Iterator[str]:
    """Yield what a pyproject.toml requires for development, by any tool's convention."""
    poetry = _table(tools.get("poetry"))
    groups = _table(poetry.get("group")).values()
    for names in (poetry.get("dev-dependencies"), *(_table(group).get("dependencies") for group in groups)):
        yield from _table(names)
    lists = [
        *_table(_table(settings.get("project")).get("optional-dependencies")).values(),
        *_table(settings.get("dependency-groups")).values(),
        _table(tools.get("uv")).get("dev-dependencies"),
        *_table(_table(tools.get("pdm")).get("dev-dependencies")).values(),
    ]
    for each in lists:
        if isinstance(each, list):
            yield from (name for name in each if isinstance(name, str))


def _node(files: _ProjectFiles) -> ProjectCheck | None:
    package = files.json("package.json") if files.has("package.json") else {}
    script = _table(package.get("scripts")).get("test")
    if not isinstance(script, str) or not script.strip() or _NO_TEST in script:
        return None
    named = str(package.get("packageManager", "")).partition("@")[0]
    lock = files.first(*_NODE_LOCKS)
    manager = named if named in _NODE_COMMANDS else _NODE_LOCKS.get(lock, "npm")
    return ProjectCheck(_NODE_COMMANDS[manager], "package.json has a script named test")


def _cargo(files: _ProjectFiles) -> ProjectCheck | None:
    return ProjectCheck("cargo test", "there is a Cargo.toml") if files.has("Cargo.toml") else None


def _go(files: _ProjectFiles) -> ProjectCheck | None:
    return ProjectCheck("go test ./...", "there is a go.mod") if files.has("go.mod") else None


def _gradle(files: _ProjectFiles) -> ProjectCheck | None:
    name = files.first("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    command = "./gradlew test" if files.has("gradlew") else "gradle test"
    return ProjectCheck(command, f"there is a {name}") if name else None


def _maven(files: _ProjectFiles) -> ProjectCheck | None:
    command = "./mvnw test" if files.has("mvnw") else "mvn test"
    return ProjectCheck(command, "there is a pom.xml") if files.has("pom.xml") else None


def _cmake(files: _ProjectFiles) -> ProjectCheck | None:
    if not _CTEST.search(files.text("CMakeLists.txt")):
        return None
    configure = "" if files.has("build/CMakeCache.txt") else "cmake -B build && "
    command = f"{configure}cmake --build build && ctest --test-dir build --output-on-failure"
    return ProjectCheck(command, "CMakeLists.txt has tests")


# The first match counts: a target written for people comes before what follows from the language.
_FINDERS = (_make, _python, _node, _cargo, _go, _gradle, _maven, _cmake)


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


MAX_REMINDERS = 2
"""Reminders in one turn: one to run the check, one for a check that failed. A third would not change the model's mind,
and a check that cannot pass must not keep a turn from ending."""


class CheckReminder:
    """Reminds a model that is about to finish of a check that it has not run since its last change, or that failed.

    Attributes:
        unknown: Whether the model changed files, no check is known, and the user did not choose to have none.
    """

    def __init__(self, find: Callable[[], ProjectCheck | None]) -> None:
        """Begin a turn. find: Finds the check; called only after a change."""
        self._find = find
        self._changes = 0
        self._runs: list[tuple[int, CommandEnd]] = []
        self._reminders = 0
        self._check: ProjectCheck | None = None
        self.unknown = False

    def note(self, call: ToolCall, result: ToolResult, *, changed: bool) -> None:
        """Record a call that ran, and whether it changed a file."""
        self._changes += changed
        command = call.arguments.get(_COMMAND)
        if result.command is not None:
            self._runs.append((self._changes, result.command))
        elif result.denied and call.name == SHELL and isinstance(command, str):
            # As if it had passed, so that the model is not asked to run it again.
            self._runs.append((self._changes, CommandEnd(command, 0, (0, 0))))

    def due(self) -> str:
        """Return the reminder for a model that wants to end the turn; "" if it may."""
        if not self._changes or self._reminders >= MAX_REMINDERS:
            return ""
        self._check = self._check or self._find()
        self.unknown = self._check is None
        if self._check is None or not self._check.command:
            return ""
        text = self._text(self._check)
        self._reminders += bool(text)
        return text

    def _text(self, check: ProjectCheck) -> str:
        ends = [_exit_code(check, ended) for changes, ended in self._runs if changes == self._changes]
        codes = [code for code in ends if code is not None]
        if not codes:
            return (
                f"You changed files and have not run the project's check since. Run `{check.command}` as it is, because"
                f" {check.reason}, and read its output. If it cannot be run here, say so."
            )
        if codes[-1] == 0:
            return ""
        return (
            f"The project's check failed. If your change is the cause, correct it and run `{check.command}` again. "
            "If it failed before your change or cannot pass, say so plainly; do not change the check."
        )


def _exit_code(check: ProjectCheck, ended: CommandEnd) -> int | None:
    """Return the exit code of a check, None if the command was another one or its exit code is unknown.

    The command is the check itself, or its output was piped on. `make test || true`, `echo make test` and
    `cd other && make test` are other commands.
    """
    found = re.fullmatch(re.escape(check.command.strip()) + _INTO_PIPE, ended.command.strip())
    if found is None:
        return None
    if not found["pipe"]:
        return ended.exit_code
    return ended.pipe[0] if len(ended.pipe) > 1 else ended.exit_code or None
