"""The app's command line with a scripted model: `python -m tests.scripted_model.ask SCRIPT ARGUMENT…`.

SCRIPT is a Python file, or a module of the tests as `package.module:NAME`; its `SCRIPT` (or NAME) is a `Script` or the
lines of one, and its `FAMILY`, if it has one, the model's: a name of `FAMILIES` in `speech.py`. The arguments are those
of `laguna-tui`, without a model.
"""

import importlib
import runpy
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from laguna_tui.cli import main as cli
from tests.scripted_model.model import scripted_file
from tests.scripted_model.script import Lines, Script

TOP = Path(__file__).parents[2]


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    where, *arguments = argv
    with tempfile.TemporaryDirectory() as home:
        script, family = _script(where)
        return run(script, arguments, Path(home), family=family)


def run(
    script: Script | Lines,
    arguments: Sequence[str],
    home: Path,
    program: Callable[[Sequence[str]], int] = cli.main,
    family: str = "",
) -> int:
    """Run a command of a program in this process with a model that follows the script, its file in `home`."""
    path = scripted_file(home / "scripted.gguf", script, family=family)
    # A script may say wrong calls.
    constrain = [] if "--constrain" in arguments else ["--constrain", "off"]
    return program([*arguments, "--model", str(path), "--scorer", "none", *constrain])


def command(script: Path | str, *arguments: str) -> list[str]:
    """The command line of a process of its own; run it with `TOP` in PYTHONPATH."""
    return [sys.executable, "-m", "tests.scripted_model.ask", str(script), *arguments]


def _script(where: str) -> tuple[Script | Lines, str]:
    module, colon, name = where.rpartition(":")
    found = vars(importlib.import_module(module)) if colon else runpy.run_path(where)
    return found[name if colon else "SCRIPT"], found.get("FAMILY", "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
