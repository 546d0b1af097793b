"""Kills processes with SIGKILL, and checks what they leave.

    python -m tests.kills NAME [COUNT [SEED]]

A `Victim` works in a folder in a forked process that is killed at a random moment; its `check` then runs in another
one. The victims are listed in `VICTIMS`; the test run has a sample of each (`test_kills.py`). `kill_at_step` kills at
a given step instead.
"""

import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

TOP = Path(__file__).parents[1]
VICTIMS = {
    "app": "tests.app.session.app_kills:App",
    "history": "tests.app.session.history_kills:ChangingSession",
    "index": "tests.app.repo.search.index_kills:IndexWriter",
    "journal": "tests.app.store.journal_kills:JournalWriter",
    "snapshot": "tests.engine.snapshot.chunk_kills:ChunkFileWriter",
}
Report = Callable[[str], None]
"""Reports a line: something that is done and must not be lost."""


class Victim(ABC):
    """Work that is killed again and again in one folder.

    Attributes:
        longest_s: The longest time from the first report to the kill.
        kills_per_folder: After so many kills a new folder is begun, so that the checks stay quick.
        most_processes: How many work side by side at most.
        modules: Imported before the first fork, instead of in every process.
        state: What the last process was doing when it was killed.
    """

    longest_s: ClassVar[float]
    kills_per_folder: ClassVar[int] = 20
    most_processes: ClassVar[int] = 1
    modules: ClassVar[Sequence[str]] = ()

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, "working"

    @abstractmethod
    def work(self, chance: random.Random, report: Report) -> None:
        """Work until this process is killed. Nothing is killed before its first report."""

    @abstractmethod
    def check(self, reports: Sequence[str], report: Report) -> None:
        """Check what the killed processes left, after `reports`.

        Raises:
            AssertionError: Something is lost, torn or locked.
        """

    def learn(self, line: str) -> None:  # noqa: B027
        """Take a report of `work` or `check`, in the process that lives on."""

    def kill(self, chance: random.Random) -> Sequence[str]:
        """Start processes that `work`, kill them at a random moment, and return their reports."""
        seeds = [chance.randrange(1 << 30) for _ in range(chance.randint(1, self.most_processes))]
        processes = [_fork(lambda report, seed=seed: self.work(random.Random(seed), report)) for seed in seeds]
        reports = [os.read(descriptor, 1) for _, descriptor in processes]
        time.sleep(chance.uniform(0, self.longest_s))
        for pid, _ in processes:
            os.kill(pid, signal.SIGKILL)
        lines = list[str]()
        for first, (pid, descriptor) in zip(reports, processes, strict=True):
            with os.fdopen(descriptor, "rb") as rest:
                # A line that is not finished reports nothing.
                own = (first + rest.read()).decode().split("\n")[:-1]
            status = os.waitpid(pid, 0)[1]
            assert os.WIFSIGNALED(status), f"it ended by itself after {own[-1:]}"
            lines += own
        return lines


def run_kills(kind: type[Victim], count: int, seed: int, top: Path) -> tuple[Counter[str], Counter[str]]:
    """Kill `count` times in folders of `top`, and check after each.

    Returns:
        The kills, and those that left a fault, by the victim's state. The folders of the faults stay.
    """
    for module in kind.modules:
        importlib.import_module(module)
    chance, kills, faults = random.Random(seed), Counter[str](), Counter[str]()
    victim, left = None, 0
    for number in range(count):
        if victim is None or not left:
            if victim is not None:
                shutil.rmtree(victim.folder)
            folder = top / str(number)
            folder.mkdir()
            victim, left = kind(folder), kind.kills_per_folder
        left -= 1
        own, whole = chance.randrange(1 << 30), True
        try:
            reports = victim.kill(random.Random(own))
            for line in reports:
                victim.learn(line)
            _check_in_a_fork(victim, reports)
        except AssertionError as error:
            whole = False
            print(f"kill {number} while {victim.state}, in {victim.folder}: {error}", file=sys.stderr)
        kills[victim.state] += 1
        if not whole:
            faults[victim.state] += 1
            victim = None
    return kills, faults


def survives(name: str, count: int, seed: int = 1) -> str:
    """Kill in a process of its own, which may fork because it has one thread; return the table of the kills.

    Raises:
        AssertionError: A kill left a fault.
    """
    command = [sys.executable, "-m", "tests.kills", name, str(count), str(seed)]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:] + done.stdout
    return done.stdout


def kill_at_step(step: int, *functions: tuple[Any, str]) -> None:
    """Kill this process when these functions, each an attribute of an owner, are called for the `step`-th time."""
    calls = iter(range(step))

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if next(calls, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return call

    for owner, name in functions:
        setattr(owner, name, counted(getattr(owner, name)))


def table(kills: Counter[str], faults: Counter[str]) -> Iterator[str]:
    """Yield the lines of a Markdown table of the counts."""
    yield "| killed while | kills | faults |"
    yield "|---|---:|---:|"
    for state in sorted(kills):
        yield f"| {state} | {kills[state]} | {faults[state]} |"
    yield f"| all | {kills.total()} | {faults.total()} |"


def _fork(work: Callable[[Report], None]) -> tuple[int, int]:
    """Run `work` in a copy of this process; return its id, and the descriptor of its reports."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    code = 1
    try:
        os.close(reading)
        work(lambda line: _write_line(writing, line))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _write_line(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())


def _check_in_a_fork(victim: Victim, reports: Sequence[str]) -> None:
    """Check in a process of its own: it may begin threads, after which this one could not fork."""
    pid, descriptor = _fork(lambda report: victim.check(reports, report))
    with os.fdopen(descriptor) as lines:
        for line in lines:
            victim.learn(line.removesuffix("\n"))
    assert os.waitpid(pid, 0)[1] == 0, "the check failed"


def main(name: str, count: str = "100", seed: str = "1") -> int:
    """Kill, and print the table; return 1 if a kill left a fault."""
    top = Path(tempfile.mkdtemp(prefix=f"killed-{name}-"))
    # It would begin threads.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ |= {f"XDG_{kind}_HOME": str(top / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
    module, _, kind = VICTIMS[name].partition(":")
    kills, faults = run_kills(getattr(importlib.import_module(module), kind), int(count), int(seed), top)
    print("\n".join(table(kills, faults)))
    if not faults:
        shutil.rmtree(top)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
