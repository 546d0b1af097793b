"""A drafter that fails is switched off, and says so once; the answer is the one without it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from laguna_engine import checkpoints, loader
from laguna_engine.config import PLAIN, Speculation
from laguna_engine.draft import dflash
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.errors import GraphError
from laguna_engine.events import DrafterFailed, Round, Source
from laguna_engine.ggml.weights import Weights
from laguna_engine.llama.model import Model
from laguna_engine.native import cpu_determinism
from laguna_engine.speculate import draft_policy
from tests.engine import drafters, tiny
from tests.engine.runs import Run, assert_same_answer, gather

PROMPT = [40 + (11 * index) % 400 for index in range(130)]
EDITED = [*PROMPT[:90], *(60 + (7 * index) % 380 for index in range(60))]
FAR = [*PROMPT, *(50 + (13 * index) % 390 for index in range(500))]
PROMPTS = (PROMPT, EDITED, FAR, PROMPT)
"""Gone back and forth between, so that there is something to truncate, to remember and to recall."""

COUNT = 80
"""Tokens in which an answer repeats itself, so that there is something to copy."""
CLASSES = {DFlash.source: DFlash, SuffixDrafter.source: SuffixDrafter, FileDrafter.source: FileDrafter}
HOOKS = [
    *((DFlash.source, name) for name in ("use_adapter", "inject", "truncate", "covered", "wanted_from", "snapshot")),
    *((DFlash.source, name) for name in ("restore", "follow", "offer", "draft")),
    *((SuffixDrafter.source, name) for name in ("extend", "truncate", "catch_up", "offer", "draft")),
    *((FileDrafter.source, name) for name in ("extend", "truncate", "add_files", "catch_up", "offer", "draft")),
]


@pytest.fixture(params=[Speculation.FAST, Speculation.STRICT], ids=lambda mode: mode.value)
def engine(
    request: pytest.FixtureRequest, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    # As if nothing had been computed in this process yet: strict mode decodes in pairs, whatever the kernels.
    monkeypatch.setattr(cpu_determinism, "_chosen", None)
    # Checkpoints are made although models this small are read faster than copied.
    monkeypatch.setattr(checkpoints, "_SHARE", float("inf"))
    monkeypatch.setattr(checkpoints, "_LEAST", 1)
    monkeypatch.setattr(checkpoints, "STEP", 64)
    # Every round asks the drafters, however little a round of a model this small takes.
    monkeypatch.setattr(draft_policy, "_LONGEST_BACKOFF", 0)
    target, drafter = files
    options = EngineOptions(
        target, n_ctx=1024, n_ubatch=64, threads=1, drafter=drafter, checkpoints=9, speculation=request.param
    )
    with Engine.open(options) as opened:
        yield opened


def fail(*_: object, **__: object) -> None:
    raise MemoryError("no memory for a graph")


def drafted(engine: Engine, prompt: list[int], file: list[int], *sources: Source) -> Run:
    """An answer with drafts of three tokens by `sources`; `file` can be copied from."""
    drafting = Drafting(sources=frozenset(sources), length=3, files=(file,))
    return gather(engine.generate(Request(prompt, max_tokens=COUNT, drafting=drafting)))


def failures(runs: list[Run]) -> list[DrafterFailed]:
    return [event for run in runs for event in run.events if isinstance(event, DrafterFailed)]


def plain(engine: Engine, prompt: list[int]) -> list[int]:
    return gather(engine.generate(Request(prompt, max_tokens=COUNT, drafting=PLAIN))).tokens


@pytest.mark.parametrize(("source", "hook"), HOOKS, ids=lambda part: getattr(part, "value", part))
@pytest.mark.sampled(3)
def test_a_drafter_that_fails_is_switched_off_with_one_warning_and_the_answer_goes_on(
    engine: Engine, model: Model, monkeypatch: pytest.MonkeyPatch, source: Source, hook: str
) -> None:
    expected = [plain(engine, prompt) for prompt in PROMPTS]
    files = [[*prompt[-8:], *answer] for prompt, answer in zip(PROMPTS, expected, strict=True)]
    before = [drafted(engine, prompt, file, source) for prompt, file in zip(PROMPTS, files, strict=True)]
    assert any(event.drafted for run in before for event in run.events if isinstance(event, Round))
    monkeypatch.setattr(CLASSES[source], hook, fail)
    runs = [drafted(engine, prompt, file, source) for prompt, file in zip(PROMPTS, files, strict=True)]
    for prompt, run, answer in zip(PROMPTS, runs, expected, strict=True):
        assert_same_answer(model, prompt, run.tokens, answer)
    told = failures(runs)
    if hook in ("snapshot", "restore") and engine.info.speculation is Speculation.STRICT:
        # Strict mode keeps every position, so there are no checkpoints.
        assert not told
        return
    assert [failure.drafter for failure in told] == [source]
    assert "no memory for a graph" in told[0].sentence
    assert not any(event.drafter is source for event in runs[-1].events if isinstance(event, Round))


@pytest.mark.parametrize("error", [GraphError("the device failed"), ZeroDivisionError(), RuntimeError("CUDA error 2")])
def test_whatever_it_fails_of_the_others_go_on_drafting(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(DFlash, "draft", failing)
    file = [*PROMPT[-8:], *plain(engine, PROMPT)]
    first = drafted(engine, PROMPT, file, DFlash.source)
    again = drafted(engine, PROMPT, file, DFlash.source, FileDrafter.source)
    assert [type(error).__name__ in failure.sentence for failure in failures([first, again])] == [True]
    drafters = {event.drafter for event in again.events if isinstance(event, Round) and event.drafted}
    assert drafters == {FileDrafter.source}


def test_a_failure_while_nobody_looks_is_told_with_the_next_answer(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SuffixDrafter, "extend", fail)
    ahead = gather(engine.generate(Request(PROMPT, max_tokens=0)))
    answered = gather(engine.generate(Request(PROMPT, max_tokens=3)))
    assert not failures([ahead])
    assert [failure.drafter for failure in failures([answered])] == [SuffixDrafter.source]


@pytest.mark.parametrize("failing", ["opening", "numbers"])
def test_a_copy_of_the_targets_head_is_freed_when_the_drafter_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    copies: list[Weights] = []

    class Recorded(Weights):
        closed = False

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            copies.append(self)

        def close(self) -> None:
            self.closed = True
            super().close()

    target = tiny.laguna().write(tmp_path / "target.gguf")
    drafter = drafters.make(drafters.Variant(own_embedding=False, own_head=False)).write(tmp_path / "drafter.gguf")
    monkeypatch.setattr(dflash, "Weights", Recorded)
    # Without the hook there is no head to share, so a copy of it is made.
    monkeypatch.setattr(loader, "hook_is_right", lambda *_: False)
    if failing == "opening":
        monkeypatch.setattr(DFlash, "__init__", refuse)
    else:
        monkeypatch.setattr(DFlash, "gives_numbers", lambda *_: False)
    with Engine.open(EngineOptions(target, n_ctx=512, threads=1, drafter=drafter)) as engine:
        assert any("drafter.gguf is not used" in warning for warning in engine.info.warnings)
        assert [copy.closed for copy in copies] == [True]  # type: ignore[attr-defined]


def refuse(*_: object, **__: object) -> None:
    raise GraphError("the device cannot do it")
