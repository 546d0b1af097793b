"""Why a process ended: what its signal means for this app, what to do about it, and whether memory ran out."""

import signal
from pathlib import Path

from laguna_engine.native.control_groups import groups, lines

AGAIN = "start it again"
_DOCTOR = "to see whether the installed build works here: laguna-tui doctor"
_VERIFY = "check it: laguna-tui models verify"
_REASONS: dict[int, tuple[str, str]] = {
    signal.SIGKILL: ("it was killed from outside", AGAIN),
    signal.SIGSEGV: ("llama.cpp crashed", _DOCTOR),
    signal.SIGILL: ("llama.cpp was built for another processor", "to see which build suits it: laguna-tui doctor"),
    signal.SIGBUS: ("a file that was open could not be read on, often the model's", _VERIFY),
    signal.SIGFPE: ("llama.cpp divided by zero, often because of a damaged model", _VERIFY),
    signal.SIGABRT: ("llama.cpp gave up", _DOCTOR),
}
_SENT = ("it was sent this signal from outside", AGAIN)
_OUT_OF_MEMORY = ("the system ran out of memory", "start it with a smaller --context")

_ROOT = Path("/")
_SHORT_PERCENT = 10.0
"""Of the last ten seconds, how much something waited for memory; a machine that has enough waits for 0."""


def reason(number: int, *, out_of_memory: bool) -> tuple[str, str]:
    """What happened to a process that this signal ended, and what the user can do: two clauses."""
    return _OUT_OF_MEMORY if out_of_memory else _REASONS.get(number, _SENT)


def signal_name(number: int) -> str:
    """SIGTERM and its like; "signal 42" for one without a name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def memory_is_short(root: Path = _ROOT) -> bool:
    """Whether something had to wait for memory just now. root: of the file system, for tests."""
    return _memory_pressure(root) > _SHORT_PERCENT


def oom_kills(root: Path = _ROOT) -> int:
    """How many processes the kernel has killed for want of memory: in our control group, else on this machine.

    root: of the file system, for tests.
    """
    files = [group / name for group in groups("memory", root) for name in ("memory.events", "memory.oom_control")]
    for file in (*files, root / "proc/vmstat"):
        for line in lines(file):
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _memory_pressure(root: Path) -> float:
    """Percent of the last ten seconds in which something waited for memory; 0 where the kernel does not measure it."""
    for line in lines(root / "proc/pressure/memory"):
        if line.startswith("some avg10="):
            return float(line.split()[1].partition("=")[2])
    return 0.0
