"""A signal from the kernel when the parent process dies, so that a child never outlives it. Linux only.

Loads the C library and nothing of llama.cpp.
"""

import ctypes
import sys

_PR_SET_PDEATHSIG = 1
"""`<sys/prctl.h>`"""


def signal_on_parent_death(number: int) -> bool:
    """Have signal `number` sent to this process when its parent dies; whether the system can do that.

    The parent is the thread that forked this process. One that is dead already sends nothing.
    """
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(number), 0, 0, 0) == 0)
