"""Judges solutions: runs a task's check in the sandbox, in a folder of its own."""

import re
import secrets
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from laguna_engine.native.child import find_program
from laguna_engine.native.child import run as run_program
from laguna_tui.base.errors import UserError
from laguna_tui.evals.function_check import FunctionCheck
from laguna_tui.evals.task import CHECK, LANGUAGES, Task, TaskSet
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from laguna_tui.sandbox.programs import why_unreadable
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.sandbox.running_command import CommandNotRun, CommandResult
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy

CHECK_S = 120.0
"""Most seconds of a check: each takes less than one on an idle machine, compilers included."""
TASKS = Path(__file__).resolve().parent
"""The folder with all tasks, their tests and solutions: hidden from the model's commands and from what it wrote."""
_KEPT_CHARS = 2000
_SOURCE_BYTES = 1 << 20
_NO_SANDBOX = (
    "evaluations run what the model writes, and no sandbox works here ({tried}); to see what can be done: "
    "laguna-tui doctor"
)
_NO_PYTHON = "evaluations run what the model writes with the Python of this program, but {why}"
_BLOCK = re.compile(r"^(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """Result of a check.

    Attributes:
        passed: whether the solution is right.
        output: the end of what the check wrote.
        timed_out: whether it was stopped at `CHECK_S`.
    """

    passed: bool
    output: str = ""
    timed_out: bool = False


def require_sandbox() -> None:
    """Check that what a model writes can be run in a sandbox.

    Raises:
        UserError: None works here, or this program's Python cannot be read in it.
    """
    status = probe_sandbox()
    if status.kind is SandboxKind.NONE:
        raise UserError(_NO_SANDBOX.format(tried="; ".join(status.tried)))
    if why := why_unreadable(SandboxPolicy(TASKS), (sys.prefix, sys.base_prefix)):
        raise UserError(_NO_PYTHON.format(why=why))


@cache
def missing_program(language: str) -> str:
    """Return the program of a language that is missing or does not start; empty if all start."""
    for line in LANGUAGES[language].programs:
        name, *arguments = line.split()
        program = find_program(name)
        # What rustup and pyenv put into the path may be there without a compiler behind it.
        if program is None or not run_program([program, *arguments]).good:
            return name
    return ""


def code_of(answer: str, entry: str) -> str:
    """Return the Python code of an answer in Markdown: the last block that defines the function, else the last one.

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


def check_solution(
    task: Task, solution: Mapping[str, str], cancelled: Callable[[], bool] = lambda: False
) -> TaskVerdict:
    """Run the task's check over a solution in a new folder.

    Args:
        solution: all its files by path.
        cancelled: asked many times a second.
    """
    what = f"the check of {task.name}"
    if task.entry:
        return _check_function(task, solution, what, cancelled)
    command = task.check.replace("{python}", shlex.quote(sys.executable))
    hidden, word = _with_end(task)
    result = run_in_folder({**solution, **hidden}, command, what, cancelled)
    output = result.stdout.strip()
    passed = result.exit_code == 0 and word in output
    return TaskVerdict(passed, output.replace(word, "")[-_KEPT_CHARS:], result.timed_out)


def _with_end(task: Task) -> tuple[Mapping[str, str], str]:
    """Return the files of a check that prints a new word at its end, and that word, empty where it cannot print one.

    A solution that ends the process while it is tested does not pass. The tests run beside it, so one that is made to
    deceive them can: only the checks of functions, which give rewards, are out of its reach.
    """
    language = LANGUAGES[task.language]
    if task.set is TaskSet.LOOKUPS or language.main not in task.hidden:
        return task.hidden, ""
    word = secrets.token_hex(8)
    end = language.end.replace("{word}", word)
    return {**task.hidden, language.main: f"{task.hidden[language.main]}\n{end}\n"}, word


def _check_function(task: Task, solution: Mapping[str, str], what: str, cancelled: Callable[[], bool]) -> TaskVerdict:
    with folder_with(solution) as folder:
        check = FunctionCheck(task.entry, task.hidden[CHECK], folder)
        try:
            result = _run(folder, check.command, what, lambda: check.over or cancelled())
        finally:
            outcome = check.finish()
    output = "\n".join(filter(None, (result.stdout.strip(), outcome.problem)))
    return TaskVerdict(outcome.passed, output[-_KEPT_CHARS:], result.timed_out)


def run_in_folder(
    files: Mapping[str, str],
    command: str,
    what: str,
    cancelled: Callable[[], bool] = lambda: False,
    programs: tuple[str, ...] = (),
) -> CommandResult:
    """Run a command in the sandbox, for at most `CHECK_S`, in a new folder with these files.

    It cannot read the tasks of this package.

    Args:
        command: a line for a shell.
        what: what it is, for the sentence of the UserError that is raised if it is not started.
        cancelled: asked many times a second.
        programs: the words of the command, if it is the user's: see `SandboxPolicy.programs`.
    """
    with folder_with(files) as folder:
        return _run(folder, command, what, cancelled, programs)


@contextmanager
def folder_with(files: Mapping[str, str]) -> Iterator[Path]:
    """Yield a new folder with these files; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="laguna-eval-") as name:
        folder = Path(name).resolve()
        write_files(folder, files)
        yield folder


def _run(
    folder: Path, command: str, what: str, cancelled: Callable[[], bool], programs: tuple[str, ...] = ()
) -> CommandResult:
    with tempfile.TemporaryDirectory(prefix="laguna-eval-output-") as results:
        runner = CommandRunner(folder, results=Path(results), hidden=(TASKS,), programs=programs)
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
    """Return the text files of a folder that a model worked in, by their relative paths.

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
