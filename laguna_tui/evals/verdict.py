"""Whether a solution is right: the task's check, run in the sandbox over a folder of its own."""

import re
import secrets
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from laguna_engine.native.child import find_program
from laguna_engine.native.child import run as run_program
from laguna_tui.base.errors import UserError
from laguna_tui.evals.task import LANGUAGES, PASSED, Task
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.sandbox.running_command import CommandNotRun, CommandResult

CHECK_S = 120.0
"""Most seconds of a check: each takes less than one on an idle machine, compilers included."""
_KEPT_CHARS = 2000
_SOURCE_BYTES = 1 << 20
_NO_SANDBOX = (
    "evaluations run what the model writes, and no sandbox works here ({tried}); to see what can be done: "
    "laguna-tui doctor"
)
_BLOCK = re.compile(r"^(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check said.

    Attributes:
        passed: whether the solution is right.
        output: the end of what the check wrote.
        timed_out: whether it was stopped at `CHECK_S`.
    """

    passed: bool
    output: str = ""
    timed_out: bool = False


def require_sandbox() -> None:
    """Raise UserError where commands cannot be confined: what a model writes is not run outside of a sandbox."""
    status = probe_sandbox()
    if status.kind is SandboxKind.NONE:
        raise UserError(_NO_SANDBOX.format(tried="; ".join(status.tried)))


@cache
def missing_program(language: str) -> str:
    """The program of a language that is not here or does not start; empty if all do."""
    for line in LANGUAGES[language].programs:
        name, *arguments = line.split()
        program = find_program(name)
        # What rustup and pyenv put into the path may be there without a compiler behind it.
        if program is None or not run_program([program, *arguments]).good:
            return name
    return ""


def code_of(answer: str, entry: str) -> str:
    """The Python code of an answer in Markdown: the last block that defines the function, else the last block.

    An answer without a block that defines the function is code as a whole. Returns "" where there is none.
    """
    defines = re.compile(rf"^\s*(?:async )?def {re.escape(entry)}\b", re.MULTILINE)
    blocks = [match[3] for match in _BLOCK.finditer(answer) if match[2].lower() in ("", "python", "py", "python3")]
    defining = [block for block in blocks if defines.search(block)]
    if defining:
        return defining[-1]
    if blocks:
        return blocks[-1]
    return answer if defines.search(answer) else ""


def check_solution(task: Task, solution: Mapping[str, str], cancelled: Callable[[], bool] = lambda: False) -> Verdict:
    """Run the task's check over a solution in a new folder.

    Args:
        solution: all its files by path.
        cancelled: asked many times a second.
    """
    command = task.check.replace("{python}", shlex.quote(sys.executable))
    last = secrets.token_hex(8)
    hidden = {path: text.replace(PASSED, last) for path, text in task.hidden.items()} if task.entry else task.hidden
    result = run_in_folder({**solution, **hidden}, command, f"the check of {task.name}", cancelled)
    output = result.stdout.strip()
    ended = not task.entry or output.endswith(last)
    return Verdict(result.exit_code == 0 and ended, output[-_KEPT_CHARS:], result.timed_out)


def run_in_folder(
    files: Mapping[str, str], command: str, what: str, cancelled: Callable[[], bool] = lambda: False
) -> CommandResult:
    """Run a command in the sandbox, for at most `CHECK_S`, in a new folder with these files.

    Args:
        command: a line for a shell.
        what: what it is, for the sentence of the UserError that is raised if it is not started.
        cancelled: asked many times a second.
    """
    with (
        tempfile.TemporaryDirectory(prefix="laguna-eval-") as name,
        tempfile.TemporaryDirectory(prefix="laguna-eval-output-") as results,
    ):
        folder = Path(name).resolve()
        write_files(folder, files)
        runner = CommandRunner(folder, results=Path(results))
        try:
            return runner.run(command, folder=folder, timeout_s=CHECK_S, cancelled=cancelled)
        except CommandNotRun as error:
            raise UserError(f"{what} was not run: {error}") from error
        finally:
            runner.close()


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by their paths relative to an empty folder."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def read_files(folder: Path) -> dict[str, str]:
    """The text files of a folder that a model worked in, by their relative paths.

    Links, which may lead anywhere, folders of git and what is larger than a source file are left out.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        linked = any((folder / Path(*inside.parts[: depth + 1])).is_symlink() for depth in range(len(inside.parts)))
        if linked or ".git" in inside.parts or not path.is_file() or path.stat().st_size > _SOURCE_BYTES:
            continue
        with suppress(UnicodeDecodeError):
            found[inside.as_posix()] = path.read_text(encoding="utf-8")
    return found
