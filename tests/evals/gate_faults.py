"""Whether `laguna-tui eval --compare` catches a fault in speculative decoding: `python -m tests.evals.gate_faults`.

A scripted model that knows every function solves some of them three times: without speculation, with it, and with a
fault injected into the acceptance of drafts (the first drafted token that the target rejects is committed).
The first two have to be equal, with the same tokens; the third must not pass.
"""

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

from laguna_engine.speculate import speculator
from laguna_tui.cli import main as cli
from laguna_tui.evals.task import SOLUTION, TaskSet, load_tasks
from tests.scripted_model import Script, Seen
from tests.scripted_model.ask import run

_OPTIONS = ("--draft-length", "4", "--max-tokens", "600", "--context", "4096", "--threads", "1", "--quiet")
"""Drafts of a fixed length: left alone, the engine finds that they do not pay for so small a model."""

TASKS, POINTS = 20, 15
"""Twenty tasks that never differ have an interval of 13 points on either side."""


def faulty_accept(draft: Sequence[int], pick: Callable[[int], int]) -> list[int]:
    """As `speculator.accept`, but what is rejected first is committed in the place of the target's own token."""
    committed: list[int] = []
    for row, proposed in enumerate(draft):
        committed.append(proposed)
        if pick(row) != proposed:
            return committed
    committed.append(pick(len(draft)))
    return committed


def all_known() -> Script:
    """A model that answers every function with its reference."""
    functions = [task for task in load_tasks().values() if task.set is TaskSet.FUNCTIONS]

    def lines(seen: Seen):
        while True:
            task = next(each for each in functions if f"def {each.entry}(" in seen.text)
            seen = yield f"```python\n{task.reference[SOLUTION]}```"

    return Script(lines)


def main() -> int:
    """Run all three and compare; returns how many comparisons come out wrong."""
    names = [task.name for task in load_tasks().values() if task.set is TaskSet.FUNCTIONS][:TASKS]
    chosen = [word for name in names for word in ("--task", name)]
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)

        def answered(name: str, speculation: str) -> str:
            out = str(top / name)
            with contextlib.redirect_stdout(io.StringIO()):
                options = ("--out", out, "--speculation", speculation, *_OPTIONS)
                code = run(all_known(), ["eval", *chosen, *options], top)
            assert code == 0, f"{name} ended with {code}"
            return out

        plain, drafted = answered("plain", "off"), answered("drafted", "fast")
        with mock.patch.object(speculator, "accept", faulty_accept):
            faulty = answered("faulty", "fast")
        wrong = 0
        for title, second, wanted in (("drafted", drafted, 0), ("drafted, with the fault", faulty, 1)):
            print(f"\n## plain against {title}\n")
            wrong += cli.main(["eval", "--compare", plain, second, "--points", str(POINTS)]) != wanted
    print("\nas expected" if not wrong else f"\n{wrong} comparisons came out otherwise")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
