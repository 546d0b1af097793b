"""Limits that a child process sets itself before it does what may crash it."""

import ctypes
import signal
import sys
from pathlib import Path

_PR_SET_DUMPABLE = 4
"""`<linux/prctl.h>`."""

_DATA_FIELD = 5
"""Of `/proc/self/statm`: pages of data and stack."""


def confine(memory: int, seconds: int) -> None:
    """Leave no core file, allocate at most `memory` bytes more, and end after `seconds` in any case, so also when the
    parent is gone. Files that are mapped to be read do not count as memory, which only Linux limits.
    """
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[_DATA_FIELD]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (held + memory, held + memory))
        # A core file that the kernel hands to a program (systemd-coredump, apport) is not subject to that limit.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
