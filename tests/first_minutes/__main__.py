"""Walk through the tasks and keep the last screen of each.

    python -m tests.first_minutes [TASK ...] [--size 80x24] [--out FOLDER]

Needs tmux and git. Each task gets a fresh clone of this repository and a home folder of its own. Pictures land in
`screens/SIZE/TASK.svg`; `--text` prints the screens instead.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.first_minutes.tasks import TASKS, Task
from tests.first_minutes.terminal import Terminal

TOP = Path(__file__).resolve().parents[2]
SIZES = ("80x24", "120x40", "200x50", "40x24")


def main() -> None:
    """Walk through all that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="names of tasks; all without any")
    parser.add_argument("--size", action="append", metavar="WIDTHxHEIGHT", help="of the terminal; all four without it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "screens")
    parser.add_argument("--text", action="store_true", help="print the screens and write no picture")
    options = parser.parse_args()
    unknown = set(options.tasks) - {task.name for task in TASKS}
    if unknown:
        parser.error(f"no task {', '.join(sorted(unknown))}; choose from {', '.join(task.name for task in TASKS)}")
    for size in options.size or SIZES:
        for task in TASKS:
            if not options.tasks or task.name in options.tasks:
                walk(task, size, None if options.text else options.out / size)


def walk(task: Task, size: str, out: Path | None) -> None:
    """Do one task in a terminal of this size, and keep its screen."""
    width, height = map(int, size.split("x"))
    with tempfile.TemporaryDirectory(prefix="you-", ignore_cleanup_errors=True) as name:
        folder, home = Path(name) / "laguna-tui", Path(name) / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "-q", "--shared", TOP, folder], check=True)
        command = [sys.executable, "-m", "laguna_tui"]
        if task.script:
            command = [sys.executable, "-m", "tests.first_minutes.agent", task.script, str(folder)]
        with Terminal(command, folder, (width, height), environment(home)) as terminal:
            try:
                for step in task.steps:
                    step(terminal)
                terminal.settle()
            except TimeoutError as error:
                print(f"{task.name} at {size}: {error}", file=sys.stderr)
            if out is None:
                print(f"== {task.name} at {size}: {task.want}\n{terminal.text()}", flush=True)
                return
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{task.name}.svg").write_text(terminal.picture(), encoding="utf-8")
            print(f"{task.name} at {size}", flush=True)


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a newcomer: an empty home, a terminal with colours, a known editor."""
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(TOP),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "EDITOR": shutil.which("nano") or "vi",
        **{f"XDG_{part}_HOME": str(home / part.lower()) for part in ("CONFIG", "DATA", "STATE", "CACHE")},
    }


if __name__ == "__main__":
    main()
