"""Another program's generation: it waits while the engine's own user has one, and gives way when that comes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.config import PLAIN, EngineOptions, Sampling
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Finished, FinishReason, Token

SAMPLING = Sampling(temperature=1.0, seed=7)


@pytest.fixture
def engine(tiny_model_path: Path) -> Iterator[Engine]:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=1500, threads=1)) as engine:
        yield engine


def request(prompt: list[int], count: int = 400) -> Request:
    return Request(prompt, SAMPLING, max_tokens=count, drafting=PLAIN)


async def rest(stream) -> tuple[list[int], FinishReason]:
    tokens, reason = [], None
    async for event in stream:
        if isinstance(event, Token):
            tokens.append(event.id)
        elif isinstance(event, Finished):
            reason = event.reason
    return tokens, reason


async def test_a_guest_gives_way_and_goes_on_exactly_where_it_was(engine: Engine):
    prompt = list(range(40, 80))
    whole, _ = await rest(engine.agenerate(request(prompt)))
    engine.hold_conversations(64 << 20)
    free = asyncio.Event()
    loop = asyncio.get_running_loop()
    engine.when_free(lambda: loop.call_soon_threadsafe(free.set))
    guest = engine.agenerate_guest(request(prompt))
    first = await anext(guest)
    own = engine.agenerate(request(list(range(200, 240)), 20))
    tokens, reason = await rest(guest)
    assert reason is FinishReason.CANCELLED
    assert len((await rest(own))[0]) == 20
    while (again := engine.agenerate_guest(request([*prompt, *tokens], 400 - len(tokens)))) is None:
        await asyncio.wait_for(free.wait(), 60)
        free.clear()
    following, reason = await rest(again)
    assert [*([first.id] if isinstance(first, Token) else []), *tokens, *following][-400:] == whole
    assert reason is FinishReason.MAX_TOKENS


async def test_a_guest_is_not_let_in_while_the_user_has_a_generation(engine: Engine):
    own = engine.agenerate(request(list(range(40, 80))))
    assert engine.agenerate_guest(request([50, 51])) is None
    assert (await rest(own))[1] is FinishReason.MAX_TOKENS


async def test_the_users_cancel_leaves_a_guest_alone(engine: Engine):
    guest = engine.agenerate_guest(request(list(range(40, 80)), 50))
    engine.cancel()
    tokens, reason = await rest(guest)
    assert (len(tokens), reason) == (50, FinishReason.MAX_TOKENS)
