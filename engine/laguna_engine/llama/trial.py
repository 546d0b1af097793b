"""Opens model files of other architectures than Laguna's in a child process first, so that only the child can crash.

The header check (`gguf`) does not cover everything llama.cpp trusts in files of other architectures, and a SIGSEGV or
an uncaught C++ exception would end this process. The child also measures what the model's memory takes, which no table
of ours says of most architectures. Its result (`trial_child`) is stored for the file, the build and the processor
(`native.verdicts`).
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.native import child
from laguna_engine.native.library import trial_command
from laguna_engine.native.verdicts import verdicts

TRIAL = "laguna_engine.llama.trial_child"
"""The module to run for a trial."""

_OPENS, _SLOW = "opens", "slow"

LIMIT_S = 60
"""Seconds of a trial; a file of 20 GB is read from an ordinary disk in about this time. A slower one is not refused."""

REFUSED = 3
"""Exit code of the child if llama.cpp or the engine refuses the file with a reason."""

_CRASHES = frozenset("SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGTRAP SIGSYS".split())
"""Signals attributed to the file. Others (SIGKILL when memory is short) come from outside."""

_NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1", "GGML_VK_VISIBLE_DEVICES": ""}
"""Starting a GPU's driver would take longer than everything else."""

_REASON_CHARS = 120


@dataclass(frozen=True, slots=True)
class Memory:
    """What a model's memory takes, in bytes, with a cache of f16.

    Attributes:
        token: keys and values of one position, in the layers that attend to everything.
        sliding: likewise, in the sliding-window layers.
        state: the recurrent state; 0 without one.
        rolls_back: whether llama.cpp can take tokens back out of the recurrent state.
    """

    token: int
    sliding: int
    state: int
    rolls_back: bool

    def __str__(self) -> str:
        """Return the four numbers, as `parse` reads them."""
        return f"{self.token} {self.sliding} {self.state} {self.rolls_back:d}"

    @classmethod
    def parse(cls, text: str) -> "Memory | None":
        """Return what `text` says; None if that is not four numbers."""
        words = text.split()
        if len(words) != 4 or not all(word.isascii() and word.isdigit() for word in words):
            return None
        token, sliding, state, rolls_back = map(int, words)
        return cls(token, sliding, state, bool(rolls_back))


@dataclass(frozen=True, slots=True)
class Found:
    """What a trial found.

    Attributes:
        warning: for the user, if it could not be completed.
        memory: None in that case.
    """

    warning: str | None = None
    memory: Memory | None = None


NOTHING = Found()


def check(parts: Sequence[Path], still_wanted: Callable[[], bool] = lambda: True) -> Found:
    """Open a model in a child process unless its verdict is stored.

    Args:
        parts: its GGUF file, or all of them.
        still_wanted: polled while the child runs; False cancels the trial.

    Raises:
        ModelFileError: the file crashes llama.cpp or is refused, or the trial was cancelled.
    """
    path, subject = parts[0], _subject(parts)
    known = verdicts.get(subject)
    # Earlier versions did not measure.
    if known is None or known == _OPENS:
        ended = child.run(
            trial_command(TRIAL, str(path.absolute())),
            LIMIT_S,
            {**os.environ, **_NO_GPU},
            _giving_up(path, still_wanted),
        )
        if ended.code == REFUSED:
            raise ModelFileError(ended.text.strip())
        known = _verdict(ended)
        if known is None:
            return Found(
                f"{path.name} could not be tested in a separate process; if it crashes the app, choose another model"
            )
        verdicts.put(subject, known)
        if known == _SLOW:
            return Found(f"{path.name} was not fully tested: it takes more than {LIMIT_S} seconds to open")
    opens, _, figures = known.partition(" ")
    if opens not in (_OPENS, _SLOW):
        raise ModelFileError(f"{path}: llama.cpp crashes on it ({known}); download it again, or choose another model")
    return Found(memory=Memory.parse(figures))


def _subject(parts: Sequence[Path]) -> str:
    """Return the key of the files' current state, which changes if one is written to or replaced."""
    first, *others = map(_state, parts)
    # A verdict's key has a limited length.
    return f"file {first}" + (f" {blake2b(' '.join(others).encode(), digest_size=16).hexdigest()}" if others else "")


def _state(path: Path) -> str:
    try:
        state = path.stat()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    return f"{state.st_dev} {state.st_ino} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"


def _giving_up(path: Path, still_wanted: Callable[[], bool]) -> Callable[[], None]:
    def ask() -> None:
        if not still_wanted():
            raise ModelFileError(f"{path}: loading was cancelled; open it again when wanted")

    return ask


def _verdict(ended: child.Output) -> str | None:
    """Return the verdict to store; None if the result says nothing about the file."""
    if ended.good:
        return f"{_OPENS} {Memory.parse(ended.text) or ''}".strip()
    if ended.timed_out:
        return _SLOW
    if ended.signal in _CRASHES or ended.code == 1:
        lines = [line.strip() for line in ended.errors.splitlines() if line.strip()]
        reason = lines[-1].rpartition("/vendor/llama.cpp/")[2][:_REASON_CHARS] if lines else ""
        return ", ".join(filter(None, (ended.signal, reason))) or "without a message"
    return None
