"""A stretch that was repeated without end does not begin another round, whatever is drafted."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.config import GREEDY, PLAIN, Drafting, Request, Sampling
from laguna_engine.constrain.base import FREE
from laguna_engine.constrain.repetition import NoRepeat
from laguna_engine.engine import Engine, EngineOptions
from laguna_engine.errors import RequestError
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import gumbel
from tests.engine.runs import assert_same_answer, gather, logits_after
from tests.engine.scripted_drafters import Oracle, use
from tests.engine.tiny import END_THINK, THINK

PROMPT = [27 + (13 * index) % 485 for index in range(485)]
"""Every ordinary token once, so that any that follows could begin a stretch of it again."""

SAMPLINGS = {
    "greedy": GREEDY,
    "the most likely": Sampling(temperature=1.0, top_k=1, seed=3),
    "the most likely 20": Sampling(temperature=0.9, top_k=20, seed=3),
    "all that is read": Sampling(temperature=0.9, top_k=256, seed=3),
    "all tokens": Sampling(temperature=0.9, top_p=0.95, seed=4),
    "a penalty": Sampling(temperature=0.0, repeat_penalty=1.2),
}


@pytest.fixture(scope="module")
def opened(tiny_model_path: Path) -> Iterator[Engine]:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=640, threads=1)) as engine:
        yield engine


@pytest.fixture
def engine(opened: Engine) -> Engine:
    opened.clear()
    return opened


def tokens(engine: Engine, prompt: list[int], **settings) -> list[int]:
    settings = {"max_tokens": 12, "drafting": PLAIN} | settings
    return gather(engine.generate(Request(prompt, **settings))).tokens


def banned_after(stretch: list[int], text: list[int]) -> frozenset[int]:
    rule = NoRepeat(stretch, text[:1])
    for token in text[1:]:
        rule.advance(token)
    return rule.mask().banned


@pytest.mark.parametrize(
    "text, banned",
    [
        ([1, 2, 3], {1}),
        ([9, 2, 3, 1], {2}),
        ([1, 2, 3, 1, 2], {3}),
        ([2, 3], set()),
        ([1, 2, 9], set()),
        ([9, 9, 3], set()),
        ([1, 2, 3, 9], set()),
    ],
)
def test_the_token_after_a_whole_round_is_banned_wherever_the_round_began(text, banned):
    assert banned_after([1, 2, 3], text) == banned


def test_of_a_stretch_with_a_token_twice_the_round_decides_what_comes_next():
    assert banned_after([1, 5, 1, 6], [1, 6, 1, 5]) == {1}
    assert banned_after([1, 5, 1, 6], [5, 1, 6, 1]) == {5}
    assert banned_after([1, 5, 1, 6], [6, 1, 5, 1]) == {6}


def test_before_a_whole_round_everything_is_allowed():
    assert NoRepeat([1, 2, 3], [2, 3]).mask() == FREE


def looping(engine: Engine, sampling: Sampling) -> tuple[int, tuple[int, ...]]:
    """The token that follows the prompt, and the stretch of the prompt's end that it would begin again."""
    wanted = tokens(engine, PROMPT, sampling=sampling, max_tokens=1)[0]
    return wanted, tuple(PROMPT[PROMPT.index(wanted) :])


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
def test_a_loop_in_the_prompt_does_not_begin_another_round(engine, sampling):
    wanted, stretch = looping(engine, sampling)
    assert tokens(engine, PROMPT, sampling=sampling, max_tokens=1, no_repeat=(stretch,)) != [wanted]


@pytest.mark.parametrize("k", [1, 20, 256])
def test_the_next_most_likely_takes_the_place_of_the_banned_one(engine, tiny_model, k):
    """Sampled from the k most likely that are allowed, with the noise of the position."""
    sampling = Sampling(temperature=0.9, top_k=k, seed=3)
    wanted, stretch = looping(engine, sampling)
    logits = logits_after(tiny_model, PROMPT)
    logits[wanted] = -np.inf
    top = np.argsort(-logits)[:k]
    noisy = logits[top] / 0.9 + gumbel(3, len(PROMPT), top)
    assert tokens(engine, PROMPT, sampling=sampling, max_tokens=1, no_repeat=(stretch,)) == [top[noisy.argmax()]]


def test_greedily_the_second_most_likely_is_taken(engine, tiny_model):
    _, stretch = looping(engine, GREEDY)
    second = np.argsort(-logits_after(tiny_model, PROMPT))[1]
    assert tokens(engine, PROMPT, max_tokens=1, no_repeat=(stretch,)) == [second]


@pytest.mark.parametrize("length", [1, 3, 7, 16])
def test_drafts_change_nothing_even_if_they_are_the_loop(tiny_model_path: Path, tiny_model: Model, length: int) -> None:
    """The drafter knows the answer that continues with the loop."""
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=640, threads=1)) as engine:
        _, stretch = looping(engine, GREEDY)
        free = tokens(engine, PROMPT)
        plain = tokens(engine, PROMPT, no_repeat=(stretch,))
        for text in ([*PROMPT, *free], [*PROMPT, *plain]):
            use(engine, Oracle(text, engine.vocab.size, 1.0))
            drafted = tokens(engine, PROMPT, no_repeat=(stretch,), drafting=Drafting(length=length))
            assert_same_answer(tiny_model, PROMPT, drafted, plain)
    assert free != plain


def test_several_stretches_and_a_budget_hold_together(engine):
    first, stretch = looping(engine, GREEDY)
    second = tokens(engine, PROMPT, max_tokens=1, no_repeat=(stretch,))[0]
    other = tuple(PROMPT[PROMPT.index(second) :])
    found = tokens(engine, PROMPT, max_tokens=1, no_repeat=(stretch, other))[0]
    assert found not in (first, second)
    thinking = [*PROMPT, THINK]
    assert tokens(engine, thinking, no_repeat=((THINK, END_THINK),), thinking_budget=0, max_tokens=1) == [END_THINK]


def test_a_replay_with_the_same_stretch_is_identical(engine):
    _, stretch = looping(engine, GREEDY)
    found = tokens(engine, PROMPT, no_repeat=(stretch,))
    assert engine.replay(PROMPT, found, no_repeat=(stretch,)).identical
    divergence = engine.replay(PROMPT, found).divergence
    assert divergence is not None
    assert divergence.index == 0


def test_an_empty_stretch_is_refused():
    with pytest.raises(RequestError) as error:
        Request(PROMPT, no_repeat=((),))
    assert str(error.value) == "a stretch that is not to be repeated has no tokens; remove it"
