"""Prompts, and the reward of an answer: the check of a task, or a command of the user's, both run in the sandbox."""

import hashlib
import json
import math
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from laguna_tui.base.errors import UserError
from laguna_tui.base.named_file import read_named_text
from laguna_tui.evals.attempt import CODE_ONLY
from laguna_tui.evals.evaluation import chosen_tasks
from laguna_tui.evals.task import SOLUTION, TaskSet
from laguna_tui.evals.verdict import TASKS, check_solution, code_of, run_in_folder
from laguna_tui.sandbox.programs import why_unreadable
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from tests.evals.rollouts.rollout import Prompt

ANSWER, PROMPT = "answer.txt", "prompt.json"
"""What a verifier finds in its folder."""
_PROMPTS_BYTES, _FILE_BYTES = 1 << 30, 64 << 20
_KEPT_CHARS = 2000
_NOT_A_PROMPT = '{path}, line {number}: {why}; each line is an object with a "prompt", such as {{"prompt": "2 + 2?"}}'
_WITH_TOOLS = "{name} is done with tools, in a folder: laguna-tui eval --task {name} --samples K --out FILE"
_REWARD = re.compile(r"^reward(?:\s+(.*))?$")
_REFUSED = "refused: the last line names no finite number, so the reward is 0"
_NOT_RUN = (126, 127)
"""What a shell ends with where there is no such command, or it cannot be run."""


def read_prompts(path: Path) -> list[Prompt]:
    """Return the prompts of a file of JSON lines: `prompt`, and `system` and `name` where they are wanted.

    Raises:
        UserError: it cannot be read, or a line is none.
    """
    text = read_named_text("--prompts", path, _PROMPTS_BYTES, "give a file with a JSON object in each line")
    lines = text.split("\n")
    found: dict[str, Prompt] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            prompt = _prompt(json.loads(line), number)
        except (ValueError, RecursionError) as error:
            raise UserError(_NOT_A_PROMPT.format(path=path, number=number, why=error)) from error
        if prompt.name in found:
            raise UserError(_NOT_A_PROMPT.format(path=path, number=number, why=f"the name {prompt.name} is taken"))
        found[prompt.name] = prompt
    if not found:
        raise UserError(f"--prompts {path}: it holds no prompt; give a file with a JSON object in each line")
    return list(found.values())


def _prompt(line: Any, number: int) -> Prompt:
    if not isinstance(line, dict):
        raise ValueError("it is no object")
    fields = {"name": str(number), "system": "", **line}
    for key in ("name", "system", "prompt"):
        if not isinstance(fields.get(key), str):
            raise ValueError(f"{key!r} is no text")
    return Prompt(fields["name"], fields["system"], fields["prompt"], line)


def task_prompts(names: Sequence[str]) -> list[Prompt]:
    """Return the functions of `laguna-tui eval` as prompts; all without names.

    Raises:
        UserError: there is none of a name, or it is a task about files.
    """
    tasks = chosen_tasks([] if names else [TaskSet.FUNCTIONS], names)
    for task in tasks:
        if not task.entry:
            raise UserError(_WITH_TOOLS.format(name=task.name))
    return [Prompt(task.name, CODE_ONLY, task.question, task=task) for task in tasks]


@dataclass(frozen=True)
class Verifier:
    """Gives rewards. Any thread.

    Attributes:
        command: a line for a shell, with `{python}` for the app's own Python; empty for none: then only tasks have
            a reward.
        files: that stand beside the answer, by name.
    """

    command: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def chosen(cls, command: str, paths: Sequence[Path]) -> "Verifier":
        """Read its files. UserError where one cannot be read, or has the name of another."""
        files: dict[str, str] = {}
        for path in paths:
            if path.name in (ANSWER, PROMPT, *files):
                raise UserError(f"--verify-file {path}: there is another file of this name; rename it")
            files[path.name] = read_named_text("--verify-file", path, _FILE_BYTES, "give a text file that can be read")
        return cls(command, files)

    @property
    def digest(self) -> str:
        """Tells it from others; empty for none."""
        return _digest([self.command, dict(self.files)]) if self.command else ""

    def reward(
        self, prompt: Prompt, answer: str, cancelled: Callable[[], bool] = lambda: False
    ) -> tuple[float | None, str]:
        """Return the reward and the end of what the check wrote.

        A command ends with 0 for a reward of 1, unless its last line is `reward X`; else the reward is 0. A reward that
        is not a finite number is refused: it is 0, and the text says so.

        Raises:
            UserError: it cannot be run.
        """
        if prompt.task is not None:
            code = code_of(answer, prompt.task.entry)
            if not code:
                return 0.0, "no code was given"
            verdict = check_solution(prompt.task, {SOLUTION: code}, cancelled)
            return float(verdict.passed), verdict.output
        if not self.command:
            return None, ""
        line = json.dumps(dict(prompt.line), ensure_ascii=False)
        # As files, a lone surrogate has no UTF-8.
        files = {**self.files, ANSWER: answer, PROMPT: line}
        files = {name: text.encode("utf-8", "replace").decode() for name, text in files.items()}
        command = self.command.replace("{python}", shlex.quote(sys.executable))
        words = _words(command)
        result = run_in_folder(files, f"( {command}\n) < {ANSWER}", "the verifier", cancelled, words)
        output = result.stdout.strip()
        if result.exit_code in _NOT_RUN:
            todo = why_unreadable(SandboxPolicy(TASKS), words) or "correct --verify"
            raise UserError(f"the verifier cannot be run: {output[-_KEPT_CHARS:]}; {todo}")
        reward = _last_line(output) if result.exit_code == 0 else 0.0
        if not math.isfinite(reward):
            return 0.0, f"{output[-_KEPT_CHARS:]}\n{_REFUSED}"
        return reward, output[-_KEPT_CHARS:]


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return tuple(command.split())


def _last_line(output: str) -> float:
    """Return the reward that the last line names, 1 where it names none; not a number for one that is malformed."""
    match = _REWARD.match(output.rpartition("\n")[2].strip())
    if match is None:
        return 1.0
    try:
        return float(match[1] or "")
    except ValueError:
        return math.nan


def digest_of(prompts: Sequence[Prompt]) -> str:
    """Tells prompts from others."""
    return _digest([[each.name, each.system, each.question, dict(each.line)] for each in prompts])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
