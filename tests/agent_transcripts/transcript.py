"""Replays a task with a scripted model, and writes down what the model saw before each of its turns.

The first prompt is whole, of later ones what was added; one that does not begin with the one before is whole again, and
says so. Prompts are counted in tokens of the scripted model's vocabulary, so that a marker that
became text, or the reverse, shows too. What differs from day to day and from machine to machine is fixed, and no
scenario runs a command. Of a text that is very long the middle is its hash.
"""

import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from unittest import mock

from laguna_tui.agent.prompt import Environment
from tests.agent_tasks import trouble, work
from tests.agent_tasks.by_ask import run_by_ask
from tests.agent_tasks.task import Outcome, Task
from tests.scripted_model import Script, Seen, call

LONGEST, SHOWN = 9_000, 2_000
"""Characters of a text that is whole, and of either end of one that is not."""
RECORDED = Path(__file__).parent / "recorded"


def _reads_on(seen):
    for part in range(5):
        yield call("read", path=f"steps/part_{part}.py")
    yield "I read five parts."


def _is_compacted(outcome: Outcome) -> None:
    assert "compacted" in outcome.notices


_PARTS = {
    f"steps/part_{part}.py": "".join(f"def step_{part}_{at}():\n    return {part * at}\n\n\n" for at in range(70))
    for part in range(5)
}
COMPACTED = Task(
    "the context is compacted",
    "Python",
    _PARTS,
    "Read all parts.",
    lambda folder: Script(_reads_on, asides={trouble.SUMMARY: "All parts are to be read; two were."}),
    _is_compacted,
    context=8192,
    programs=(),
)
SCENARIOS: Mapping[str, Task] = {
    task.name: task
    for task in (*work.TASKS, *trouble.TASKS, COMPACTED)
    if task.name
    in {
        COMPACTED.name,
        "a question is answered from several files",
        "a new file is written",
        "a file changes elsewhere after it was read",
        "calls are malformed",
        "calls stay malformed",
        "a tool is not there",
        "a path is wrong",
        "an answer is empty",
        "the same call is made again",
    }
}


def file_of(name: str) -> Path:
    """The file that keeps a scenario."""
    return RECORDED / f"{name.replace(' ', '_')}.txt"


def transcript(task: Task) -> str:
    """What the model sees while it does the task."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        for each in ("home", "model"):
            (home / each).mkdir()
        folder = task.make(home / "project")
        environment = {f"XDG_{kind}_HOME": str(home / "home") for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        with (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(Environment, "now", _fixed),
            contextlib.redirect_stdout(io.StringIO()) as said,
            contextlib.redirect_stderr(io.StringIO()),
        ):
            _, outcome = run_by_ask(task, folder, home / "model", said.getvalue)
        task.verdict(outcome)
        return "".join(_turns(outcome.script.asked))


def _fixed(root: Path, *, shell: str = "", sandbox: str = "", check: str = "") -> Environment:
    return Environment(root.name, date(2026, 11, 20), None, "Linux, x86_64", shell, sandbox and "in a sandbox", check)


def _turns(asked: list[Seen]) -> Iterator[str]:
    before: list[int] = []
    for number, seen in enumerate(asked, 1):
        tokens = list(seen.tokens)
        grown = before == tokens[: len(before)]
        what = "whole" if not before else "added" if grown else "whole, as it does not begin with the one before"
        text = seen.new if before and grown else seen.text
        yield f"==== turn {number}: prompt of {len(tokens)} tokens, {what}\n{_readable(text)}\n"
        before = tokens


def _readable(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    middle = text[SHOWN:-SHOWN]
    digest = hashlib.blake2b(middle.encode(), digest_size=8).hexdigest()
    return f"{text[:SHOWN]}\n[{len(middle)} characters, {digest}]\n{text[-SHOWN:]}"
