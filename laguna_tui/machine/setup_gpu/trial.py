"""Tests a build: in a process of its own the bundled model generates a few tokens, every layer on the GPU."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.native.child import Output, python_command, run
from laguna_tui.base.paths import data_root
from laguna_tui.machine.child_check import CheckFailed, answer, read_answer
from laguna_tui.machine.doctor.llama_build import ComputeDevice, how_to_provide, load_llama

_LIMIT_S = 600.0
"""Seconds; a driver that must compile the kernels for a card newer than the build takes minutes, once."""

_MODEL = "assets/nano/laguna-nano.gguf"
_PROMPT, _TOKENS, _CONTEXT = "def main(", 16, 512


@dataclass(frozen=True, slots=True)
class _Generated:
    """What the trial process computed, and on which devices."""

    backends: tuple[str, ...]
    devices: tuple[ComputeDevice, ...]
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of a trial.

    Attributes:
        gpus: Cards it computed on.
        tokens: Tokens generated.
        seconds: Time for these.
        trouble: Why it failed; empty when it passed.
    """

    gpus: tuple[str, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    trouble: str = ""


Try = Callable[[str, Path | None], Trial]
"""Tries the build in a Python's environment, or the one in a folder beside it."""


def try_nano(python: str, beside: Path | None) -> Trial:
    """Let the bundled nano model generate a few tokens on the GPU."""
    first = () if beside is None else (beside,)
    command = python_command(
        "laguna_tui.machine.setup_gpu.trial", str(data_root() / _MODEL), python=python, first=first
    )
    return trial_result(run(command, _LIMIT_S))


def trial_result(output: Output) -> Trial:
    """Return the result of a trial process: it passes when tokens came and a GPU computed them."""
    try:
        found = read_answer(output, _Generated)
    except CheckFailed as failure:
        return Trial(trouble=_explained(str(failure)))
    gpus = tuple(device.name for device in found.devices if device.kind in ("gpu", "igpu"))
    if not gpus:
        return Trial(trouble=f"it finds no graphics card (backends: {', '.join(found.backends)})")
    if not found.tokens:
        return Trial(gpus, trouble="the bundled model generated nothing on it")
    return Trial(gpus, found.tokens, found.seconds)


def _explained(error: str) -> str:
    """Return the error, followed by how to install the library that is missing."""
    missing = error.partition("cannot be loaded (")[2].partition(": cannot open shared object")[0]
    return f"{error} – {missing}: {how_to_provide((missing,))}" if missing else error


def _generate(model: str) -> _Generated:
    from laguna_engine.config import Speculation
    from laguna_engine.engine import Engine, EngineOptions, Request
    from laguna_engine.events import Token

    options = EngineOptions(Path(model), n_ctx=_CONTEXT, gpu_layers=-1, speculation=Speculation.OFF)
    with Engine.open(options) as engine:
        prompt = engine.vocab.tokenize(_PROMPT, special=False)
        begun = time.perf_counter()
        events = list(engine.generate(Request(prompt, max_tokens=_TOKENS)))
        seconds = time.perf_counter() - begun
    build = load_llama()
    return _Generated(build.backends, build.devices, sum(isinstance(event, Token) for event in events), seconds)


if __name__ == "__main__":
    sys.exit(answer(_generate))
