"""Checks the tasks of `laguna-tui eval`: `python -m tests.evals.tasks [NAME…]`.

Of every task the reference passes, every mutant fails, and so does the folder as it is before anything is done.
Languages whose programs are not on the machine are skipped, and named.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence

from laguna_tui.evals.task import SOLUTION, Task, load_tasks
from laguna_tui.evals.verdict import check_solution, missing_program

LEAST_MUTANTS = 3
_KEYS = frozenset({"language", "question", "files", "hidden", "check", "reference", "mutants"})


def misplaced_keys(text: str) -> Iterator[str]:
    """Say which keys of a file of tasks stand where TOML takes them for a file's name."""
    for name, table in tomllib.loads(text).items():
        for inside in ("files", "hidden"):
            for key in sorted(table.get(inside, {}).keys() & _KEYS):
                yield f"{name}: `{key}` stands behind [{name}.{inside}], so it would be a file; put it above that line"


def problems(task: Task) -> Iterator[str]:
    """Say what is wrong with a task."""
    right = check_solution(task, task.reference)
    if not right.passed:
        yield f"the reference fails: {right.output[-400:]}"
    if len(task.mutants) < LEAST_MUTANTS:
        yield f"it has {len(task.mutants)} mutants, not {LEAST_MUTANTS}"
    for number, mutant in enumerate(task.mutants, 1):
        if check_solution(task, mutant).passed:
            yield f"mutant {number} passes"
    untouched = dict(task.files) or {SOLUTION: f"def {task.entry}(*arguments):\n    pass\n"}
    if check_solution(task, untouched).passed:
        yield "it passes before anything is done"


def main(names: Sequence[str]) -> int:
    """Check these tasks, or all; returns how many are wrong."""
    tasks = load_tasks()
    wrong, checked, skipped = 0, Counter[str](), Counter[str]()
    for task in [tasks[name] for name in names] or tasks.values():
        if missing_program(task.language):
            skipped[task.language] += 1
            continue
        found = list(problems(task))
        wrong += bool(found)
        checked[f"{task.set} in {task.language}"] += 1
        for problem in found:
            print(f"{task.name}: {problem}", flush=True)
    print(", ".join(f"{number} {what}" for what, number in checked.items()), f"checked; {wrong} wrong")
    if skipped:
        print("skipped:", ", ".join(f"{number} in {language}" for language, number in skipped.items()))
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
