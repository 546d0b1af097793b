"""A thinking budget leaves only `</think>` once it is used up, whatever is drafted and however tokens are sampled."""

from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.config import GREEDY, PLAIN, Drafting, Request, Sampling
from laguna_engine.constrain.base import FREE
from laguna_engine.constrain.thinking import ThinkingBudget
from laguna_engine.engine import Engine, EngineOptions
from laguna_engine.errors import RequestError
from laguna_engine.events import Round, Source, Token
from laguna_engine.llama.model import Model
from tests.engine import tiny
from tests.engine.runs import Run, assert_same_answer, gather
from tests.engine.scripted_drafters import Oracle, use
from tests.engine.tiny import END_THINK, END_TOOL_CALL, THINK, TOOL_CALL

OPEN = [*(40 + (11 * index) % 400 for index in range(40)), THINK]
"""A prompt that leaves a span open."""

BUDGET = 10
SAMPLINGS = {
    "greedy": GREEDY,
    "the most likely 20": Sampling(temperature=0.9, top_k=20, seed=3),
    "all tokens": Sampling(temperature=0.9, top_p=0.95, seed=4),
    "a penalty": Sampling(temperature=0.0, repeat_penalty=1.2),
}


def run(engine: Engine, prompt: list[int], **settings) -> Run:
    settings = {"max_tokens": 30, "drafting": PLAIN} | settings
    return gather(engine.generate(Request(prompt, **settings)))


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
def test_thinking_is_closed_at_its_budget_and_the_answer_goes_on_from_there(engine, sampling):
    free = run(engine, OPEN, sampling=sampling).tokens
    capped = run(engine, OPEN, sampling=sampling, thinking_budget=BUDGET).tokens
    assert END_THINK not in free[: BUDGET + 1]
    assert capped[:BUDGET] == free[:BUDGET]
    assert capped[BUDGET] == END_THINK
    assert len(capped) == 30


def test_what_follows_a_forced_token_is_what_follows_it_in_a_prompt(engine):
    capped = run(engine, OPEN, thinking_budget=BUDGET).tokens
    again = run(engine, [*OPEN, *capped[: BUDGET + 1]], max_tokens=30 - BUDGET - 1).tokens
    assert capped[BUDGET + 1 :] == again


def test_a_budget_of_nothing_closes_the_span_with_the_first_token(engine):
    assert run(engine, OPEN, thinking_budget=0, max_tokens=1).tokens == [END_THINK]


def test_what_a_prompt_already_thought_counts(engine):
    begun = run(engine, OPEN, max_tokens=4).tokens
    assert run(engine, [*OPEN, *begun], thinking_budget=BUDGET).tokens.index(END_THINK) == BUDGET - 4


@pytest.mark.parametrize("before", [[], [THINK, 50, 51, END_THINK]], ids=["never opened", "closed again"])
def test_a_budget_changes_nothing_outside_of_thinking(engine, before):
    prompt = [*OPEN[:-1], *before, 60]
    assert run(engine, prompt, thinking_budget=0).tokens == run(engine, prompt).tokens


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
@pytest.mark.parametrize("length", [0, 5])
def test_thinking_that_is_ended_from_outside_gives_the_answer_of_a_budget_of_as_much(
    tiny_model_path: Path, sampling: Sampling, length: int
) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        free = run(engine, OPEN, sampling=sampling, max_tokens=200).tokens
        use(engine, Oracle([*OPEN, *free], engine.vocab.size, 1.0))
        drafting = Drafting(length=length) if length else PLAIN
        stream = engine.generate(
            Request(OPEN, sampling=sampling, max_tokens=200, thinking_budget=180, drafting=drafting)
        )
        stream.end_thinking()
        *_, finished = events = list(stream)
        tokens = [event.id for event in events if isinstance(event, Token)]
        thought = finished.thinking_budget
        assert thought is not None
        assert tokens.index(END_THINK) == thought < 180
        capped = run(engine, OPEN, sampling=sampling, max_tokens=200, thinking_budget=thought).tokens
    assert tokens[: thought + 1] == capped[: thought + 1]
    if sampling == GREEDY and not length:
        assert tokens == capped


def test_ending_what_is_no_thinking_changes_nothing(engine: Engine) -> None:
    prompt = [*OPEN, 50, END_THINK, 60]
    free = run(engine, prompt).tokens
    stream = engine.generate(Request(prompt, max_tokens=30, drafting=PLAIN, thinking_budget=BUDGET))
    stream.end_thinking()
    *events, finished = stream
    assert [event.id for event in events if isinstance(event, Token)] == free
    assert finished.thinking_budget in (None, BUDGET)


def left_after(tokens: list[int], budget: int = 5) -> int | None:
    rule = ThinkingBudget(budget, [THINK], END_THINK, tokens[:1], (TOOL_CALL, END_TOOL_CALL))
    for token in tokens[1:]:
        rule.advance(token)
    return rule.free_rows()


def test_a_call_inside_of_thinking_does_not_count_and_is_not_cut():
    call = [TOOL_CALL, *range(50, 60)]
    assert left_after([THINK, 50, 51, *call]) is None
    assert left_after([THINK, 50, 51, *call, END_TOOL_CALL, 52]) == 2
    assert left_after([THINK, *range(50, 55), *call]) is None
    prompt = [*OPEN, *range(50, 55), *call]
    rule = ThinkingBudget(5, [THINK], END_THINK, prompt, (TOOL_CALL, END_TOOL_CALL))
    assert rule.mask() == FREE
    rule.advance(END_TOOL_CALL)
    assert rule.mask().forced == END_THINK


def test_all_spans_of_an_answer_share_its_budget():
    assert left_after([THINK, 50, 51, END_THINK, 52, 53, THINK, 54]) == 2
    assert left_after([THINK, *range(50, 55), END_THINK, 60]) is None
    assert left_after([THINK, *range(50, 55), END_THINK, 60, THINK]) == 0


def test_a_model_without_thinking_tokens_has_no_budget(tmp_path):
    file = tiny.laguna()
    texts = ["<thunk>" if text == "<think>" else text for text in file.metadata["tokenizer.ggml.tokens"][1]]
    path = file.set("tokenizer.ggml.tokens", texts).write(tmp_path / "other.gguf")
    with Engine.open(EngineOptions(path, n_ctx=256, threads=1)) as engine:
        assert run(engine, OPEN, thinking_budget=0).tokens == run(engine, OPEN).tokens


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
@pytest.mark.parametrize("length", [1, 3, 7, 16])
def test_drafts_change_nothing_even_if_they_run_past_the_budget(
    tiny_model_path: Path, tiny_model: Model, sampling: Sampling, length: int
) -> None:
    """The drafter knows the answer without a budget, so its drafts fight the forced token as hard as drafts can."""
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        free = run(engine, OPEN, sampling=sampling).tokens
        plain = run(engine, OPEN, sampling=sampling, thinking_budget=BUDGET).tokens
        use(engine, Oracle([*OPEN, *free], engine.vocab.size, 1.0))
        drafting = Drafting(length=length)
        drafted = run(engine, OPEN, sampling=sampling, thinking_budget=BUDGET, drafting=drafting).tokens
    assert drafted.index(END_THINK) == BUDGET
    if sampling == GREEDY:
        assert_same_answer(tiny_model, OPEN, drafted, plain)
    else:
        assert drafted[:4] == plain[:4]


def test_a_draft_ends_before_the_forced_token_which_is_the_targets_own(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        free = run(engine, OPEN).tokens
        use(engine, Oracle([*OPEN, *free], engine.vocab.size, 1.0))
        # The first token comes with the prompt; then rounds of 7 + 1 and of 1 + 1.
        result = run(engine, OPEN, thinking_budget=BUDGET, drafting=Drafting(length=7), max_tokens=BUDGET + 1)
    rounds = [(event.drafted, event.accepted) for event in result.events if isinstance(event, Round)]
    forced = next(event for event in result.events if isinstance(event, Token) and event.id == END_THINK)
    assert rounds == [(7, 7), (1, 1)]
    assert (forced.index, forced.source) == (BUDGET, Source.TARGET)


@pytest.mark.parametrize("drafting", [PLAIN, Drafting(length=5)], ids=["plain", "drafted"])
def test_a_seed_gives_the_same_answer_under_a_budget(engine, drafting):
    sampling = Sampling(temperature=1.0, top_k=20, seed=9)
    first = run(engine, OPEN, sampling=sampling, thinking_budget=BUDGET, drafting=drafting).tokens
    engine.clear()
    assert run(engine, OPEN, sampling=sampling, thinking_budget=BUDGET, drafting=drafting).tokens == first


def test_a_replay_under_the_same_budget_is_identical_and_without_it_departs_there(engine):
    tokens = run(engine, OPEN, thinking_budget=BUDGET).tokens
    assert engine.replay(OPEN, tokens, thinking_budget=BUDGET).identical
    divergence = engine.replay(OPEN, tokens).divergence
    assert divergence is not None
    assert (divergence.index, divergence.expected) == (BUDGET, END_THINK)


def test_a_negative_budget_is_refused():
    with pytest.raises(RequestError) as error:
        replace(Request(OPEN), thinking_budget=-1)
    assert str(error.value) == "thinking_budget is -1; give 0 or more, or None for no limit"


def test_a_span_that_several_tokens_open_begins_with_the_last_of_them():
    """As gpt-oss opens its thinking: what follows its first token alone is something else."""
    rule = ThinkingBudget(2, [5, 6, 7], 9, [5, 6, 8], (None, None))
    left = []
    for token in (5, 6, 7, 1, 1, 9, 5, 6, 8, 1, 5, 6, 7):
        rule.advance(token)
        left.append(rule.free_rows())
    assert left == [None, None, 2, 1, 0, None, None, None, None, None, None, None, 0]
    assert ThinkingBudget(2, [5, 6, 7], 9, [5, 6, 7, 1], (None, None)).free_rows() == 1
    assert ThinkingBudget(2, [5, 6, 7], 9, [5, 6, 7, 1, 9, 5, 6], (None, None)).free_rows() is None
