"""The app's command line with a scripted model: `python -m tests.scripted_model.ask SCRIPT ARGUMENT…`.

SCRIPT is a Python file, or a module of the tests as `package.module:NAME`; its `SCRIPT` (or NAME) is a `Script` or the
lines of one. The arguments are those of `laguna-tui`, without a model.
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
        return run(_script(where), arguments, Path(home))


def run(
    script: Script | Lines, arguments: Sequence[str], home: Path, program: Callable[[Sequence[str]], int] = cli.main
) -> int:
    """Run a command of a program in this process with a model that follows the script, its file in `home`."""
    path = scripted_file(home / "scripted.gguf", script)
    # A script may say wrong calls.
    constrain = [] if "--constrain" in arguments else ["--constrain", "off"]
    return program([*arguments, "--model", str(path), "--scorer", "none", *constrain])


def command(script: Path | str, *arguments: str) -> list[str]:
    """The command line of a process of its own; run it with `TOP` in PYTHONPATH."""
    return [sys.executable, "-m", "tests.scripted_model.ask", str(script), *arguments]


def _script(where: str) -> Script | Lines:
    module, colon, name = where.rpartition(":")
    if colon:
        return getattr(importlib.import_module(module), name)
    return runpy.run_path(where)["SCRIPT"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
