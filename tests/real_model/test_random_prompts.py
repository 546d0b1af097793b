"""Random conversations: prompts that are continued, rewound to anywhere and begun again, and stopped at any token."""

import random
from pathlib import Path

import pytest

from laguna_engine.config import EngineOptions, Sampling
from laguna_engine.engine import Drafting, Engine, Request
from laguna_engine.events import Finished, FinishReason, Token

CASES, PROMPTS = 20, 50


@pytest.fixture(scope="module")
def engine(model: Path):
    with Engine.open(EngineOptions(model, n_ctx=256, threads=1)) as found:
        yield found


@pytest.mark.parametrize("case", range(CASES))
@pytest.mark.sampled(CASES)
def test_random_prompts_with_cancels_and_rewinds(engine: Engine, case: int):
    chance = random.Random(case)
    tokens: list[int] = []
    for _ in range(PROMPTS):
        # Rewinds to anywhere, or to the very beginning.
        del tokens[chance.choice([0, *range(len(tokens) + 1), len(tokens), len(tokens), len(tokens)]) :]
        tokens += [chance.randrange(engine.vocab.size) for _ in range(chance.randint(1, 12))]
        if len(tokens) > 200:
            del tokens[: chance.randint(1, len(tokens) - 1)]
        sampling = Sampling(temperature=chance.choice([0.0, 0.8, 2.0]), seed=chance.randrange(1000))
        drafting = Drafting(enabled=chance.random() < 0.7, length=chance.choice([None, 1, 4]), files=(tokens[::-1],))
        stops_at = chance.choice([None, 0, 1, 3])
        before = engine.preview(tokens)
        found: list[int] = []
        stream = engine.generate(Request(tokens, sampling, max_tokens=chance.randint(0, 5), drafting=drafting))
        for event in stream:
            if isinstance(event, Token):
                found.append(event.id)
            if stops_at == len(found):
                stream.stop()
            if isinstance(event, Finished):
                assert event.reason in (FinishReason.CANCELLED, FinishReason.MAX_TOKENS, FinishReason.STOP_TOKEN)
                assert event.stats.cached_tokens == before.cached or event.reason is FinishReason.CANCELLED
                break
        else:
            pytest.fail("a generation had no end")
        tokens += found
    expected = [event.id for event in engine.generate(Request(tokens[:40], max_tokens=3)) if isinstance(event, Token)]
    engine.clear()
    found = [event.id for event in engine.generate(Request(tokens[:40], max_tokens=3)) if isinstance(event, Token)]
    assert found[:1] == expected[:1]
