"""Trial of a build: run in a process of its own, because a build that does not work may crash it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.native.child import Output, python_command, run
from laguna_tui.base.paths import data_root
from laguna_tui.machine.doctor.llama_build import explain_exit, how_to_provide

_LIMIT_S = 600.0
"""Seconds; a driver that must compile the kernels for a card newer than the build takes minutes, once."""

_MODEL = "assets/nano/laguna-nano.gguf"


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
    child = "laguna_tui.machine.setup_gpu.trial_child"
    command = python_command(child, str(data_root() / _MODEL), python=python, first=first)
    return trial_result(run(command, _LIMIT_S))


def trial_result(answer: Output) -> Trial:
    """Return the result of a trial process: it passes when tokens came and a GPU computed them."""
    lines = answer.text.strip().splitlines()
    try:
        facts = json.loads(lines[-1]) if lines else None
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        return Trial(trouble=explain_exit(answer))
    if "error" in facts:
        return Trial(trouble=_explained(str(facts["error"])))
    gpus = tuple(device["name"] for device in facts["devices"] if device["kind"] in ("gpu", "igpu"))
    if not gpus:
        return Trial(trouble=f"it finds no graphics card (backends: {', '.join(facts['backends'])})")
    if not facts["tokens"]:
        return Trial(gpus, trouble="the bundled model generated nothing on it")
    return Trial(gpus, facts["tokens"], facts["seconds"])


def _explained(error: str) -> str:
    """The error, followed by how to install the library that is missing."""
    missing = error.partition("cannot be loaded (")[2].partition(": cannot open shared object")[0]
    return f"{error} – {missing}: {how_to_provide((missing,))}" if missing else error
