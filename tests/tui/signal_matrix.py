"""Every signal, in every state of the app, to every target: is the terminal as it was, is anything left running?

`python -m tests.tui.signal_matrix [--states …] [--signals …] [--targets …] [--repeat N] [--real]` prints a line for
each combination that fails, and figures. A SIGKILL to the whole job is left out: nobody is left to mend anything. With
`--real` it is the program as a user starts it, with the bundled model, which answers about this repository.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from laguna_tui.supervise import _DEAF_S
from tests.tui.job import ROOT, Job
from tests.tui.supervised import STATES

SIGNALS = "INT TERM HUP QUIT TSTP CONT KILL SEGV ABRT BUS ILL FPE PIPE USR1 USR2 ALRM".split()
TARGETS: dict[str, Callable[[Job, int], None]] = {
    "parent": lambda job, number: os.kill(job.pid, number),
    "child": lambda job, number: os.kill(job.child, number),
    "group": lambda job, number: os.killpg(job.pid, number),
}
REAL_STATES = {"loading": b"loading", "idle": b"ready", "answering": b"reading"}
FRAME_BYTES = 2000
"""A whole screen takes more, a clock or a cursor less."""
ENDING = ("INT", "TERM", "HUP", "QUIT")
LIVES_ON = ("TSTP", "CONT", "PIPE")
QUIT_KEY = b"\x11"


@dataclass(frozen=True, slots=True)
class Case:
    """One combination."""

    signal: str
    state: str
    target: str

    def __str__(self) -> str:
        return f"SIG{self.signal} to the {self.target} while {self.state}"

    @property
    def number(self) -> int:
        return signal.Signals[f"SIG{self.signal}"]


def cases(
    signals: Sequence[str] = SIGNALS, states: Sequence[str] = tuple(STATES), targets: Sequence[str] = tuple(TARGETS)
) -> Iterator[Case]:
    for state, name, target in product(states, signals, targets):
        if (name, target) != ("KILL", "group"):
            yield Case(name, state, target)


def start(state: str, folder: str) -> Job:
    """The app on the scripted session, in this state."""
    job = Job(sys.executable, "-m", "tests.tui.supervised", state, folder)
    if state in ("answering", "asking", "kept"):
        job.wait_for(STATES["idle"])
        job.type(b"go\r")
    job.wait_for(STATES[state])
    return job


def start_real(state: str, folder: str) -> Job:
    """The program with the bundled model, in this state; its own files are in the folder."""
    command = [sys.executable, "-m", "laguna_tui", "--folder", str(ROOT)]
    job = Job(*command, environment={"XDG_STATE_HOME": folder, "XDG_CACHE_HOME": folder})
    job.wait_for(REAL_STATES[state if state == "loading" else "idle"])
    if state == "answering":
        job.forget()
        job.type(b"where is Workspace defined?\r")
        job.wait_for(REAL_STATES[state])
    return job


def check(case: Case, job: Job, *, keeps: bool = False) -> list[str]:
    """Send the signal; what is wrong then. keeps: a session is being kept, which a crash asks about."""
    wrong = []
    TARGETS[case.target](job, case.number)
    if case.signal == "TSTP":
        wrong += _check_stop(job)
    if case.signal in LIVES_ON:
        wrong += _check_life(case, job)
        expected = 0
    elif case.signal == "KILL" and case.target == "parent":
        expected = -signal.SIGKILL
    else:
        expected = 128 + case.number
        if keeps and case.signal not in ENDING:
            _leave_the_question(job)
    code = job.expect("ended")
    job.wait_until_none_is_left()
    if code != expected:
        wrong.append(f"exit code {code} instead of {expected}")
    if b"Traceback" in job.written:
        wrong.append("a traceback")
    return wrong + [f"left: {what}" for what in job.left_behind]


def _leave_the_question(job: Job) -> None:
    """It asks whether to go on."""
    job.wait_for(b"q quits")
    time.sleep(_DEAF_S + 0.1)
    job.type(b"q")


def _check_stop(job: Job) -> list[str]:
    job.expect("stopped")
    job.read_what_is_there()
    left = [f"left at the stop: {what}" for what in job.left_behind]
    running = [process for process in job.processes() if not _is_stopped(process) and _group(process) == job.pid]
    job.forget()
    job.go_on()
    return left + ["not all of it stopped"] * bool(running)


def _check_life(case: Case, job: Job) -> list[str]:
    """It is there and draws; then it is left."""
    if case.state == "starting":
        job.wait_for(STATES["idle"])
    elif case.signal == "TSTP":
        job.until(lambda: 1049 in job.screen.on and len(job.written) > FRAME_BYTES, "a drawn screen")
    else:
        # Long enough for a signal that ends it to do so.
        time.sleep(0.2)
    wrong = [] if len(job.processes()) >= 2 else ["it is not there any more"]
    job.type(QUIT_KEY)
    return wrong


def _group(process: int) -> int:
    try:
        return os.getpgid(process)
    except ProcessLookupError:
        return 0


def _is_stopped(process: int) -> bool:
    with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0] == "T"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signals", nargs="+", default=SIGNALS)
    parser.add_argument("--states", nargs="+", default=list(STATES))
    parser.add_argument("--targets", nargs="+", default=list(TARGETS))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--real", action="store_true")
    arguments = parser.parse_args()
    begin = start_real if arguments.real else start
    states = [state for state in arguments.states if not arguments.real or state in REAL_STATES]
    count, failed = 0, Counter[str]()
    begun = time.monotonic()
    for _ in range(arguments.repeat):
        for case in cases(arguments.signals, states, arguments.targets):
            with tempfile.TemporaryDirectory() as folder, begin(case.state, folder) as job:
                try:
                    keeps = case.state == ("answering" if arguments.real else "kept")
                    wrong = check(case, job, keeps=keeps)
                except AssertionError as error:
                    wrong = [str(error)]
            count += 1
            failed[case.state] += bool(wrong)
            for each in wrong:
                print(f"{case}: {each}", flush=True)
    print(f"{count} combinations, {failed.total()} failed ({dict(failed)}), {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
