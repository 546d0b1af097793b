"""A task: a small repository, what the user asks, what the model does about it, and when that is right."""

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from laguna_tui.sandbox.probe import SandboxKind, approval_reason, probe_sandbox
from tests.scripted_model import Lines, Script, Seen


@cache
def _works(program: str) -> bool:
    """Whether a program is there and starts: the one that rustup puts in the path needs a toolchain too."""
    version = "version" if program == "go" else "--version"
    if shutil.which(program) is None:
        return False
    return subprocess.run([program, version], capture_output=True, check=False).returncode == 0


def _runs_unasked() -> bool:
    status = probe_sandbox()
    return status.kind is not SandboxKind.NONE and not approval_reason("make test", status)


PASSED = re.compile(r'"exit_code": ?0\b')


def passed(seen: Seen) -> bool:
    """Whether the newest command ended with 0."""
    return bool(PASSED.search(seen.result))


@dataclass(frozen=True)
class ToolCallRecord:
    """A call that a tool answered."""

    name: str
    arguments: Mapping[str, object]
    output: str
    ok: bool


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Attributes:
        folder: the repository afterwards.
        answer: the model's text, of all turns.
        end: how the last turn ended, as its events say it.
        calls: in the order of their answers.
        script: what the model saw.
        notices: types of the other events that came.
    """

    folder: Path
    answer: str
    end: str
    calls: Sequence[ToolCallRecord]
    script: Script
    notices: Sequence[str] = ()

    def text(self, path: str) -> str:
        """A file's text."""
        return (self.folder / path).read_text()

    def outputs(self, name: str) -> list[str]:
        """What the calls of this tool were answered."""
        return [call.output for call in self.calls if call.name == name]

    @property
    def refused(self) -> list[ToolCallRecord]:
        """The calls that were answered with an error."""
        return [call for call in self.calls if not call.ok]


@dataclass(frozen=True)
class Task:
    """A task with a verdict.

    Attributes:
        name: what is tried, as a test's name.
        language: of the repository.
        files: its files by path.
        question: what the user asks.
        model: what the model does in this folder.
        verdict: asserts that the outcome is right.
        mode: what needs no permission.
        allow: rules that allow more.
        deny: rules that forbid.
        context: tokens.
        programs: what must be on the machine for the repository's own check.
        end: how the turn ends.
        denied: whether the model wants something that `ask` would have to ask about.
    """

    name: str
    language: str
    files: Mapping[str, str | bytes]
    question: str
    model: Callable[[Path], Script | Lines]
    verdict: Callable[[Outcome], None]
    mode: str = "accept-edits"
    allow: Sequence[str] = ("shell(make …)",)
    deny: Sequence[str] = ()
    context: int = 16_384
    programs: Sequence[str] = ("make",)
    end: str = "answered"
    denied: bool = False

    def script(self, folder: Path) -> Script:
        """What the model says in this folder."""
        lines = self.model(folder)
        return lines if isinstance(lines, Script) else Script(lines)

    def require(self) -> None:
        """Skip the test if the task cannot be tried on this machine."""
        missing = [program for program in self.programs if not _works(program)]
        if missing:
            pytest.skip(f"needs {', '.join(missing)}")
        if (self.programs or self.mode == "auto") and not _runs_unasked():
            pytest.skip("no sandbox here lets commands run unasked")

    def make(self, folder: Path) -> Path:
        """Make the repository."""
        folder.mkdir(exist_ok=True)
        for path, content in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder
