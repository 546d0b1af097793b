"""A model file that is not of Laguna's architecture is opened by a child process first: if that dies, only it does.

What the check of the header (`gguf`) can know of other architectures is not everything that llama.cpp trusts in a file,
and a SIGSEGV or an uncaught C++ exception would end this process. The child opens the file on the CPU, mapped, makes
and reads all of its tokens and computes a few of them; it has little memory and time. How it ended is remembered for
the file, the build and the processor (`native.verdicts`).

Run as a program, with the path of a file, it is that child.
"""

import os
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine import child
from laguna_engine.errors import EngineError, ModelFileError
from laguna_engine.native.confine import confine
from laguna_engine.native.library import trial_command
from laguna_engine.native.verdicts import verdicts

if TYPE_CHECKING:
    from laguna_engine.llama.vocab import Vocab

TRIAL = __name__
"""The program that tries."""

_OPENS, _SLOW = "opens", "slow"

_LIMIT_S = 60
"""A file of 20 GB is read from a plain disk in about this time. Slower is no reason not to open it."""

_MEMORY = 2 << 30
"""Bytes that the child may allocate: its cache holds 256 tokens, and weights stay mapped."""

_REFUSED = 3
"""Exit code of the child when llama.cpp, or the engine, refuses the file with a reason."""

_TOKENS, _CONTEXT, _THREADS = 8, 256, 8

_CRASHES = frozenset("SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGTRAP SIGSYS".split())
"""Signals that the file is to blame for. Others (SIGKILL, when memory is short) come from outside."""

_NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1", "GGML_VK_VISIBLE_DEVICES": ""}
"""Starting a GPU's driver would take longer than everything else."""

_REASON_CHARS = 120

_EVERY_BYTE = (*range(1, 0x800), *range(0x1000, 0xD800, 0x800), *range(0xE000, 0x110000, 0x4000))
"""Characters whose UTF-8 together has each byte that occurs in UTF-8."""

_TEXT = "def add(a, b):\n    return a + b\n\n# 12 345,6 \u00e9\u4e2d\U0001f600 <s>\t</s>" + "".join(
    map(chr, _EVERY_BYTE)
)


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
            _LIMIT_S,
            {**os.environ, **_NO_GPU},
            _giving_up(path, going_on),
        )
        if ended.code == _REFUSED:
            raise ModelFileError(ended.text.strip())
        known = _verdict(ended)
        if known is None:
            return (
                f"{path.name} could not be tried in a process of its own; if it crashes the app, choose another model"
            )
        verdicts.put(subject, known)
        if known == _SLOW:
            return f"{path.name} was not tried to its end: it takes more than {_LIMIT_S} seconds to open"
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


def main(path: Path) -> int:
    """Open the file and use it as the app would; the exit code says how it went, the output why it was refused."""
    confine(_MEMORY, _LIMIT_S + 5)
    try:
        _use(path)
    except EngineError as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "backslashreplace"))
        return _REFUSED
    return 0


def _use(path: Path) -> None:
    from laguna_engine.llama.context import Context
    from laguna_engine.llama.model import Model
    from laguna_engine.llama.options import ContextOptions, Outputs, physical_cores

    with closing(Model.open(path, extra_bufts=False, tried=True)) as model:
        _read_vocabulary(model.vocab)
        options = ContextOptions(_CONTEXT, _TOKENS, _TOKENS, threads=min(physical_cores(), _THREADS))
        with closing(Context(model, options)) as context:
            size = model.vocab.size
            spread = [size * (2 * place + 1) // (2 * _TOKENS) for place in range(_TOKENS)]
            context.decode(spread, 0, Outputs.ALL)
            # One token alone takes other kernels.
            context.decode(spread[:1], _TOKENS)
            context.synchronize()


def _read_vocabulary(vocab: "Vocab") -> frozenset[int]:
    """All tokens to bytes, texts with every byte that UTF-8 has to tokens, and the tokens that end an answer."""
    vocab.detokenize(range(vocab.size))
    vocab.id_of("")
    for token in range(vocab.size):
        vocab.is_control(token)
    for text in (_TEXT, *map(chr, _EVERY_BYTE)):
        vocab.tokenize(text, special=True)
        vocab.tokenize(text, special=False)
    return vocab.eog


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
