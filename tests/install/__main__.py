"""Installs a release in every way and prints a table: `python -m tests.install --dist dist [PATH]...`."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.install.paths import ANSWER, PATHS, Clean, install

_MIB = 1 << 20


def main() -> int:
    """Install; returns the exit code: 1 if the bundled model does not answer correctly somewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, default=Path("dist"), help="folder that packaging/installer.py filled")
    parser.add_argument("--python", default=sys.executable, help="the Python to install with")
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", default=[], help=f"of {', '.join(PATHS)} (default: not source)"
    )
    options = parser.parse_args()
    wrong = 0
    print("| path | installed in | first answer after | size |\n|---|---|---|---|", flush=True)
    for path in options.paths or [each for each in PATHS if each != "source"]:
        with tempfile.TemporaryDirectory(prefix="laguna-install-") as folder:
            found = install(path, Clean(Path(folder), options.dist.resolve(), python=options.python))
        wrong += ANSWER not in found.answer
        times = f"{found.seconds:.0f} s | {found.answer_seconds:.1f} s | {found.nbytes / _MIB:.0f} MiB"
        print(f"| {path} | {times} |{'' if ANSWER in found.answer else f' wrong: {found.answer}'}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
