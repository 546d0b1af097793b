"""Running an engine in tests: what a generation said, gathered, and whether two answers agree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from laguna_engine.engine import Engine, Request
from laguna_engine.events import ContextOverflow, Event, Finished, FinishReason, Prefill, Stats, Token
from laguna_engine.llama.context import Context
from laguna_engine.llama.context_params import ContextOptions
from laguna_engine.llama.model import Model

NEAR_TIE = 0.5
"""Logits of the tiny models differ by up to 0.13 between batch widths (other kernels, other rounding), and by 7 or more
when the cache is wrong; a typical distance between the best two is 1."""


@dataclass(frozen=True)
class Run:
    """One generation's events, sorted."""

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
    """Equal, or different from a token on where the model itself hardly has a preference."""
    pairs = zip(found, expected, strict=True)
    at = next((index for index, (left, right) in enumerate(pairs) if left != right), None)
    if at is None:
        return
    logits = logits_after(model, prompt + expected[:at])
    margin = logits[expected[at]] - logits[found[at]]
    assert margin < NEAR_TIE, f"token {at} is {found[at]}, not {expected[at]}: off by {margin:.2f}"


def logits_after(model: Model, tokens: list[int]) -> np.ndarray:
    """What a fresh context says comes next."""
    context = Context(model, ContextOptions(n_ctx=len(tokens), n_batch=len(tokens), threads=1))
    context.decode(tokens, 0)
    logits = context.logits()
    context.close()
    return logits
