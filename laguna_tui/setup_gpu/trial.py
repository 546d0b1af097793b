"""Does a build work? It is asked in a process of its own, because one that does not may take its process with it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.native.child import Output, python_command, run
from laguna_tui.base.paths import data_root
from laguna_tui.doctor.llama_build import explain_exit, how_to_provide

_LIMIT_S = 600.0
"""A driver that has to compile the kernels for a card newer than the build takes minutes, once."""

_MODEL = "assets/nano/laguna-nano.gguf"


@dataclass(frozen=True, slots=True)
class Trial:
    """How it went. gpus: the cards it computed on. trouble: why it does not count, empty when it does."""

    gpus: tuple[str, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    trouble: str = ""


Try = Callable[[str, Path | None], Trial]
"""Tries the build of a Python's environment, or the one in a folder beside it."""


def try_nano(python: str, beside: Path | None) -> Trial:
    """Let nano write a few tokens on the GPU."""
    first = () if beside is None else (beside,)
    command = python_command("laguna_tui.setup_gpu.trial_child", str(data_root() / _MODEL), python=python, first=first)
    return trial_result(run(command, _LIMIT_S))


def trial_result(answer: Output) -> Trial:
    """What the answer of `nano` amounts to: it counts when tokens came and a GPU was there to make them."""
    lines = answer.text.strip().splitlines()
    try:
        told = json.loads(lines[-1]) if lines else None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        return Trial(trouble=explain_exit(answer))
    if "error" in told:
        return Trial(trouble=_explained(str(told["error"])))
    gpus = tuple(device["name"] for device in told["devices"] if device["kind"] in ("gpu", "igpu"))
    if not gpus:
        return Trial(trouble=f"it finds no graphics card (backends: {', '.join(told['backends'])})")
    if not told["tokens"]:
        return Trial(gpus, trouble="the bundled model wrote nothing on it")
    return Trial(gpus, told["tokens"], told["seconds"])


def _explained(error: str) -> str:
    """A library that is missing is followed by what brings it."""
    missing = error.partition("cannot be loaded (")[2].partition(": cannot open shared object")[0]
    return f"{error} – {missing}: {how_to_provide((missing,))}" if missing else error
