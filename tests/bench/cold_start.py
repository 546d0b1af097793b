"""Startup time of `laguna-tui --help` and of the TUI's first whole frame, and its memory without a model.

Run by hand: `python -m tests.bench.cold_start`. Goals: help under 0.3 s, first frame under 1 s, under 120 MB resident.
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pexpect
import psutil

RUNS = 7
MB = 1024 * 1024
# The screen is settled when nothing more was written for this long.
QUIET_S = 0.5
COMMAND = [sys.executable, "-m", "laguna_tui"]


def help_seconds() -> float:
    """Return wall seconds of `laguna-tui --help`, median."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([*COMMAND, "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return median(times)


def first_frame(model: Path) -> tuple[float, int]:
    """Return seconds until the input is on a real terminal's screen, and the app's resident bytes once it is quiet.

    `model` is a file that is refused before llama.cpp opens it, so that this is the TUI without a model.
    """
    start = time.perf_counter()
    child = pexpect.spawn(COMMAND[0], [*COMMAND[1:], "--model", str(model)], dimensions=(24, 80), timeout=30)
    child.expect("Ask")
    seconds = time.perf_counter() - start
    with contextlib.suppress(pexpect.TIMEOUT):
        while True:
            child.read_nonblocking(65536, timeout=QUIET_S)
    family = [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]
    # Shared pages of the supervising parent and its fork are counted once.
    resident = sum(process.memory_full_info().pss for process in family)
    child.close(force=True)
    return seconds, resident


def main() -> None:
    """Measure and print one Markdown table."""
    with tempfile.TemporaryDirectory() as folder:
        broken = Path(folder) / "no-model.gguf"
        broken.write_bytes(b"not a model")
        frames = [first_frame(broken) for _ in range(RUNS)]
    print("| measure | median | goal |\n|---|---|---|")
    print(f"| `laguna-tui --help` | {help_seconds():.3f} s | 0.3 s |")
    print(f"| TUI, first frame | {median(seconds for seconds, _ in frames):.3f} s | 1 s |")
    print(f"| TUI without a model, resident | {median(size for _, size in frames) / MB:.0f} MB | 120 MB |")


if __name__ == "__main__":
    main()
