"""Hidden states and picks taken inside the target's graph are those of a callback on every node, and of its logits."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from laguna_engine.config import GREEDY, Sampling
from laguna_engine.errors import RequestError
from laguna_engine.llama.context import Context, ContextOptions, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import (
    BEST,
    LOGITS,
    Readout,
    ReadoutKind,
    SamplerChain,
)
from laguna_engine.llama.taps import CallbackTaps, Taps, TargetShape
from laguna_engine.native.library import lib

LAYERS = (0, 2, 3)
ROWS, OUTPUTS = 32, 16
PROMPT = [40 + (7 * index) % 400 for index in range(24)]


def options() -> ContextOptions:
    return ContextOptions(n_ctx=256, n_batch=64, n_ubatch=ROWS, threads=1)


@pytest.fixture
def shape(tiny_model: Model) -> TargetShape:
    return TargetShape(tiny_model.n_embd, tiny_model.n_layer)


@pytest.fixture
def hooked(tiny_model: Model, shape: TargetShape) -> Iterator[tuple[Context, Taps]]:
    taps = Taps(LAYERS, shape, ROWS, OUTPUTS)
    context = Context(tiny_model, options(), taps)
    yield context, taps
    context.close()


@pytest.fixture
def called(tiny_model: Model, shape: TargetShape) -> Iterator[tuple[Context, CallbackTaps]]:
    taps = CallbackTaps(LAYERS, shape, ROWS, OUTPUTS)
    context = Context(tiny_model, options(), taps)
    yield context, taps
    context.close()


@pytest.fixture
def plain(tiny_model: Model) -> Iterator[Context]:
    context = Context(tiny_model, options())
    yield context
    context.close()


def test_the_hook_and_the_callback_find_the_same_features(
    hooked: tuple[Context, Taps], called: tuple[Context, CallbackTaps]
) -> None:
    for context, _ in (hooked, called):
        context.decode(PROMPT[:10], 0, Outputs.ALL)
        context.decode(PROMPT[10:18], 10, Outputs.ALL)
    found, expected = (taps.features.read() for _, taps in (hooked, called))
    assert expected[:18].any(axis=1).all()
    np.testing.assert_array_equal(found, expected)


def test_the_last_layer_is_tapped_where_there_are_outputs_only(
    hooked: tuple[Context, Taps], shape: TargetShape
) -> None:
    context, taps = hooked
    context.decode(PROMPT[:8], 0, Outputs.LAST)
    features = taps.features.read().reshape(ROWS, len(LAYERS), shape.n_embd)
    assert features[:8, :2].any(axis=(1, 2)).all()
    assert features[:7, 2].any() == np.False_
    assert features[7, 2].any()


def test_positions_wrap_around_the_rows(hooked: tuple[Context, Taps], called: tuple[Context, CallbackTaps]) -> None:
    for context, _ in (hooked, called):
        for start in range(0, 48, 12):
            context.decode((PROMPT * 2)[start : start + 12], start, Outputs.ALL)
    found, expected = (taps.features.read() for _, taps in (hooked, called))
    np.testing.assert_array_equal(found, expected)


def test_the_best_tokens_are_those_of_the_logits(hooked: tuple[Context, Taps], plain: Context) -> None:
    context, _ = hooked
    with closing(SamplerChain(GREEDY, 512)) as chain:
        for start in (0, 9):
            for each in (context, plain):
                each.decode(PROMPT[start : start + 9], start, Outputs.ALL)
            assert [context.sample(chain, row) for row in range(9)] == [plain.sample(chain, row) for row in range(9)]


def test_candidates_and_logits_pick_the_same_token_with_the_same_seed(
    hooked: tuple[Context, Taps], plain: Context
) -> None:
    context, _ = hooked
    sampling = Sampling(1.5, top_k=20, seed=7)
    for readout in (Readout(ReadoutKind.CANDIDATES, 20), LOGITS):
        context.read_out(readout)
        context.clear()
        plain.clear()
        with closing(SamplerChain(sampling, 512)) as ours, closing(SamplerChain(sampling, 512)) as theirs:
            for each in (context, plain):
                each.decode(PROMPT[:16], 0, Outputs.ALL)
            found = [context.sample(ours, row) for row in range(16)]
            assert found == [plain.sample(theirs, row) for row in range(16)]
            assert len(set(found)) > 4


def test_the_readout_can_be_changed_again_and_again(hooked: tuple[Context, Taps], plain: Context) -> None:
    context, _ = hooked
    plain.decode(PROMPT[:8], 0)
    with closing(SamplerChain(GREEDY, 512)) as chain:
        expected = plain.sample(chain)
        for readout in (LOGITS, BEST, LOGITS, BEST, Readout(ReadoutKind.CANDIDATES, 5), BEST):
            context.read_out(readout)
            context.clear()
            context.decode(PROMPT[:8], 0)
            assert context.sample(chain) == expected


def test_changes_of_the_readout_leave_at_most_one_old_chain_behind(
    hooked: tuple[Context, Taps], monkeypatch: pytest.MonkeyPatch
) -> None:
    context, _ = hooked
    alive = 1
    make, free = lib.llama_sampler_chain_init, lib.llama_sampler_free

    def counted(function: Callable[..., Any], step: int) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal alive
            alive += step
            return function(*arguments)

        return call

    monkeypatch.setattr(lib, "llama_sampler_chain_init", counted(make, 1))
    monkeypatch.setattr(lib, "llama_sampler_free", counted(free, -1))
    for _ in range(8):
        for readout in (LOGITS, BEST):
            context.read_out(readout)
            context.clear()
            context.decode(PROMPT[:8], 0)
            assert alive <= 2
    context.close()
    assert alive == 0


def test_logits_are_those_of_a_plain_context(hooked: tuple[Context, Taps], plain: Context) -> None:
    context, _ = hooked
    context.read_out(LOGITS)
    for each in (context, plain):
        each.decode(PROMPT[:8], 0, Outputs.ALL)
    np.testing.assert_array_equal(context.logits(3), plain.logits(3))


def test_logits_that_stayed_on_the_device_cannot_be_asked_for(hooked: tuple[Context, Taps]) -> None:
    context, _ = hooked
    context.decode(PROMPT[:8], 0)
    with pytest.raises(RequestError) as error:
        context.logits()
    assert str(error.value) == "the logits stayed on the device; read out LOGITS before decoding"


def test_more_outputs_than_planned_are_refused_before_llama_cpp_aborts(hooked: tuple[Context, Taps]) -> None:
    context, _ = hooked
    with pytest.raises(RequestError) as error:
        context.decode(PROMPT[: OUTPUTS + 1], 0, Outputs.ALL)
    assert str(error.value) == "17 tokens with 17 outputs in one batch; send them in smaller pieces"


def test_taps_leave_the_answer_as_it_is(hooked: tuple[Context, Taps], plain: Context) -> None:
    context, _ = hooked
    answers = []
    with closing(SamplerChain(GREEDY, 512)) as chain:
        for each in (context, plain):
            each.decode(PROMPT, 0)
            tokens = [each.sample(chain)]
            for position in range(len(PROMPT), len(PROMPT) + 20):
                each.decode(tokens[-1:], position)
                tokens.append(each.sample(chain))
            answers.append(tokens)
    assert answers[0] == answers[1]


def test_the_targets_head_is_found_for_sharing(hooked: tuple[Context, Taps], tiny_model: Model) -> None:
    context, taps = hooked
    context.decode(PROMPT[:4], 0)
    assert taps.head is not None
    assert taps.head.shape == (tiny_model.n_embd, 512, 1, 1)
