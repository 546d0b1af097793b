"""The tiny parent of the TUI: whatever ends the child, the terminal is given back as it was.

llama.cpp runs in the app's process, so a segmentation fault or an out-of-memory kill takes the app with it, and
no handler inside can restore the terminal. The parent forks before anything heavy is imported, waits, and cleans up.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable

# Everything a full-screen program may have switched on, switched off; harmless where it was off already.
# Synchronised output, mouse (1000, 1002, 1003, 1006, 1015, 1016), focus, bracketed paste, in-band resize, line wrap
# (switched on again), kitty keys, colours, the alternate screen, the cursor.
RESTORE = (
    "\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2004l"
    "\x1b[?1016l\x1b[?2048l\x1b[?7h\x1b[<u\x1b[0m\x1b[?1049l\x1b[?25h"
)
FORWARDED = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def run_supervised(app: Callable[[], int]) -> int:
    """Run `app` in a forked child and return its exit code (128 + n after signal n).

    Without a terminal, or where fork does not exist, `app` runs in this process.
    """
    if not hasattr(os, "fork") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return app()
    import termios

    tty = sys.stdin.fileno()
    saved = termios.tcgetattr(tty)
    # Held back until both sides are ready: one that came in between would end the parent and leave the child alone.
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        _run_child(app)
    status = _wait(child)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) < 128:
        return os.WEXITSTATUS(status)
    with contextlib.suppress(OSError, termios.error):
        os.write(sys.stdout.fileno(), RESTORE.encode())
        termios.tcsetattr(tty, termios.TCSADRAIN, saved)
    return _report(status)


def _run_child(app: Callable[[], int]) -> None:
    code = 1
    try:
        code = app()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int) -> int:
    """Wait for the child; signals meant for us go to it, since it owns the terminal."""

    def forward(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    return os.waitpid(child, 0)[1]


def _report(status: int) -> int:
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    name = signal.Signals(number).name
    why = {
        signal.SIGKILL: "most often the system ran out of memory; try a smaller --context or --kv q8_0",
        signal.SIGSEGV: "llama.cpp crashed; try --gpu-layers 0, and please report it",
        signal.SIGABRT: "llama.cpp gave up; try a smaller --context, and please report it",
    }.get(signal.Signals(number), "it was asked to stop")
    if number not in (signal.SIGTERM, signal.SIGHUP):
        sys.stderr.write(f"laguna-tui: ended by {name}: {why}\n")
    return 128 + number
