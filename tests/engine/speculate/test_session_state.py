"""Whatever happened before, the drafter knows what it would know in a fresh engine: it follows the KV cache.

A wrong state would show in nothing but speed, so its keys and values themselves are compared: position by position the
same in strict mode. In fast mode the target's features themselves depend on how its batches were cut, so each position
may differ by as much as another choice of an expert does, and half of them at least by no more than rounding.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laguna_engine import checkpoints, loader
from laguna_engine.config import PLAIN, Speculation
from laguna_engine.draft.dflash import DFlash, DFlashDrafter
from laguna_engine.draft.suffix import SuffixDrafter
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.errors import ModelFileError
from laguna_engine.events import Finished, FinishReason, Prefill, Token
from laguna_engine.llama.taps import HiddenStates
from laguna_engine.native import cpu_determinism
from laguna_engine.sequence import Reuse
from tests.engine import drafters, tiny
from tests.engine.runs import gather

PROMPT = [40 + (11 * index) % 400 for index in range(230)]
OTHER = [60 + (7 * index) % 380 for index in range(150)]
SAME = 1e-3
"""In strict mode the target's features are the same byte for byte; keys and values are kept in half precision."""

ALIKE = 0.05
OTHER_EXPERT = 0.8
"""Batches of other widths round differently: most positions differ by 0.01 at most, one at which rounding chose another
expert by up to 0.7. Features of the wrong position differ by 0.9 or more, at every position."""

DRAFTED = Drafting(sources=frozenset({DFlash.source}), length=4)
COPIED = Drafting(sources=frozenset({SuffixDrafter.source}))
FAR = [50 + (13 * index) % 390 for index in range(700)]
VARIANTS = {
    "sliding": drafters.Variant(window=64, causal=True, gate=True, tap_norm=True, context_norm=True),
    "full": drafters.Variant(),
    "last layer tapped, head shared": drafters.Variant(window=64, own_embedding=False, own_head=False),
    "last layer not tapped": drafters.Variant(window=64, taps=(0, 1, 2)),
    "markov": drafters.Variant(window=128, rank=8, confidence="both"),
}


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=VARIANTS.keys())
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A target and a drafter for it."""
    folder = tmp_path_factory.mktemp("pair")
    model = tiny.laguna().write(folder / "target.gguf")
    return model, drafters.make(request.param).write(folder / "drafter.gguf")


@pytest.fixture(scope="module", params=[Speculation.FAST, Speculation.STRICT], ids=lambda mode: mode.value)
def options(request: pytest.FixtureRequest, files: tuple[Path, Path]) -> Iterator[EngineOptions]:
    model, drafter = files
    with pytest.MonkeyPatch.context() as patch:
        # As if nothing had been computed in this process yet: strict mode decodes in pairs, whatever the kernels.
        patch.setattr(cpu_determinism, "_chosen", None)
        # A reach that is short for the drafter without a window, so that its ring forgets too.
        yield EngineOptions(
            model, n_ctx=1024, n_ubatch=64, threads=1, drafter=drafter, draft_context=256, checkpoints=99,
            speculation=request.param,
        )  # fmt: skip


only_fast = pytest.mark.parametrize("options", [Speculation.FAST], indirect=True, ids=["fast"])
"""Strict mode keeps all positions of sliding-window layers, so it needs no checkpoints."""


@pytest.fixture(autouse=True)
def at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models this small are read faster than copied; how fast the machine is shall not decide what is tested."""
    monkeypatch.setattr(checkpoints, "_SHARE", float("inf"))
    monkeypatch.setattr(checkpoints, "_LEAST", 1)
    monkeypatch.setattr(checkpoints, "STEP", 64)


@pytest.fixture
def engine(options: EngineOptions) -> Iterator[Engine]:
    with Engine.open(options) as engine:
        yield engine


def known(engine: Engine) -> np.ndarray:
    """Keys and values of all that matters behind PROMPT, once a draft was made there: [positions, numbers]."""
    generate(engine, PROMPT, 3)
    assert engine._speculator is not None
    drafter = engine._speculator._drafters[DFlash.source]
    assert isinstance(drafter, DFlashDrafter)
    reader = drafter.model
    assert reader.covered(len(PROMPT))
    parts = []
    for layer, sliding in enumerate(reader.drafter.sliding):
        ring = reader._rings[sliding]
        positions = np.arange(max(0, len(PROMPT) - ring.reach), len(PROMPT))
        slots = ring.header + positions % ring.capacity
        parts += [
            reader._memory.keys(layer).read()[slots],
            reader._memory.values(layer).read()[slots],
        ]
    return np.concatenate([part.astype(np.float64) for part in parts], axis=1)


@pytest.fixture(scope="module")
def fresh(options: EngineOptions) -> np.ndarray:
    """What the drafter of an engine knows that has seen nothing else."""
    with Engine.open(options) as engine:
        return known(engine)


def errors(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The relative error of every position."""
    assert found.shape == expected.shape
    assert expected.any(axis=1).all()
    distances: np.ndarray = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    return distances


def alike(engine: Engine, expected: np.ndarray, mode: Speculation) -> None:
    """It knows at every position what is expected there: the same in strict mode, alike in fast mode."""
    found = errors(known(engine), expected)
    if mode is Speculation.STRICT:
        assert found.max() < SAME
    else:
        assert found.max() < OTHER_EXPERT
        assert np.median(found) < ALIKE


def generate(engine: Engine, prompt: list[int], count: int, drafting: Drafting = DRAFTED) -> list[int]:
    return gather(engine.generate(Request(prompt, max_tokens=count, drafting=drafting))).tokens


def cancelled_in_the_middle(engine: Engine) -> None:
    for event in engine.generate(Request(PROMPT, max_tokens=200, drafting=DRAFTED)):
        if isinstance(event, Token) and event.index == 20:
            engine.cancel()
        if isinstance(event, Finished):
            assert event.reason is FinishReason.CANCELLED


def read_ahead_and_cancelled(engine: Engine) -> None:
    for event in engine.generate(Request(PROMPT, max_tokens=0, drafting=DRAFTED)):
        if isinstance(event, Prefill) and event.done:
            engine.cancel()


HISTORIES: dict[str, Callable[[Engine], object]] = {
    "the same request": lambda e: generate(e, PROMPT, 30),
    "another request": lambda e: generate(e, OTHER, 30),
    "two other requests": lambda e: (generate(e, OTHER, 30), generate(e, OTHER[:20], 10)),
    "a prefix of the prompt": lambda e: generate(e, PROMPT[:100], 1),
    "a prefix that ends a micro-batch": lambda e: generate(e, PROMPT[:128], 1),
    "a longer prompt": lambda e: generate(e, [*PROMPT, *OTHER[:30]], 10),
    "a much longer prompt": lambda e: generate(e, [*PROMPT, *OTHER, *OTHER], 10),
    "a plain answer": lambda e: generate(e, PROMPT, 100, PLAIN),
    "a plain answer to a prefix": lambda e: generate(e, PROMPT[:200], 20, PLAIN),
    "drafts by others": lambda e: generate(e, PROMPT, 40, COPIED),
    "a cleared cache": lambda e: (generate(e, PROMPT, 30), e.clear()),
    "a cancelled answer": cancelled_in_the_middle,
    "the prompt read ahead": lambda e: generate(e, PROMPT, 0),
    "the prompt read ahead in small steps": lambda e: [
        generate(e, PROMPT[:length], 0) for length in range(100, 230, 7)
    ],
    "another prompt read ahead": lambda e: generate(e, [*PROMPT[:120], *OTHER], 0),
    "reading ahead cancelled": read_ahead_and_cancelled,
    "a replay": lambda e: e.replay(PROMPT, generate(e, PROMPT, 20)),
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES.keys())
@pytest.mark.sampled(5)
def test_the_drafter_knows_what_a_fresh_one_would_after(
    engine: Engine, options: EngineOptions, fresh: np.ndarray, history: Callable[[Engine], object]
) -> None:
    history(engine)
    alike(engine, fresh, options.speculation)


def far(engine: Engine, prefix: list[int], drafting: Drafting = DRAFTED) -> None:
    """Go on behind `prefix` until neither the window's cells nor the drafter's rings reach back to it."""
    generate(engine, [*prefix, *FAR], 5, drafting)


def read_in_steps(engine: Engine) -> None:
    """A checkpoint in the middle of a prompt, whose end alone matters to the drafter."""
    generate(engine, [*PROMPT[:192], *FAR], 0)


def far_and_cancelled(engine: Engine) -> None:
    generate(engine, PROMPT, 0)
    for event in engine.generate(Request([*PROMPT, *FAR], drafting=DRAFTED)):
        if isinstance(event, Prefill) and event.done > 800:
            engine.cancel()


def back_and_far_again(engine: Engine) -> None:
    generate(engine, PROMPT, 10)
    for tail in ([71], [72, 73]):
        far(engine, PROMPT)
        generate(engine, [*PROMPT, *tail], 10)
    far(engine, PROMPT)


RETURNS: dict[str, tuple[int, Callable[[Engine], object]]] = {
    "the prompt was read ahead": (230, lambda e: (generate(e, PROMPT, 0), far(e, PROMPT))),
    "the prompt was answered": (230, lambda e: (generate(e, PROMPT, 20), far(e, PROMPT))),
    "a part of the prompt was answered": (200, lambda e: (generate(e, PROMPT[:200], 20), far(e, PROMPT[:200]))),
    "it was answered plainly": (230, lambda e: (generate(e, PROMPT, 20, PLAIN), far(e, PROMPT, PLAIN))),
    "what followed was plain": (230, lambda e: (generate(e, PROMPT, 20), far(e, PROMPT, PLAIN))),
    "plain answers came back to it": (
        230,
        lambda e: (generate(e, PROMPT, 20), far(e, PROMPT), generate(e, PROMPT, 5, PLAIN), far(e, PROMPT)),
    ),
    "others drafted": (230, lambda e: (generate(e, PROMPT, 20), far(e, PROMPT, COPIED))),
    "what followed was cancelled": (230, far_and_cancelled),
    "it was read as a part of more": (192, read_in_steps),
    "it had come back twice": (230, back_and_far_again),
}


@only_fast
@pytest.mark.parametrize(("place", "history"), RETURNS.values(), ids=RETURNS.keys())
@pytest.mark.sampled(3)
def test_back_at_a_checkpoint_the_drafter_knows_what_a_fresh_one_would_after(
    engine: Engine, options: EngineOptions, fresh: np.ndarray, place: int, history: Callable[[Engine], object]
) -> None:
    history(engine)
    assert engine._sequence.plan(PROMPT).checkpoint == place
    alike(engine, fresh, options.speculation)


@only_fast
@pytest.mark.parametrize("place", [200, 230])
def test_back_at_a_checkpoint_nothing_is_read_again_for_the_drafters_sake(engine: Engine, place: int) -> None:
    generate(engine, PROMPT[:place], 10)
    far(engine, PROMPT[:place])
    run = gather(engine.generate(Request(PROMPT, max_tokens=3, drafting=DRAFTED)))
    assert run.stats.cached_tokens == min(place, len(PROMPT) - 1)


@pytest.mark.parametrize("files", [VARIANTS["last layer not tapped"]], indirect=True, ids=["last layer not tapped"])
def test_reading_that_was_stopped_goes_on_where_it_was_stopped(engine: Engine) -> None:
    """Of a long prompt the drafter is spared all but the end, but what was just read still lies in its rows."""
    for event in engine.generate(Request([*PROMPT, *FAR], max_tokens=0, drafting=DRAFTED)):
        if isinstance(event, Prefill) and event.done >= 320:
            engine.cancel()
    done = engine.preview([*PROMPT, *FAR]).cached
    run = gather(engine.generate(Request([*PROMPT, *FAR][: done + 5], max_tokens=3, drafting=DRAFTED)))
    assert run.stats.cached_tokens == done >= 320


@only_fast
def test_where_the_cache_can_go_back_by_itself_the_drafter_is_helped_by_the_nearest_checkpoint(
    options: EngineOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "STEP", 10_000)
    with Engine.open(replace(options, n_ubatch=512, draft_context=64)) as engine:
        generate(engine, PROMPT, 0)
        # Less than the window's cells can go back, more than the drafter's ring.
        generate(engine, [*PROMPT, *FAR[:300]], 0)
        edited = [*PROMPT, *FAR[:20], 77]
        assert engine._sequence.plan(edited) == Reuse(len(PROMPT) + 20, len(PROMPT) + 20, reprefill=False)
        run = gather(engine.generate(Request(edited, max_tokens=3, drafting=DRAFTED)))
        assert run.stats.cached_tokens >= len(PROMPT)


def test_the_callback_serves_where_the_hook_is_refused(
    options: EngineOptions, fresh: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "hook_is_right", lambda *_: False)
    with Engine.open(options) as engine:
        assert any("graph hook" in warning for warning in engine.info.warnings)
        generate(engine, OTHER, 10)
        alike(engine, fresh, options.speculation)


def test_a_drafter_of_another_model_is_refused_with_a_sentence(options: EngineOptions, tmp_path: Path) -> None:
    wide = drafters.make(drafters.Variant(n_embd=96)).write(tmp_path / "wide.gguf")
    with pytest.raises(ModelFileError) as error:
        Engine.open(replace(options, drafter=wide))
    assert str(error.value) == (
        f"{wide}: the drafter reads hidden states of 96, the model has 64; choose the drafter that was made for "
        "this model"
    )


def test_the_comparison_notices_features_of_the_wrong_position(
    engine: Engine, fresh: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_of = HiddenStates.rows_of
    monkeypatch.setattr(HiddenStates, "rows_of", lambda self, start, count: rows_of(self, start + 1, count))
    assert errors(known(engine), fresh).min() > OTHER_EXPERT
