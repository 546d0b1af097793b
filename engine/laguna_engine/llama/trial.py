"""A model file that is not of Laguna's architecture is opened by a child process first: if that dies, only it does.

What the check of the header (`gguf`) can know of other architectures is not everything that llama.cpp trusts in a file,
and a SIGSEGV or an uncaught C++ exception would end this process. How the child (`trial_child`) ended is remembered for
the file, the build and the processor (`native.verdicts`).
"""

import os
from collections.abc import Callable
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.native import child
from laguna_engine.native.library import trial_command
from laguna_engine.native.verdicts import verdicts

TRIAL = "laguna_engine.llama.trial_child"
"""The program that tries."""

_OPENS, _SLOW = "opens", "slow"

LIMIT_S = 60
"""A file of 20 GB is read from a plain disk in about this time. Slower is no reason not to open it."""

REFUSED = 3
"""Exit code of the child when llama.cpp, or the engine, refuses the file with a reason."""

_CRASHES = frozenset("SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGTRAP SIGSYS".split())
"""Signals that the file is to blame for. Others (SIGKILL, when memory is short) come from outside."""

_NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1", "GGML_VK_VISIBLE_DEVICES": ""}
"""Starting a GPU's driver would take longer than everything else."""

_REASON_CHARS = 120


def check(path: Path, going_on: Callable[[], bool]) -> str | None:
    """Have a child open the file, unless one has. Returns a sentence for the user if that could not be finished.

    Args:
        going_on: asked while the child works; it is given up when this says no.

    Raises:
        ModelFileError: the file kills llama.cpp, or is refused; or the trial was given up.
    """
    subject = _subject(path)
    known = verdicts.get(subject)
    if known is None:
        ended = child.run(
            trial_command(TRIAL, str(path.absolute())),
            LIMIT_S,
            {**os.environ, **_NO_GPU},
            _giving_up(path, going_on),
        )
        if ended.code == REFUSED:
            raise ModelFileError(ended.text.strip())
        known = _verdict(ended)
        if known is None:
            return (
                f"{path.name} could not be tried in a process of its own; if it crashes the app, choose another model"
            )
        verdicts.put(subject, known)
        if known == _SLOW:
            return f"{path.name} was not tried to its end: it takes more than {LIMIT_S} seconds to open"
    if known not in (_OPENS, _SLOW):
        raise ModelFileError(f"{path}: llama.cpp crashes on it ({known}); download it again, or choose another model")
    return None


def _subject(path: Path) -> str:
    """The file as it is now: writing to it, or another file in its place, changes this."""
    try:
        state = path.stat()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    return f"file {state.st_dev} {state.st_ino} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"


def _giving_up(path: Path, going_on: Callable[[], bool]) -> Callable[[], None]:
    def ask() -> None:
        if not going_on():
            raise ModelFileError(f"{path}: loading was cancelled; open it again when wanted")

    return ask


def _verdict(ended: child.Output) -> str | None:
    """What to remember of a trial; None if it says nothing about the file."""
    if ended.good:
        return _OPENS
    if ended.timed_out:
        return _SLOW
    if ended.signal in _CRASHES or ended.code == 1:
        lines = [line.strip() for line in ended.errors.splitlines() if line.strip()]
        reason = lines[-1].rpartition("/vendor/llama.cpp/")[2][:_REASON_CHARS] if lines else ""
        return ", ".join(filter(None, (ended.signal, reason))) or "without a word"
    return None
