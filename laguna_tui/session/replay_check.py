"""Replays a generation without speculation and compares it token by token."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from laguna_tui.base.events import ReplayCheck, ReplayDifference, ReplayProgress

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_engine.parity import Divergence
    from laguna_tui.backends.local.answer import GenerationRecord


# Enough text before a difference to find the place: about a line.
_TOKENS_BEFORE = 24


def check_replay(
    engine: "Engine", generated: "GenerationRecord", progress: Callable[[ReplayProgress], None]
) -> ReplayCheck:
    """What came of making `generated` again without speculation. EngineError when the engine fails."""
    begun, total = time.monotonic(), len(generated.tokens)
    progress(ReplayProgress(0, total))
    replay = engine.replay(
        generated.prompt,
        generated.tokens,
        generated.sampling,
        lambda done: progress(ReplayProgress(done, total)),
        generated.rounds,
        generated.thinking_budget,
        generated.no_repeat,
        generated.constraints,
    )
    found = replay.divergence
    difference = _difference(engine, generated, found) if found is not None else None
    return ReplayCheck(replay.compared, total, difference, time.monotonic() - begun)


def _difference(engine: "Engine", generated: "GenerationRecord", found: "Divergence") -> ReplayDifference:
    def text(*some: int) -> str:
        return b"".join(map(engine.vocab.piece, some)).decode("utf-8", "replace")

    before = generated.tokens[max(0, found.index - _TOKENS_BEFORE) : found.index]
    return ReplayDifference(
        index=found.index,
        before=text(*before),
        answered=text(found.expected),
        plain=text(found.found),
        margin=found.margin,
        drawn=generated.sampling.temperature > 0,
        cause=found.cause,
    )
