"""Walk through the tasks and keep the last screens of each.

    python -m tests.first_minutes [TASK ...] [--size 80x24] [--out FOLDER]

Needs tmux and git. Each walk begins in an unchanged clone of this repository, with a new home folder.
`screens/TASK.svg` gets its screens of all sizes; `--text` prints them instead.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.first_minutes.tasks import TASKS, Task
from tests.first_minutes.terminal import Shot, Terminal, picture

TOP = Path(__file__).resolve().parents[2]
PICTURES = "tests/first_minutes/screens"
FOLDER = "laguna-tui"
SIZES = ("40x24", "80x24", "120x40", "200x50")
ACROSS = 200
"""Cells of the widest one."""


def main() -> None:
    """Walk through all that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="names of tasks; all without any")
    parser.add_argument("--size", action="append", metavar="WIDTHxHEIGHT", help="of the terminal; all four without it")
    parser.add_argument("--out", type=Path, default=TOP / PICTURES)
    parser.add_argument("--text", action="store_true", help="print the screens and write no picture")
    options = parser.parse_args()
    unknown = set(options.tasks) - {task.name for task in TASKS}
    if unknown:
        parser.error(f"no task {', '.join(sorted(unknown))}; choose from {', '.join(task.name for task in TASKS)}")
    with tempfile.TemporaryDirectory(prefix="you-", ignore_cleanup_errors=True) as name:
        top = Path(name)
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", TOP, top / FOLDER], check=True)
        # The pictures have the words that are asked for in them.
        git(top, "sparse-checkout", "set", "--no-cone", "/*", f"!{PICTURES}")
        for task in TASKS:
            if options.tasks and task.name not in options.tasks:
                continue
            shots = [walk(task, size, top) for size in options.size or SIZES]
            if options.text:
                for shot in shots:
                    print(f"== {task.name} at {shot.width}x{shot.height}: {task.want}", flush=True)
                    print("\n".join(row.plain.rstrip() for row in shot.rows), flush=True)
            else:
                options.out.mkdir(parents=True, exist_ok=True)
                (options.out / f"{task.name}.svg").write_text(picture(shots, ACROSS), encoding="utf-8")
                print(task.name, flush=True)


def git(top: Path, *arguments: str) -> None:
    """Run git in the clone."""
    subprocess.run(["git", *arguments], cwd=top / FOLDER, check=True)


def walk(task: Task, size: str, top: Path) -> Shot:
    """Do one task in a terminal of this size, and return its screen; `top` has the clone."""
    width, height = map(int, size.split("x"))
    folder = top / FOLDER
    git(top, "reset", "-q", "--hard")
    git(top, "clean", "-q", "-f", "-d")
    with tempfile.TemporaryDirectory(prefix="home-", dir=top, ignore_cleanup_errors=True) as home:
        command = [sys.executable, "-m", "laguna_tui"]
        if task.script:
            command = [sys.executable, "-m", "tests.first_minutes.agent", task.script, str(folder)]
        with Terminal(command, folder, (width, height), environment(Path(home), top / "cache")) as terminal:
            try:
                for step in task.steps:
                    step(terminal)
                terminal.settle()
            except TimeoutError as error:
                print(f"{task.name} at {size}: {error}", file=sys.stderr)
            return Shot(width, height, terminal.screen())


def environment(home: Path, cache: Path) -> dict[str, str]:
    """Return the variables of a newcomer: an empty home, a terminal with colours, a known editor.

    `cache` saves the index of the clone from one walk to the next.
    """
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{TOP}{os.pathsep}{TOP / 'engine'}",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "EDITOR": shutil.which("nano") or "vi",
        **{f"XDG_{part}_HOME": str(home / part.lower()) for part in ("CONFIG", "DATA", "STATE")},
        "XDG_CACHE_HOME": str(cache),
    }


if __name__ == "__main__":
    main()
