"""Installs a release in every way and prints a table: `python -m tests.install --dist dist [PATH]...`."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.install.paths import ANSWER, PATHS, Clean, install

_MIB = 1 << 20


def main() -> int:
    """Install; returns the exit code: 1 if the bundled model does not answer correctly somewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, default=Path("dist"), help="folder that packaging/installer.py filled")
    parser.add_argument("--python", action="append", help="a Python to install with, any number (default: this one)")
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", default=[], help=f"of {', '.join(PATHS)} (default: not source)"
    )
    options = parser.parse_args()
    paths = options.paths or [each for each in PATHS if each != "source"]
    print("| Python | path | installed in | first answer after | size |\n|---|---|---|---|---|", flush=True)
    rows = [row(python, path, options.dist) for python in options.python or [sys.executable] for path in paths]
    return int(not all(rows))


def row(python: str, path: str, dist: Path) -> bool:
    """Install, and print a row of the table; returns whether the bundled model answers correctly."""
    with tempfile.TemporaryDirectory(prefix="laguna-install-") as folder:
        clean = Clean(Path(folder), dist.resolve(), python=python)
        begun = f"| {clean.version} | {path} |"
        try:
            found = install(path, clean)
        except subprocess.CalledProcessError as error:
            print(f"{begun} failed: {error} |", flush=True)
            return False
    times = f"{found.seconds:.0f} s | {found.answer_seconds:.1f} s | {found.nbytes / _MIB:.0f} MiB"
    correct = ANSWER in found.answer
    print(f"{begun} {times} |{'' if correct else f' wrong: {found.answer}'}", flush=True)
    return correct


if __name__ == "__main__":
    sys.exit(main())
