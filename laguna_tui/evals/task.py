"""A task with a verdict, and the sets of tasks that ship with the app.

A set is a folder of TOML files beside this module; each table is a task. A function has a `prompt` (signature and
docstring), its `reference` (the body behind it) and `tests` that the model does not see. A task about files has a
`question`, `files`, `hidden` files that are put over them before the check, and `reference`, a list of
`[path, old, new]`. In both `mutants` are changes of the reference, each of which has to fail: `[old, new]` of a
function, `[path, old, new]` of files. Every `old` occurs exactly once. The look-ups are made instead of read
(`laguna_tui.evals.lookups`); their answer is words.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType

import msgspec

from laguna_tui.evals.lookups import Lookup, lookups

SOLUTION, CHECK, ANSWER = "solution.py", "check.py", "answer.txt"

_FUNCTION = """\
Complete this Python function. Answer with the whole function, with the imports it needs, in one code block.

```python
{prompt}```"""
_ANSWER_CHECK = """\
import re
from pathlib import Path

answer = Path({answer!r}).read_text(encoding="utf-8")


def says(word):
    return re.search(rf"(?<!\\w){{re.escape(word)}}(?!\\w)", answer) is not None


missing = [word for word in {wanted!r} if not says(word)]
wrong = [word for word in {others!r} if says(word)]
print("missing:", missing, "wrong:", wrong)
raise SystemExit(bool(missing or wrong))
"""


class TaskSet(StrEnum):
    """The sets."""

    FUNCTIONS = "functions"
    EDITS = "edits"
    REPOSITORIES = "repositories"
    LOOKUPS = "lookups"


@dataclass(frozen=True)
class TaskLanguage:
    """What the checks of a language need.

    Attributes:
        programs: each must be there and start; the first word of each line is the program, the rest says its version.
        check: how the tests run where the task does not say it; `{python}` stands for the app's own Python.
        main: the file that the check runs, for languages in which its end can say that it was reached.
        end: the line that says so; `{word}` stands for what it prints.
    """

    programs: tuple[str, ...]
    check: str
    main: str = ""
    end: str = ""


_CHECKS = '"$TMPDIR/checks"'
_C, _RUST = f"-std=c11 -Wall -o {_CHECKS}", f"--edition 2021 --test -o {_CHECKS}"
LANGUAGES: Mapping[str, TaskLanguage] = {
    "python": TaskLanguage((), "{python} -E -s -B check.py", CHECK, 'print("{word}")'),
    "javascript": TaskLanguage(("node --version",), "node check.js", "check.js", 'console.log("{word}");'),
    "c": TaskLanguage(("cc --version",), f"cc {_C} *.c && {_CHECKS}"),
    "c++": TaskLanguage(("c++ --version",), f"c++ -std=c++17 -o {_CHECKS} *.cpp && {_CHECKS}"),
    "rust": TaskLanguage(("rustc --version",), f"rustc {_RUST} check.rs && {_CHECKS} -q"),
    "java": TaskLanguage(("javac -version", "java -version"), f"javac -d {_CHECKS} *.java && java -cp {_CHECKS} Check"),
    "go": TaskLanguage(("go version",), "go test ./..."),
    "shell": TaskLanguage(("bash --version",), "bash check.sh", "check.sh", "echo {word}"),
}


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        name: unique among all sets.
        set: the set it belongs to.
        language: a key of `LANGUAGES`.
        question: what the model is asked.
        files: the folder's files by path, before anything is done.
        hidden: files that are put over the model's before the check; it never sees them. Of a function, the tests.
        check: a line for a shell, with `{python}` for the app's own Python; 0 is the verdict that it is right. Empty
            for a function, whose tests run in the app (`function_check`).
        entry: the function's name; empty for tasks about files.
        reference: all files of a right solution; of a look-up, the answer.
        mutants: all files of each wrong one, likewise.
    """

    name: str
    set: TaskSet
    language: str
    question: str
    files: Mapping[str, str]
    hidden: Mapping[str, str]
    check: str
    reference: Mapping[str, str]
    mutants: Sequence[Mapping[str, str]]
    entry: str = ""


@cache
def load_tasks() -> Mapping[str, Task]:
    """Return all tasks by name, set by set.

    Raises:
        ValueError: a file of the app is wrong; the message names the task.
    """
    found: dict[str, Task] = {}
    for task_set in TaskSet:
        for task in _tasks_of(task_set):
            if task.name in found:
                raise ValueError(f"{task.name}: two tasks have this name")
            found[task.name] = task
    return MappingProxyType(found)


def _tasks_of(task_set: TaskSet) -> Iterator[Task]:
    if task_set is TaskSet.LOOKUPS:
        for name, files, lookup in lookups():
            yield _lookup_task(name, files, lookup)
        return
    folder = resources.files(__package__) / task_set.value
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".toml"):
            yield from parse_tasks(file.read_text(encoding="utf-8"), task_set)


def parse_tasks(text: str, task_set: TaskSet) -> Iterator[Task]:
    """Yield the tasks of a file of this set. Raises ValueError, which says which one is wrong."""
    kind: type[_FunctionTable | _FileTable] = _FunctionTable if task_set is TaskSet.FUNCTIONS else _FileTable
    for name, table in tomllib.loads(text).items():
        try:
            yield msgspec.convert(table, kind).task(name, task_set)
        except msgspec.ValidationError as error:
            raise ValueError(f"{name}: {error}") from error


class _FunctionTable(msgspec.Struct, forbid_unknown_fields=True):
    """A function as its file describes it."""

    prompt: str
    reference: str
    tests: str
    mutants: list[tuple[str, str]]

    def task(self, name: str, task_set: TaskSet) -> Task:
        """Return the task."""
        mutants = [_replaced(name, self.reference, old, new) for old, new in self.mutants]
        return Task(
            name=name,
            set=task_set,
            language="python",
            question=_FUNCTION.format(prompt=self.prompt),
            files={},
            hidden={CHECK: self.tests},
            check="",
            reference={SOLUTION: self.prompt + self.reference},
            mutants=[{SOLUTION: self.prompt + mutant} for mutant in mutants],
            entry=name,
        )


class _FileTable(msgspec.Struct, forbid_unknown_fields=True):
    """A task about files as its file describes it."""

    question: str
    files: dict[str, str]
    hidden: dict[str, str]
    reference: list[tuple[str, str, str]]
    mutants: list[tuple[str, str, str]]
    language: str = "python"
    check: str | None = None

    def task(self, name: str, task_set: TaskSet) -> Task:
        """Return the task."""
        right = dict(self.files)
        for path, old, new in self.reference:
            right[path] = _replaced(name, right.get(path, ""), old, new)
        mutants = [{**right, path: _replaced(name, right[path], old, new)} for path, old, new in self.mutants]
        return Task(
            name=name,
            set=task_set,
            language=self.language,
            question=self.question.strip(),
            files=self.files,
            hidden=self.hidden,
            check=LANGUAGES[self.language].check if self.check is None else self.check,
            reference=right,
            mutants=mutants,
        )


def _lookup_task(name: str, files: Mapping[str, str], lookup: Lookup) -> Task:
    check = _ANSWER_CHECK.format(answer=ANSWER, wanted=lookup.wanted, others=lookup.others)
    return Task(
        name=name,
        set=TaskSet.LOOKUPS,
        language="python",
        question=lookup.question,
        files=files,
        hidden={CHECK: check},
        check=LANGUAGES["python"].check,
        reference={ANSWER: ", ".join(lookup.wanted)},
        mutants=[{ANSWER: wrong} for wrong in lookup.wrong],
    )


def _replaced(name: str, text: str, old: str, new: str) -> str:
    """Return the text with one place changed; a file that is not there yet is written with an empty `old`."""
    if not old and not text:
        return new
    if not old or text.count(old) != 1:
        raise ValueError(f"{name}: {old!r} occurs {text.count(old) if old else 'everywhere'} times, not once")
    return text.replace(old, new)
