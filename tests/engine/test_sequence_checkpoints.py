"""Going back to a checkpoint gives the logits of a cache that never went further, or else everything is read again."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from laguna_engine import checkpoints as checkpoint_module
from laguna_engine.checkpoints import Checkpoint, CheckpointPolicy, Checkpoints
from laguna_engine.config import KvType
from laguna_engine.llama.context import Context, ContextOptions, DecodeStatus
from laguna_engine.llama.model import Model
from laguna_engine.sequence import TokenSequence
from tests.engine import tiny
from tests.engine.runs import NEAR_TIE

WINDOW, UBATCH, CAPACITY = 16, 32, 1024
"""The sliding-window cache has 256 cells, so going back by more than 240 tokens takes a checkpoint."""

PROMPT = [30 + (11 * index) % 400 for index in range(300)]
FURTHER = [40 + (7 * index) % 380 for index in range(400)]
OTHER = [50 + (13 * index) % 390 for index in range(40)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    model = Model.open(narrow(tmp_path_factory.mktemp("models")))
    yield model
    model.close()


def narrow(folder: Path) -> Path:
    # All experts are used, because a rounding error in the routing would change an answer as much as a bug.
    return tiny.laguna(tiny.Shape(window=WINDOW, experts_used=4)).write(folder / "narrow.gguf")


@pytest.fixture
def opened(model: Model) -> Iterator[Callable[..., TokenSequence]]:
    targets: list[TokenSequence] = []

    def target(
        kv: KvType = KvType.F16, checkpoints: Checkpoints | None = None, flash: bool | None = None
    ) -> TokenSequence:
        targets.append(make_target(model, kv, checkpoints, flash))
        return targets[-1]

    yield target
    for each in targets:
        each.context.close()


def make_target(
    model: Model, kv: KvType = KvType.F16, checkpoints: Checkpoints | None = None, flash: bool | None = None
) -> TokenSequence:
    options = ContextOptions(CAPACITY, n_ubatch=UBATCH, type_k=kv, type_v=kv, flash_attention=flash, threads=1)
    return TokenSequence(model, Context(model, options), CAPACITY, checkpoints=checkpoints or Checkpoints(8, 1 << 30))


def read(target: TokenSequence, tokens: list[int]) -> int:
    """Read `tokens` as a generation does; how many of them were kept."""
    reuse = target.rewind(tokens)
    save = partial(target.timed_checkpoint, lambda: None)
    made = CheckpointPolicy(target.checkpoints, target.rate.seconds_for, save)
    made.begin(reuse.boundary, reuse.keep, len(tokens))
    while target.position < len(tokens):
        if target.decode(made.part(target.position, UBATCH)) is not DecodeStatus.OK:
            break
        made.read(target.position)
    target.settle()
    return reuse.keep


def nmse(found: np.ndarray, expected: np.ndarray) -> float:
    return float(((found - expected) ** 2).sum() / (expected**2).sum())


@pytest.mark.parametrize(
    ("kv", "flash"),
    [(KvType.F16, None), (KvType.F16, False), (KvType.Q8_0, None), (KvType.Q4_0, None)],
    ids=["f16", "f16, values transposed", "q8_0", "q4_0"],
)
def test_after_going_back_the_logits_are_those_of_a_cache_that_never_went_further(opened, kv, flash):
    used, fresh = opened(kv, flash=flash), opened(kv, flash=flash)
    for tokens in (PROMPT, [*PROMPT, *FURTHER]):
        read(used, tokens)
    read(fresh, PROMPT)
    assert read(used, [*PROMPT, *OTHER]) == read(fresh, [*PROMPT, *OTHER]) == len(PROMPT)
    # The cells lie elsewhere in the ring, so attention adds the same numbers up in another order.
    assert nmse(used.context.logits(), fresh.context.logits()) < 1e-6


def test_a_prompt_that_comes_again_computes_its_last_token_only(opened):
    target = opened()
    read(target, PROMPT)
    expected = target.context.logits()
    read(target, [*PROMPT, *FURTHER])
    assert read(target, PROMPT) == len(PROMPT) - 1
    assert np.abs(target.context.logits() - expected).max() < NEAR_TIE


def test_a_change_in_the_middle_of_a_long_prompt_goes_back_to_the_step_before_it(opened, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "STEP", 2 * UBATCH)
    monkeypatch.setattr(checkpoint_module, "_LEAST", UBATCH)
    target = opened()
    read(target, [*PROMPT, *FURTHER])
    steps = target.checkpoints.lengths
    assert len(steps) == 8
    nearest = max(step for step in steps if step <= 321)
    edited = [*PROMPT, *FURTHER[:20], 77, *FURTHER[21:]]
    assert read(target, edited) == nearest > 0
    assert_fresh(target, edited, opened())


def test_where_a_prompt_departed_once_it_can_depart_again_at_no_cost(opened):
    target = opened()
    read(target, [*PROMPT, *FURTHER])
    target.checkpoints.cut(0)
    assert read(target, [*PROMPT, *FURTHER[::-1]]) == 0
    assert read(target, [*PROMPT, *OTHER, *FURTHER]) == len(PROMPT)


def assert_fresh(used: TokenSequence, tokens: list[int], fresh: TokenSequence) -> None:
    found = used.context.logits()
    read(fresh, tokens)
    assert np.abs(found - fresh.context.logits()).max() < NEAR_TIE


def damage_bytes(checkpoint: Checkpoint) -> Checkpoint:
    checkpoint.window.words[len(checkpoint.window.words) // 2] ^= np.uint64(1 << 20)
    return checkpoint


def cut_short(checkpoint: Checkpoint) -> Checkpoint:
    words = checkpoint.window.words[:-100].copy()
    return replace(
        checkpoint, window=replace(checkpoint.window, words=words, total=int(words.sum()), nbytes=words.nbytes)
    )


def of_another_length(checkpoint: Checkpoint) -> Checkpoint:
    return replace(checkpoint, length=checkpoint.length - 5)


@pytest.mark.parametrize("damage", [damage_bytes, cut_short, of_another_length])
def test_a_damaged_or_refused_checkpoint_has_everything_read_again(opened, damage):
    target = opened()
    for tokens in (PROMPT, [*PROMPT, *FURTHER]):
        read(target, tokens)
    damaged = damage(target.checkpoints.at(len(PROMPT)))
    target.checkpoints.cut(0)
    target.checkpoints.add(damaged)
    tokens = [*PROMPT, *OTHER]
    assert target.plan(tokens).checkpoint == damaged.length
    assert read(target, tokens) == 0
    assert_fresh(target, tokens, opened())


def test_the_memory_of_a_checkpoint_that_had_to_go_serves_the_next_one(opened):
    target = opened(checkpoints=Checkpoints(1, 1 << 30))
    read(target, PROMPT)
    before = target.checkpoints.at(len(PROMPT)).window.words
    read(target, [*PROMPT, *FURTHER])
    after = target.checkpoints.at(len(PROMPT) + len(FURTHER)).window
    assert after.words is before
    assert after.intact


def test_a_checkpoint_of_another_kv_type_is_refused_by_llama_cpp(opened):
    target, other = opened(KvType.F16), opened(KvType.Q8_0)
    read(target, PROMPT)
    read(other, PROMPT)
    saved = other.context.save_window()
    assert saved is not None
    assert not target.context.load_window(saved)


def test_a_checkpoint_takes_about_the_window_and_none_is_made_that_is_too_large(opened):
    target = opened(checkpoints=Checkpoints(8, 10_000))
    read(target, PROMPT)
    assert target.checkpoints.lengths == ()
    saved = target.context.save_window()
    numbers = 3 * WINDOW * 2 * 2 * 32
    assert saved is not None
    assert 2 * numbers < saved.nbytes < 2 * numbers + 2000


def test_copying_that_costs_too_much_of_the_reading_is_left_alone(opened):
    target = opened()
    target.rate.record(1000, 1.0)
    target.checkpoints.seconds = 1.0
    read(target, PROMPT)
    assert target.checkpoints.lengths == ()
    target.checkpoints.seconds = 0.01
    read(target, [*PROMPT, *FURTHER])
    assert target.checkpoints.lengths[0] == len(PROMPT)


def test_a_copy_that_was_slow_for_once_is_not_the_last(opened):
    target = opened()
    target.rate.record(1000, 1.0)
    target.checkpoints.seconds = 0.1
    for _ in range(50):
        target.clear()
        read(target, PROMPT)
        if target.checkpoints.lengths:
            break
    assert target.checkpoints.lengths == (len(PROMPT),)


class History(RuleBasedStateMachine):
    """Whatever is appended, cut, edited, stopped, damaged or forgotten: the logits are those of a fresh cache."""

    model: Model

    @initialize(kv=st.sampled_from(KvType))
    def open(self, kv: KvType) -> None:
        self.used, self.fresh = make_target(self.model, kv), make_target(self.model, kv)
        self.tokens = PROMPT[:40]
        self.went_back = 0

    @rule(count=st.sampled_from([1, 30, 33, 150, 300]), seed=st.integers(0, 9))
    def append(self, count: int, seed: int) -> None:
        self.tokens = (self.tokens + [30 + (seed + 17 * index) % 400 for index in range(count)])[: CAPACITY - 1]
        self.check()

    @rule(share=st.floats(0, 1), token=st.integers(30, 400))
    def edit(self, share: float, token: int) -> None:
        self.tokens = self.tokens.copy()
        self.tokens[int(share * (len(self.tokens) - 1))] = token
        self.check()

    @rule(share=st.floats(0, 1))
    def shorten(self, share: float) -> None:
        self.tokens = self.tokens[: 1 + int(share * (len(self.tokens) - 1))]
        self.check()

    @precondition(lambda self: self.used.checkpoints.lengths)
    @rule(which=st.integers(0, 100), token=st.integers(30, 400))
    def go_back(self, which: int, token: int) -> None:
        lengths = self.used.checkpoints.lengths
        self.tokens = [*self.tokens[: lengths[which % len(lengths)]], token]
        self.check()

    @rule(share=st.floats(0, 1))
    def stop(self, share: float) -> None:
        """Reading is stopped somewhere, as by a cancelled request."""
        read(self.used, self.tokens[: 1 + int(share * (len(self.tokens) - 1))])
        self.used.context.request_abort()
        read(self.used, [*self.tokens, 31, 32, 33])
        self.used.context.clear_abort()

    @precondition(lambda self: self.used.checkpoints.lengths)
    @rule(which=st.integers(0, 100))
    def damage(self, which: int) -> None:
        lengths = self.used.checkpoints.lengths
        damage_bytes(self.used.checkpoints.at(lengths[which % len(lengths)]))

    @rule()
    def clear(self) -> None:
        self.used.clear()

    def check(self) -> None:
        plan = self.used.plan(self.tokens)
        kept = read(self.used, self.tokens)
        assert kept in (plan.keep, 0)
        found = self.used.context.logits()
        self.fresh.clear()
        read(self.fresh, self.tokens)
        assert np.abs(found - self.fresh.context.logits()).max() < NEAR_TIE

    @invariant()
    def checkpoints_lie_within_the_cache(self) -> None:
        if hasattr(self, "used"):
            lengths = self.used.checkpoints.lengths
            assert all(0 < length <= self.used.position for length in lengths)

    def teardown(self) -> None:
        if hasattr(self, "used"):
            self.used.context.close()
            self.fresh.context.close()


@pytest.mark.hypothesis
def test_any_history_leaves_the_logits_of_a_fresh_cache(model, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "STEP", 96)
    monkeypatch.setattr(checkpoint_module, "_LEAST", 16)
    machine = type("Machine", (History,), {"model": model})
    fewer = settings(max_examples=settings().max_examples // 8, stateful_step_count=12, deadline=None)
    run_state_machine_as_test(machine, settings=fewer)
