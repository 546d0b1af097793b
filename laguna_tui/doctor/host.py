"""The machine as the doctor's probes see it: programs that answer, files, environment, folders, terminal.

Every question a probe may ask goes through `Host`, so that a test can be any machine there is.
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

_T = TypeVar("_T")

_FOLDER_LIMIT_S = 3.0
"""A local disk answers in microseconds."""

_LARGEST = 1 << 18
"""Characters read of a file in /proc or /sys."""

_SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/lib/wsl/lib", "/opt/rocm/bin")
"""Where programs lie that are not on everybody's PATH: ldconfig, nvidia-smi under WSL, ROCm's."""


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """A folder, or the nearest one above it that is there: bytes free, and whether it can be written."""

    folder: str
    exists: bool
    writable: bool
    free: int


@dataclass(frozen=True, slots=True)
class TerminalFacts:
    """Where the answers go: whether it is a terminal at all, its size in cells, the encoding of text sent to it."""

    interactive: bool
    columns: int
    rows: int
    encoding: str


class Host:
    """This machine."""

    def __init__(self) -> None:
        self.system = platform.system()
        self.processor = platform.machine()
        self.python = sys.executable
        self.environment: Mapping[str, str] = os.environ
        self.memory: int = psutil.virtual_memory().total
        self.cores: int = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1

    @property
    def terminal(self) -> TerminalFacts:
        """The one this runs in."""
        size = shutil.get_terminal_size()
        return TerminalFacts(sys.stdout.isatty(), size.columns, size.lines, sys.stdout.encoding or "ascii")

    @property
    def bindings(self) -> str | None:
        """The folder of the installed llama_cpp package, without importing it."""
        found = importlib.util.find_spec("llama_cpp")
        return None if found is None or found.origin is None else str(Path(found.origin).parent)

    def program(self, name: str) -> str | None:
        """Where a program is."""
        return find_program(name, *_SYSTEM_FOLDERS, path=self.environment.get("PATH", ""))

    def run(self, command: Sequence[str], limit_s: float = LIMIT_S) -> Output:
        """What a program answers. Its first word is a name to be looked up, or an absolute path."""
        program = self.program(command[0])
        environment = {**self.environment, "LC_ALL": "C.UTF-8"}
        return MISSING if program is None else run((program, *command[1:]), limit_s, environment)

    def read(self, path: str) -> str | None:
        """A small file's text, or None where there is none to read."""

        def text() -> str:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                return file.read(_LARGEST)

        return with_time_limit(_FOLDER_LIMIT_S, text)

    def find(self, pattern: str) -> list[str]:
        """The paths that a shell pattern stands for, in order."""
        # Path.glob wants a folder to begin from.
        return with_time_limit(_FOLDER_LIMIT_S, lambda: sorted(glob.glob(pattern))) or []  # noqa: PTH207

    def room(self, folder: Path) -> FolderAccess | None:
        """What is known of a folder; None when it does not answer."""

        def look() -> FolderAccess:
            there = next(path for path in (folder, *folder.parents) if path.exists())
            writable = os.access(there, os.W_OK | os.X_OK)
            return FolderAccess(str(there), there == folder, writable, shutil.disk_usage(there).free)

        return with_time_limit(_FOLDER_LIMIT_S, look)


def with_time_limit(limit_s: float, ask: Callable[[], _T]) -> _T | None:
    """What `ask` returns, or None when it takes too long (a network disk that is gone) or cannot say."""
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
class Environment:
    """Each is true where it holds; multiplexer is its name, or empty."""

    wsl: bool = False
    container: bool = False
    ssh: bool = False
    multiplexer: str = ""

    def words(self) -> list[str]:
        """For a line of a report."""
        told = [(self.wsl, "WSL"), (self.container, "a container"), (self.ssh, "an SSH session")]
        return [name for holds, name in told if holds] + ([self.multiplexer] if self.multiplexer else [])


def detect_environment(machine: Host) -> Environment:
    """Look at environment variables and the few files by which these give themselves away."""
    environment = machine.environment
    wsl = "microsoft" in (machine.read("/proc/sys/kernel/osrelease") or "").lower()
    container = bool(environment.get("container")) or any(machine.find(file) for file in _CONTAINER_FILES)
    ssh = bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))
    names = (("tmux", "TMUX"), ("screen", "STY"), ("zellij", "ZELLIJ"))
    multiplexer = next((name for name, variable in names if environment.get(variable)), "")
    return Environment(wsl, container, ssh, multiplexer)
