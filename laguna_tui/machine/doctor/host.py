"""The machine as the doctor's probes see it: programs, files, environment variables, folders, terminal.

Probes access the system only through `Host`, so that tests can simulate any machine.
"""

import contextlib
import glob
import importlib.util
import os
import platform
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from laguna_engine.native.child import LIMIT_S, MISSING, Output, find_program, run
from laguna_engine.native.control_groups import MemoryLimit, memory_limit, usable_processors
from laguna_tui.sandbox.probe import SandboxStatus, probe_sandbox

_T = TypeVar("_T")

_FOLDER_LIMIT_S = 3.0
"""Seconds; a local disk answers in microseconds."""

_LARGEST = 1 << 18
"""Characters read of a file in /proc or /sys."""

_SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/lib/wsl/lib", "/opt/rocm/bin")
"""Folders of programs that may not be on PATH: ldconfig, nvidia-smi under WSL, ROCm's."""


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """Access to a folder.

    Attributes:
        folder: The folder, or its nearest existing parent.
        exists: Whether it is the folder itself.
        writable: Whether files can be created in it.
        free: Free bytes on its disk.
    """

    folder: str
    exists: bool
    writable: bool
    free: int


@dataclass(frozen=True, slots=True)
class TerminalFacts:
    """The terminal that stdout is connected to.

    Attributes:
        interactive: Whether stdout is a terminal.
        columns: Width in cells.
        rows: Height in cells.
        encoding: Of text sent to it.
    """

    interactive: bool
    columns: int
    rows: int
    encoding: str


class Host:
    """Access to this machine."""

    def __init__(self) -> None:
        self.system = platform.system()
        self.processor = platform.machine()
        self.python = sys.executable
        self.environment: Mapping[str, str] = os.environ
        self.memory: int = psutil.virtual_memory().total
        self.cores: int = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
        self.memory_limit: MemoryLimit | None = memory_limit()
        self.processors: int = usable_processors()

    @property
    def terminal(self) -> TerminalFacts:
        """The terminal of this process."""
        size = shutil.get_terminal_size()
        return TerminalFacts(sys.stdout.isatty(), size.columns, size.lines, sys.stdout.encoding or "ascii")

    @property
    def sandbox(self) -> SandboxStatus:
        """The sandbox that commands run in, found by trying it."""
        return probe_sandbox()

    @property
    def folder(self) -> Path | None:
        """The current folder; None if it was deleted."""
        with contextlib.suppress(OSError):
            return Path.cwd()
        return None

    @property
    def bindings(self) -> str | None:
        """Folder of the installed llama_cpp package, found without importing it."""
        found = importlib.util.find_spec("llama_cpp")
        return None if found is None or found.origin is None else str(Path(found.origin).parent)

    def program(self, name: str) -> str | None:
        """Return the path of a program, or None."""
        return find_program(name, *_SYSTEM_FOLDERS, path=self.environment.get("PATH", ""))

    def run(self, command: Sequence[str], limit_s: float = LIMIT_S) -> Output:
        """Run a program; the first word of `command` is a name to look up or an absolute path."""
        program = self.program(command[0])
        environment = {**self.environment, "LC_ALL": "C.UTF-8"}
        return MISSING if program is None else run((program, *command[1:]), limit_s, environment)

    def read(self, path: str) -> str | None:
        """Return a small file's text, or None if it cannot be read."""

        def text() -> str:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                return file.read(_LARGEST)

        return with_time_limit(_FOLDER_LIMIT_S, text)

    def find(self, pattern: str) -> list[str]:
        """Return the paths that match a shell pattern, sorted."""
        # Path.glob needs a folder to start from.
        return with_time_limit(_FOLDER_LIMIT_S, lambda: sorted(glob.glob(pattern))) or []  # noqa: PTH207

    def folder_access(self, folder: Path) -> FolderAccess | None:
        """Return the access to a folder; None when it does not answer."""

        def look() -> FolderAccess:
            there = next(path for path in (folder, *folder.parents) if path.exists())
            writable = os.access(there, os.W_OK | os.X_OK)
            return FolderAccess(str(there), there == folder, writable, shutil.disk_usage(there).free)

        return with_time_limit(_FOLDER_LIMIT_S, look)


def with_time_limit(limit_s: float, ask: Callable[[], _T]) -> _T | None:
    """Return the result of `ask`, or None on an OSError or after `limit_s` (a network disk that is gone)."""
    answers: list[_T] = []

    def work() -> None:
        with contextlib.suppress(OSError):
            answers.append(ask())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(limit_s)
    return answers[0] if answers else None


_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """Where this process runs.

    Attributes:
        wsl: In the Windows Subsystem for Linux.
        container: In a container.
        ssh: In an SSH session.
        multiplexer: Name of the terminal multiplexer, or empty.
        old_wsl: In the first version of WSL, which translates system calls and has no graphics cards.
    """

    wsl: bool = False
    container: bool = False
    ssh: bool = False
    multiplexer: str = ""
    old_wsl: bool = False

    def words(self) -> list[str]:
        """Return the names of what was detected, for a report."""
        detected = [(self.wsl, "WSL"), (self.container, "a container"), (self.ssh, "an SSH session")]
        return [name for holds, name in detected if holds] + ([self.multiplexer] if self.multiplexer else [])


def detect_environment(host: Host) -> HostEnvironment:
    """Detect it from environment variables, and from a few files that only exist there."""
    variables = host.environment
    kernel = host.read("/proc/sys/kernel/osrelease") or ""
    wsl = "microsoft" in kernel.lower()
    # The second version runs a kernel of its own: 5.15.167.4-microsoft-standard-WSL2; the first one says Microsoft.
    old_wsl = wsl and "WSL2" not in kernel and "standard" not in kernel
    container = bool(variables.get("container")) or any(host.find(file) for file in _CONTAINER_FILES)
    ssh = bool(variables.get("SSH_CONNECTION") or variables.get("SSH_TTY"))
    names = (("tmux", "TMUX"), ("screen", "STY"), ("zellij", "ZELLIJ"))
    multiplexer = next((name for name, variable in names if variables.get(variable)), "")
    return HostEnvironment(wsl, container, ssh, multiplexer, old_wsl)
