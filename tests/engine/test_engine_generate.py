"""The events of a generation, and why it ends."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from laguna_engine import stream
from laguna_engine.config import Sampling
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.errors import RequestError
from laguna_engine.events import ContextOverflow, Finished, FinishReason, Prefill, Round, Source, Token
from tests.engine.runs import Run, gather

N_CTX = 300
PROMPT = list(range(40, 60))


@pytest.fixture(scope="module")
def opened(tiny_model_path: Path):
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=N_CTX, n_ubatch=32, threads=1)) as engine:
        yield engine


@pytest.fixture
def engine(opened: Engine) -> Engine:
    opened.clear()
    return opened


def run(engine: Engine, tokens: list[int], **settings) -> Run:
    return gather(engine.generate(Request(tokens, **settings)))


def wild(seed: int) -> Sampling:
    """Nearly any token may be sampled, so the answer is full of partial characters and markers."""
    return Sampling(temperature=50.0, seed=seed)


def test_events_come_as_prefills_then_tokens_then_one_finish(engine):
    kinds = [type(event) for event in run(engine, PROMPT, max_tokens=5).events]
    assert [kind for kind in kinds if kind is not Round] == [Prefill, Prefill, *[Token] * 5, Finished]


def test_tokens_are_numbered_and_the_targets_own(engine):
    tokens = [event for event in run(engine, PROMPT, max_tokens=5).events if isinstance(event, Token)]
    assert [token.index for token in tokens] == [0, 1, 2, 3, 4]
    assert {token.source for token in tokens} == {Source.TARGET}


def test_a_long_prompt_is_told_one_micro_batch_at_a_time(engine):
    prefills = run(engine, [40] * 100, max_tokens=1).prefills
    assert [prefill.done for prefill in prefills] == [0, 32, 64, 96, 100]
    assert {(prefill.total, prefill.cached) for prefill in prefills} == {(100, 0)}
    assert all(earlier.seconds <= later.seconds for earlier, later in pairwise(prefills))


def test_a_repeated_prompt_computes_only_its_last_token(engine):
    first, second = run(engine, PROMPT, max_tokens=8), run(engine, PROMPT, max_tokens=8)
    assert second.tokens == first.tokens
    assert [prefill.done for prefill in second.prefills] == [19, 20]
    assert (second.stats.prompt_tokens, second.stats.cached_tokens) == (20, 19)


def test_the_statistics_add_up(engine):
    stats = run(engine, PROMPT, max_tokens=8).stats
    assert (stats.prompt_tokens, stats.cached_tokens, stats.generated_tokens) == (20, 0, 8)
    assert stats.prefill_s > 0
    assert stats.decode_s > 0


def test_the_limit_of_tokens_is_kept(engine):
    result = run(engine, PROMPT, max_tokens=7)
    assert (len(result.tokens), result.reason) == (7, FinishReason.MAX_TOKENS)


def test_a_stop_token_of_the_request_ends_the_answer_and_has_no_text(engine):
    free = run(engine, PROMPT, max_tokens=20)
    stop = free.tokens[9]
    result = run(engine, PROMPT, stop_tokens=frozenset({stop}), max_tokens=20)
    at = free.tokens.index(stop)
    assert result.tokens == free.tokens[: at + 1]
    assert result.reason is FinishReason.STOP_TOKEN
    assert result.events[-2] == Token(stop, "", Source.TARGET, at)


def test_an_end_of_generation_token_ends_the_answer_without_leaking_its_text(engine):
    results = [run(engine, PROMPT, sampling=wild(seed)) for seed in range(8)]
    ended = [result for result in results if result.reason is FinishReason.STOP_TOKEN]
    assert ended
    for result in ended:
        assert result.tokens[-1] in engine.vocab.eog
        assert not engine.vocab.eog & set(result.tokens[:-1])
        assert "</assistant>" not in result.text


def test_text_is_what_the_bytes_say_and_never_half_a_character(engine):
    for seed in range(8):
        result = run(engine, PROMPT, sampling=wild(seed), max_tokens=100)
        shown = [token for token in result.tokens if token not in engine.vocab.eog]
        decoded = engine.vocab.detokenize(shown).decode("utf-8", "replace")
        assert decoded.rstrip("\ufffd") == result.text.rstrip("\ufffd")


def test_markup_tokens_have_their_literal_text(engine):
    texts = {}
    for seed in range(30):
        events = run(engine, PROMPT, sampling=wild(seed), max_tokens=200).events
        texts |= {event.id: event.text for event in events if isinstance(event, Token)}
    markup = engine.vocab.id_of("<tool_call>")
    assert texts[markup].endswith("<tool_call>")


def test_a_stop_text_ends_the_answer_across_tokens_and_is_not_shown(engine):
    free = run(engine, PROMPT, max_tokens=40)
    # From the middle of one token's text to the middle of a later one's.
    start = len(free.text) // 2
    stop = free.text[start : start + 7]
    result = run(engine, PROMPT, stop_texts=("never in there", stop), max_tokens=40)
    assert result.reason is FinishReason.STOP_TEXT
    assert result.text == free.text[: free.text.index(stop)]
    assert result.tokens == free.tokens[: len(result.tokens)]
    assert stop in engine.vocab.detokenize(result.tokens).decode("utf-8", "replace")


def test_the_possible_beginning_of_a_stop_text_is_shown_when_the_answer_ends_first(engine):
    free = run(engine, PROMPT, max_tokens=10)
    stop = free.text[-3:] + "and more that never comes"
    result = run(engine, PROMPT, stop_texts=(stop,), max_tokens=10)
    assert (result.text, result.reason) == (free.text, FinishReason.MAX_TOKENS)


def test_tokens_that_are_held_back_for_long_do_not_end_the_stream(engine, monkeypatch):
    # As on a slow machine: every token's turn to be published comes before the next one.
    monkeypatch.setattr(stream, "_PUBLISH_SECONDS", 0)
    free = run(engine, PROMPT, max_tokens=20)
    stop = free.text[:-1] + "and more that never comes"
    result = run(engine, PROMPT, stop_texts=(stop,), max_tokens=20)
    assert (result.text, result.tokens, result.reason) == (free.text, free.tokens, FinishReason.MAX_TOKENS)


def test_the_answer_ends_when_the_context_is_full(engine):
    result = run(engine, [40] * (N_CTX - 5))
    # The last token needs no place: nothing comes after it.
    assert (len(result.tokens), result.reason) == (6, FinishReason.CONTEXT_FULL)


def test_a_prompt_that_fits_with_one_token_to_spare_is_read(engine):
    result = run(engine, [40] * (N_CTX - 1))
    assert (len(result.tokens), result.overflows) == (2, [])


@pytest.mark.parametrize("length", [N_CTX, 10 * N_CTX])
def test_a_prompt_that_does_not_fit_is_told_and_leaves_the_cache_alone(engine, length):
    run(engine, PROMPT, max_tokens=5)
    before = engine.preview(PROMPT)
    result = run(engine, [41] * length)
    assert [type(event) for event in result.events] == [ContextOverflow, Finished]
    assert result.overflows == [ContextOverflow(length + 1, N_CTX)]
    assert result.reason is FinishReason.CONTEXT_FULL
    assert result.stats.prompt_tokens == 0
    assert engine.preview(PROMPT) == before
    assert before.cached == len(PROMPT) - 1


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [([], "no tokens"), ([5, 512], "outside the vocabulary"), ([-1], "outside the vocabulary"), ([1.5], "integers")],
)
def test_a_wrong_prompt_is_refused_before_anything_runs(engine, tokens, reason):
    with pytest.raises(RequestError, match=reason):
        engine.generate(Request(tokens))
    with pytest.raises(RequestError, match=reason):
        engine.preview(tokens)


def test_token_ids_may_come_from_numpy(engine):
    assert run(engine, np.array(PROMPT), max_tokens=3).tokens == run(engine, PROMPT, max_tokens=3).tokens


@pytest.mark.parametrize("wrong", [{"max_tokens": -1}, {"stop_texts": ("a", "")}])
def test_a_wrong_request_cannot_be_made(wrong):
    with pytest.raises(RequestError):
        Request(PROMPT, **wrong)


def test_a_preview_is_what_the_request_then_does(engine):
    assert engine.preview(PROMPT).seconds is None or engine.preview(PROMPT).cached == 0
    run(engine, PROMPT, max_tokens=5)
    for tokens in (PROMPT, [*PROMPT, 7, 8], [*PROMPT[:12], 99]):
        cost = engine.preview(tokens)
        stats = run(engine, tokens, max_tokens=1).stats
        assert (cost.cached, cost.new) == (stats.cached_tokens, len(tokens) - stats.cached_tokens)
        assert cost.seconds > 0
    assert engine.preview([*PROMPT[:12], 98]).first_changed == 12


def test_clearing_forgets_the_cache(engine):
    run(engine, PROMPT, max_tokens=5)
    engine.clear()
    assert engine.preview(PROMPT).cached == 0
