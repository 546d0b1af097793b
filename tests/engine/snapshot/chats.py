"""Conversations with tiny models for the snapshot tests: what an engine says, with which drafts, and what it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from laguna_engine.config import PLAIN, Drafting, EngineOptions, KvType
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Finished, Token
from laguna_engine.llama.sequence_state import Rows, parse
from laguna_engine.speculate.draft_policy import DraftChoice
from laguna_engine.speculate.speculator import Speculator

EARLIER = [40 + (11 * index) % 400 for index in range(300)]
"""A first prompt, longer than the sliding window of 64, and then some: the 256 cells of its cache are full."""

MESSAGES = [[50 + (7 * index + 13 * turn) % 380 for index in range(60)] for turn in range(6)]


def options(path: Path, kv: KvType = KvType.F16, drafter: Path | None = None, **changes: object) -> EngineOptions:
    values: dict[str, object] = {"n_ctx": 1500, "n_ubatch": 64, "threads": 1, "kv_type": kv, "drafter": drafter}
    return EngineOptions(path, **(values | changes))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Said:
    """An answer: its tokens, the draft of every round, and how much of the prompt was cached."""

    tokens: list[int]
    drafts: tuple[tuple[int, ...], ...]
    cached: int


def say(engine: Engine, prompt: Sequence[int], count: int, drafting: Drafting | None = None) -> Said:
    """The next `count` tokens, greedily, and what was drafted on the way."""
    drafts: list[tuple[int, ...]] = []
    speculator = engine._speculator
    if isinstance(speculator, Speculator) and "_draft" not in vars(speculator):
        original = speculator._draft

        def recorded(choice: DraftChoice) -> object:
            draft = original(choice)
            speculator.recorded.append(tuple(draft.tokens))  # type: ignore[attr-defined]
            return draft

        speculator._draft = recorded  # type: ignore[method-assign, assignment]
    speculator.recorded = drafts  # type: ignore[attr-defined]
    tokens: list[int] = []
    cached = -1
    request = Request(prompt, max_tokens=count, drafting=Drafting() if drafting is None else drafting)
    for event in engine.generate(request):
        if isinstance(event, Token):
            tokens.append(event.id)
        elif isinstance(event, Finished):
            cached = event.stats.cached_tokens
    return Said(tokens, tuple(drafts), cached)


def again(engine: Engine, prompt: Sequence[int], said: Said) -> Said:
    """The same answer with the same drafts in every round, so that every computation has the width it had before."""
    return say(engine, prompt, len(said.tokens), Drafting(script=said.drafts) if said.drafts else PLAIN)


def held(engine: Engine) -> "Held":
    """The cached tokens, and the keys and values of all caches."""
    sequence = engine._sequence

    def look() -> tuple[list[int], list[Rows]]:
        length = sequence.position
        rows, caches = sequence.context.read_rows(0, length)
        window = sequence.context.save_window() if caches > 1 else None
        return list(sequence.tokens[:length]), [rows, *([] if window is None else parse(window.data))]

    return engine._thread.call(look)


Held = tuple[list[int], list[Rows]]


def assert_same_cache(found: Engine, expected: Engine) -> None:
    """Bit for bit."""
    assert_equal(held(found), held(expected))


def assert_equal(found: Held, expected: Held) -> None:
    """The same tokens, keys and values."""
    assert found[0] == expected[0]
    assert len(found[1]) == len(expected[1])
    for left, right in zip(found[1], expected[1], strict=True):
        assert (left.start, left.stop, left.layout) == (right.start, right.stop, right.layout)
        assert all(np.array_equal(a, b) for a, b in zip(left.tensors, right.tensors, strict=True))
