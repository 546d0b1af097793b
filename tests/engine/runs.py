"""Helpers to run an engine in tests: the events of a generation, and the comparison of two answers."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from laguna_engine.engine import Engine, Request
from laguna_engine.events import ContextOverflow, Event, Finished, FinishReason, Prefill, Stats, Token
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model

NEAR_TIE = 0.5
"""Logits of the tiny models differ by up to 0.13 between batch widths (other kernels, other rounding), and by 7 or more
if the cache is wrong; a typical margin between the best two is 1."""


@dataclass(frozen=True)
class Run:
    """The events of one generation, by type."""

    events: list[Event]

    @property
    def tokens(self) -> list[int]:
        return [event.id for event in self.events if isinstance(event, Token)]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Token))

    @property
    def prefills(self) -> list[Prefill]:
        return [event for event in self.events if isinstance(event, Prefill)]

    @property
    def overflows(self) -> list[ContextOverflow]:
        return [event for event in self.events if isinstance(event, ContextOverflow)]

    @property
    def reason(self) -> FinishReason:
        return self._finished.reason

    @property
    def stats(self) -> Stats:
        return self._finished.stats

    @property
    def _finished(self) -> Finished:
        last = self.events[-1]
        assert isinstance(last, Finished)
        return last


def gather(events: Iterable[Event]) -> Run:
    return Run(list(events))


def answer(engine: Engine, tokens: Sequence[int], count: int) -> list[int]:
    """The next `count` tokens, greedily."""
    return gather(engine.generate(Request(tokens, max_tokens=count))).tokens


def assert_same_answer(model: Model, prompt: list[int], found: list[int], expected: list[int]) -> None:
    """Whether the answers are equal, or differ first at a token where the two best are nearly equal."""
    pairs = zip(found, expected, strict=True)
    at = next((index for index, (left, right) in enumerate(pairs) if left != right), None)
    if at is None:
        return
    logits = logits_after(model, prompt + expected[:at])
    margin = logits[expected[at]] - logits[found[at]]
    assert margin < NEAR_TIE, f"token {at} is {found[at]}, not {expected[at]}: off by {margin:.2f}"


def logits_after(model: Model, tokens: list[int]) -> np.ndarray:
    """The next token according to a fresh context."""
    context = Context(model, ContextOptions(n_ctx=len(tokens), n_batch=len(tokens), threads=1))
    context.decode(tokens, 0)
    logits = context.logits()
    context.close()
    return logits


def in_a_strict_process(script: Path, *arguments: str) -> str:
    """What a script prints, run in a process that has computed nothing yet, so that arithmetic can be strict."""
    environment = {name: value for name, value in os.environ.items() if name != "GGML_CPU_TILED_MM"}
    run = subprocess.run(
        [sys.executable, str(script), *arguments],
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[:2000] + run.stderr[-4000:]
    return run.stdout
