"""What a request may say about drafting reaches the drafter, and changes the speed only."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.config import PLAIN, Sampling
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.errors import ModelFileError, RequestError
from laguna_engine.events import Round
from laguna_engine.gguf import drafter_header as drafter_files
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.sequence import Reuse, TokenSequence
from tests.engine import drafters, tiny
from tests.engine.runs import gather

PROMPT = [40 + (11 * index) % 400 for index in range(65)]
VARIANT = drafters.Variant(window=64, causal=True)
DFLASH = frozenset({DFlash.source})


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> EngineOptions:
    folder = tmp_path_factory.mktemp("pair")
    model = tiny.laguna().write(folder / "target.gguf")
    drafter = drafters.make(VARIANT).write(folder / "drafter.gguf")
    adapter = drafters.adapter(VARIANT, "blk.0.attn_k.weight", "blk.1.ffn_down.weight").write(folder / "mine.gguf")
    return EngineOptions(model, n_ctx=512, n_ubatch=64, threads=1, drafter=drafter, adapters=(("mine", adapter),))


@pytest.fixture
def engine(options: EngineOptions) -> Iterator[Engine]:
    with Engine.open(options) as engine:
        yield engine


def rounds(engine: Engine, drafting: Drafting, count: int = 12) -> list[Round]:
    run = gather(engine.generate(Request(PROMPT, max_tokens=count, drafting=drafting)))
    return [event for event in run.events if isinstance(event, Round)]


def test_the_drafter_says_what_it_is(engine: Engine) -> None:
    assert "DFlash" in engine.info.drafter
    assert not engine.info.warnings


def test_opening_reads_the_drafters_file_once(options: EngineOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    read, files = drafter_files.read, []

    def noted(path: Path) -> DrafterHeader:
        files.append(path)
        return read(path)

    monkeypatch.setattr(drafter_files, "read", noted)
    with Engine.open(options):
        assert files == [options.drafter]


def test_a_request_compares_its_prompt_with_the_cache_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, planned = TokenSequence.plan, []

    def noted(sequence: TokenSequence, prompt: list[int], at_most: int | None = None) -> Reuse:
        planned.append(at_most)
        return plan(sequence, prompt, at_most)

    monkeypatch.setattr(TokenSequence, "plan", noted)
    for _ in range(3):
        rounds(engine, Drafting())
    assert planned == [None] * 3


def test_a_fixed_length_is_drafted_every_round(engine: Engine) -> None:
    lengths = [each.drafted for each in rounds(engine, Drafting(sources=DFLASH, length=3))]
    assert set(lengths[:-3]) == {3}


def test_no_more_is_drafted_than_the_answer_may_still_have(engine: Engine) -> None:
    for index, each in enumerate(rounds(engine, Drafting(sources=DFLASH, length=7), count=4)):
        assert each.drafted <= 2 - index


def test_only_the_wanted_sources_draft(engine: Engine) -> None:
    found = {each.drafter for each in rounds(engine, Drafting(sources=frozenset({SuffixDrafter.source}), length=4))}
    assert DFlash.source not in found


def test_a_length_of_nought_drafts_nothing(engine: Engine) -> None:
    assert {each.drafted for each in rounds(engine, Drafting(length=0))} == {0}


def test_every_round_gives_a_reason(engine: Engine) -> None:
    assert all(each.reason for each in rounds(engine, Drafting()))


def test_the_seconds_of_a_round_add_up(engine: Engine) -> None:
    for each in rounds(engine, Drafting(sources=DFLASH, length=3)):
        assert 0 < each.draft_s + each.verify_s + each.sample_s <= each.total_s


def test_an_adapter_changes_the_drafts_and_going_back_restores_them(engine: Engine) -> None:
    base = Drafting(sources=DFLASH, length=4)
    adapted = replace(base, adapter="mine")
    drafts = [[each.rejected for each in rounds(engine, drafting)] for drafting in (base, adapted, base, adapted)]
    assert drafts[0] == drafts[2]
    assert drafts[1] == drafts[3]
    assert drafts[0] != drafts[1]


def test_an_unknown_adapter_is_an_error_that_names_the_known_ones(engine: Engine) -> None:
    with pytest.raises(RequestError) as error:
        rounds(engine, Drafting(adapter="yours"))
    assert str(error.value) == "the drafter has no adapter 'yours'; choose one of: mine"
    assert rounds(engine, Drafting())


def test_an_adapter_without_a_drafter_is_an_error(options: EngineOptions) -> None:
    with (
        Engine.open(replace(options, drafter=None, adapters=())) as engine,
        pytest.raises(RequestError) as error,
    ):
        rounds(engine, Drafting(adapter="mine"))
    assert str(error.value) == "there is no drafter that 'mine' could adapt; open one with the model"


def test_a_target_is_no_drafter(options: EngineOptions) -> None:
    with pytest.raises(ModelFileError):
        Engine.open(replace(options, drafter=options.model))


def test_files_are_copied_from(engine: Engine) -> None:
    plain = gather(engine.generate(Request(PROMPT, max_tokens=40, drafting=PLAIN))).tokens
    file = [*range(100, 140), *PROMPT[-8:], *plain, *range(100, 140)]
    drafting = Drafting(sources=frozenset({FileDrafter.source}), files=(file,), length=8)
    run = gather(engine.generate(Request(PROMPT, max_tokens=40, drafting=drafting)))
    accepted = sum(
        event.accepted for event in run.events if isinstance(event, Round) and event.drafter is FileDrafter.source
    )
    assert accepted >= 24


def test_what_was_learned_is_taken_along(options: EngineOptions) -> None:
    with Engine.open(options) as engine:
        rounds(engine, Drafting(sources=DFLASH), count=60)
        learned = engine.economy()
    assert learned
    with Engine.open(replace(options, economy=learned)) as engine:
        assert engine.economy()["kinds" if "kinds" in learned else next(iter(learned))]


def test_a_damaged_memory_of_an_earlier_session_is_ignored(options: EngineOptions) -> None:
    with Engine.open(replace(options, economy={"version": "x", "kinds": 3})) as engine:
        assert rounds(engine, Drafting())


def test_sampled_drafts_draw_from_the_targets_own_distribution(engine: Engine) -> None:
    """The second and third token, drawn 600 times either way: total variation as of two samples of one distribution."""
    counts = []
    for drafting in (PLAIN, Drafting(sources=DFLASH, length=2, sampled=True)):
        found: Counter[tuple[int, ...]] = Counter()
        for seed in range(600):
            sampling = Sampling(temperature=1.2, top_k=2, seed=seed)
            run = gather(engine.generate(Request(PROMPT, sampling=sampling, max_tokens=3, drafting=drafting)))
            found[tuple(run.tokens)] += 1
        counts.append(found)
    plain, drafted = counts
    # Tokens that only other rounding lets in are rare, and count against it like everything else.
    variation = sum(abs(plain[key] - drafted[key]) for key in plain | drafted) / 1200
    assert len(plain) >= 4
    assert variation < 0.09


def test_sampled_drafts_respect_the_repeat_penalty(engine: Engine) -> None:
    """A penalty that forbids repetition forbids it within a draft and across rounds of either kind."""
    sampling = Sampling(temperature=0.7, repeat_penalty=1000.0, repeat_last_n=256, seed=3)
    for length in (3, 0):
        drafting = Drafting(sources=DFLASH, length=length, sampled=True)
        request = Request(PROMPT, sampling=sampling, max_tokens=30, drafting=drafting)
        tokens = gather(engine.generate(request)).tokens
        assert len(set(tokens)) == len(tokens)
