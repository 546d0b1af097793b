"""Constraints of a request hold in the engine, with drafts and without, and a broken one costs no answer."""

from pathlib import Path

import numpy as np
import pytest

from laguna_engine.config import GREEDY, PLAIN, Drafting, Request, Sampling
from laguna_engine.engine import Engine, EngineOptions
from laguna_engine.events import ConstraintFailed, Round, Token
from laguna_engine.llama.context import Context, ContextOptions, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import BEST, LOGITS, Readout, ReadoutKind, gumbel
from laguna_engine.llama.taps import Taps, TargetShape
from tests.engine.constrain.only import Only
from tests.engine.runs import Run, gather, in_a_strict_process, logits_after
from tests.engine.scripted_drafters import Oracle, use

PROMPT = [40 + (11 * index) % 400 for index in range(60)]
SET = frozenset(range(60, 90))
COUNT = 20
SAMPLINGS = {
    "greedy": GREEDY,
    "the most likely 20": Sampling(temperature=1.0, top_k=20, seed=3),
    "all tokens": Sampling(temperature=1.0, top_p=0.95, seed=4),
    "a penalty": Sampling(temperature=0.0, repeat_penalty=1.2),
}


def run(engine: Engine, *constraints: Only, **settings) -> Run:
    settings = {"max_tokens": COUNT, "drafting": PLAIN} | settings
    return gather(engine.generate(Request(PROMPT, constraints=constraints, **settings)))


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
def test_every_token_is_of_the_set_and_is_reported_as_constrained(engine, sampling):
    result = run(engine, Only(SET), sampling=sampling)
    assert set(result.tokens) <= SET
    assert all(event.constrained for event in result.events if isinstance(event, Token))
    assert (result.stats.constrained, result.stats.dropped) == (COUNT, 0)


def test_the_first_token_is_the_one_that_the_masked_row_gives(engine, tiny_model):
    logits = logits_after(tiny_model, PROMPT)
    ids = np.array(sorted(SET))
    kept = ids[np.argsort(-logits[ids], kind="stable")[:20]]
    expected = kept[(logits[kept] + gumbel(3, len(PROMPT), kept)).argmax()]
    assert run(engine, Only(SET), sampling=SAMPLINGS["the most likely 20"], max_tokens=1).tokens == [expected]


def test_after_a_constrained_beginning_the_answer_is_free(engine):
    result = run(engine, Only(SET, rows=3))
    flags = [event.constrained for event in result.events if isinstance(event, Token)]
    assert flags == [True] * 3 + [False] * (COUNT - 3)
    assert set(result.tokens[:3]) <= SET


def test_strictly_the_answer_is_the_same_with_any_drafts(tiny_model_path):
    """The drafter knows the free answer, which leaves the set, or the constrained one."""
    child = Path(__file__).with_name("strict_child.py")
    assert in_a_strict_process(child, str(tiny_model_path)).split() == ["51"]


def test_a_draft_is_cut_where_it_leaves_the_set(tiny_model_path):
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        plain = run(engine, Only(SET)).tokens
        use(engine, Oracle([*PROMPT, *plain[:4], 300, *plain[5:]], engine.vocab.size, 1.0))
        result = run(engine, Only(SET), drafting=Drafting(length=8), max_tokens=8)
    first = next(event for event in result.events if isinstance(event, Round))
    assert (first.drafted, first.accepted) == (3, 3)


@pytest.mark.parametrize("fails", ["begin", "mask", "advance", "passing"])
def test_a_broken_constraint_is_left_out_with_a_warning_and_the_answer_is_the_free_one(engine, fails):
    free = run(engine).tokens
    result = run(engine, Only(frozenset(range(512)), fails=fails))
    (failure,) = [event for event in result.events if isinstance(event, ConstraintFailed)]
    assert "a broken constraint" in failure.sentence
    assert result.tokens == free


def test_a_set_without_tokens_is_left_out_with_a_warning(engine):
    result = run(engine, Only(frozenset()))
    assert result.stats.dropped >= 1
    assert result.tokens == run(engine).tokens


def test_what_the_model_does_not_mean_is_dropped_and_counted(engine, tiny_model):
    logits = logits_after(tiny_model, PROMPT)
    unlikely = frozenset(np.argsort(logits)[:5].tolist())
    result = run(engine, Only(unlikely, least=0.05))
    assert result.stats.dropped == 1
    assert result.tokens == run(engine).tokens


def test_a_replay_under_the_same_constraint_is_identical(engine):
    found = run(engine, Only(SET)).tokens
    assert engine.replay(PROMPT, found, constraints=(Only(SET),)).identical
    assert engine.replay(PROMPT, found).divergence is not None


@pytest.mark.parametrize("readout", [BEST, Readout(ReadoutKind.CANDIDATES, 20)], ids=["best", "candidates"])
def test_a_whole_row_can_be_read_whatever_leaves_the_device(tiny_model: Model, readout: Readout) -> None:
    taps = Taps((), TargetShape(tiny_model.n_embd, tiny_model.n_layer), 64, 8)
    context = Context(tiny_model, ContextOptions(n_ctx=256, n_batch=64, n_ubatch=64, threads=1), taps)
    rows = {}
    for each in (LOGITS, readout):
        context.clear()
        context.read_out(each)
        context.decode(PROMPT[:6], 0, Outputs.ALL)
        rows[each] = [context._whole_row(row) for row in range(6)]
        context.decode(PROMPT[6:8], 6, Outputs.LAST)
        rows[each].append(context._whole_row(-1))
    context.close()
    assert np.array_equal(rows[LOGITS], rows[readout])
