"""Other families' memory: whatever was drafted, cut, forked, stopped or saved, the answer is the plain one."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.config import Drafting, EngineOptions, KvType, Speculation
from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.engine import Engine, Request
from laguna_engine.errors import ContextError
from laguna_engine.events import Round
from laguna_engine.llama.context import Context, ContextOptions, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.trial import Memory
from tests.engine import families, memory_checks, tiny
from tests.engine.runs import gather, in_a_strict_process

CASES = [
    (name, part, kv)
    for kv in (KvType.F16, KvType.Q8_0, KvType.Q4_0)
    for part in memory_checks.CHECKS
    for name in families.NAMES
]
PROMPT = memory_checks.PROMPT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("families")


def written(name: str, folder: Path) -> Path:
    return tiny.never_ends(families.model(name)).write(folder / f"{name}.gguf")


@pytest.mark.sampled(21)
@pytest.mark.parametrize(("name", "part", "kv"), CASES)
def test_fast_answers_do_not_depend_on_their_history(name: str, part: str, kv: KvType, tmp_path: Path) -> None:
    checks = memory_checks.run(name, part, kv, Speculation.FAST, tmp_path)
    assert checks.wrong == []
    assert checks.count > 3


@pytest.mark.sampled(45)
@pytest.mark.parametrize(("name", "part", "kv"), CASES)
def test_strict_answers_are_equal_token_for_token(name: str, part: str, kv: KvType, tmp_path: Path) -> None:
    program = Path(memory_checks.__file__)
    assert in_a_strict_process(program, name, part, kv.value, str(tmp_path)).splitlines()[:-1] == []


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("lfm2", Memory(524, 0, 2124, rolls_back=True)),
        ("qwen35", Memory(536, 0, 21068, rolls_back=True)),
        ("granitehybrid", Memory(524, 0, 40524, rolls_back=False)),
        ("gemma4", Memory(524, 524, 0, rolls_back=False)),
        ("mistral3", Memory(1036, 0, 0, rolls_back=False)),
    ],
)
def test_the_trial_measures_what_the_memory_takes(name: str, memory: Memory, folder: Path) -> None:
    """Keys and values of two or four layers with 12 or 24 bytes of each cell; convolutions and states in f32."""
    with closing(Model.open(written(name, folder))) as model:
        assert model.memory == memory


@pytest.mark.parametrize("speculation", [Speculation.FAST, Speculation.OFF])
def test_a_state_that_cannot_go_back_has_no_drafts(speculation: Speculation, folder: Path) -> None:
    with Engine.open(EngineOptions(written("granitehybrid", folder), n_ctx=512, speculation=speculation)) as engine:
        assert engine.info.speculation is Speculation.OFF
        asked_for_drafts = speculation is Speculation.FAST
        assert engine.info.no_drafts == (
            "Drafts are off, in fast and strict mode too: the recurrent memory of this model (granitehybrid) cannot go "
            "back after a rejected draft in this llama.cpp. Only speed is lost."
        )
        assert engine.info.warnings == ((engine.info.no_drafts,) if asked_for_drafts else ())


@pytest.mark.parametrize("name", families.ROLLS_BACK)
def test_a_state_that_can_go_back_takes_the_longest_draft(name: str, folder: Path) -> None:
    """Micro-batches smaller than such a draft are widened, as llama.cpp aborts on them."""
    with Engine.open(EngineOptions(written(name, folder), n_ctx=512, n_ubatch=4, threads=1)) as engine:
        answer = memory_checks.Checks(name, engine, engine, exact=True, folder=folder).ask(engine, PROMPT)
        drafting = Drafting(script=(answer[1:17], [7] * 16))
        engine.clear()
        run = gather(engine.generate(Request(PROMPT, max_tokens=24, drafting=drafting)))
        rounds = [(event.drafted, event.accepted) for event in run.events if isinstance(event, Round)]
        assert rounds[:2] == [(MAX_DRAFT, MAX_DRAFT), (MAX_DRAFT, 0)]
        assert run.tokens == answer


@pytest.fixture(params=["qwen35", "granitehybrid"])
def contexts(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[Context, Context]]:
    """Two of one model whose state can go back by 4 tokens, if it can at all."""
    with closing(Model.open(written(request.param, folder))) as model:
        options = ContextOptions(512, n_ubatch=64, threads=1, rollback=4)
        yield Context(model, options), Context(model, options)


def test_a_state_goes_back_within_the_last_batch_and_once(contexts: tuple[Context, Context]) -> None:
    """Of earlier batches llama.cpp has states too, and would take them for what they are not."""
    context, other = contexts
    context.decode(PROMPT[:20], 0)
    context.decode(PROMPT[20:23], 20)
    assert context.positions() == (22 - min(2, context.rollback), 22)
    refused = "this model's memory cannot go back to position {}; turn speculation off"
    for place in (1, 19, 20) if context.rollback else (1, 21, 22):
        with pytest.raises(ContextError, match=refused.format(place)):
            context.remove(place)
    assert context.positions()[1] == 22
    if not context.rollback:
        return
    context.remove(21)
    with pytest.raises(ContextError, match=refused.format(20)):
        context.remove(20)
    context.decode([77, 78], 21, Outputs.LAST)
    other.decode([*PROMPT[:21], 77, 78], 0)
    assert np.argmax(context.logits()) == np.argmax(other.logits())
    assert np.abs(context.logits() - other.logits()).max() < 0.2


def test_a_stopped_prompt_loses_the_state_and_a_round_does_not(contexts: tuple[Context, Context]) -> None:
    context, _ = contexts
    context.decode(PROMPT[:10], 0)
    saved = context.save_window()
    assert saved is not None
    context.request_abort()
    assert context.decode(PROMPT[10:12], 10) is DecodeStatus.OK
    assert context.decode(PROMPT[12:60], 12) is DecodeStatus.ABORTED
    context.clear_abort()
    assert context.lost
    with pytest.raises(ContextError, match="the recurrent state was lost when a computation was stopped; clear the c"):
        context.decode(PROMPT[12:14], context.positions()[1] + 1)
    assert context.load_window(saved)
    context.remove(10)
    assert context.positions() == (9, 9)
    assert context.decode(PROMPT[10:60], 10) is DecodeStatus.OK


@pytest.mark.parametrize("name", ["lfm2", "granitehybrid"])
def test_a_stopped_prompt_goes_on_from_the_last_checkpoint(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("laguna_engine.checkpoints._SHARE", float("inf"))
    with Engine.open(EngineOptions(written(name, folder), n_ctx=1024, n_ubatch=64, threads=1)) as engine:
        gather(engine.generate(Request(PROMPT, max_tokens=2)))
        sequence, asked = engine._sequence, [*PROMPT, *PROMPT, *PROMPT]

        def stopped() -> None:
            sequence.rewind(asked)
            sequence.context.request_abort()
            assert sequence.decode(64) is DecodeStatus.ABORTED
            sequence.context.clear_abort()

        engine._thread.call(stopped)
        assert (sequence.position, list(sequence.tokens)) == (len(PROMPT) - 1, PROMPT[:-1])
        assert engine.preview(asked).cached == len(PROMPT) - 1


@pytest.mark.parametrize("name", ["mistral3", "gemma4", "qwen35", "granitehybrid"])
def test_what_a_prompt_reads_again(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One turn after a rewind and after dropped thinking, whatever kind of memory there is."""
    monkeypatch.setattr("laguna_engine.checkpoints._SHARE", float("inf"))
    question = [[tiny.EOS, *((50 + 7 * place + 13 * turn) % 380 + 30 for place in range(99))] for turn in range(4)]
    opening = [tiny.ASSISTANT, 60]
    with Engine.open(EngineOptions(written(name, folder), n_ctx=1024, n_ubatch=64, threads=1)) as engine:

        def read(prompt: list[int]) -> tuple[list[int], int]:
            run = gather(engine.generate(Request(prompt, max_tokens=40)))
            return run.tokens, len(prompt) - run.stats.cached_tokens

        chat: list[int] = []
        for turn in range(2):
            chat += [*question[turn], *opening]
            before = chat.copy()
            answer, new = read(chat)
            chat += answer
        # The newest token of an answer is not computed yet.
        assert new == 103
        changed = [*before[:-102], *question[2], *opening]
        answer, new = read(changed)
        # Rows are reused as far as they are the same, states where a turn begins or its answer opens.
        assert new == (103 if name in ("qwen35", "granitehybrid") else 101)
        thoughtless = [*changed, *answer[30:], *question[3], *opening]
        _, new = read(thoughtless)
        assert new == 112 + (2 if name in ("qwen35", "granitehybrid") else 0)
        assert read(thoughtless)[1] == (2 if name in ("qwen35", "granitehybrid") else 1)


@pytest.mark.parametrize("name", ["mistral3", "qwen35", "granitehybrid"])
def test_a_resumed_conversation_without_its_thoughts_reads_one_turn(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("laguna_engine.checkpoints._SHARE", float("inf"))
    question = [[tiny.EOS, *((50 + 7 * place + 13 * turn) % 380 + 30 for place in range(99))] for turn in range(3)]
    options = EngineOptions(written(name, folder), n_ctx=1024, n_ubatch=64, threads=1)
    chat: list[int] = []
    with Engine.open(options) as engine:
        for turn in range(2):
            chat += [*question[turn], tiny.ASSISTANT, 60]
            answer = gather(engine.generate(Request(chat, max_tokens=40))).tokens
            engine.snapshot(tmp_path)
            opening = len(chat) - 2
            chat += answer
    thoughtless = [*chat[: opening + 2], *chat[-10:], *question[2], tiny.ASSISTANT, 60]
    longer = [*chat, *question[2]]
    # The thoughts are still there when the session is resumed, or are not.
    for resumed, prompt, kept in (
        (longer, longer, len(chat) - 1),
        (thoughtless, thoughtless, opening),
        (chat, thoughtless, opening),
    ):
        with Engine.open(options) as engine, Engine.open(options) as fresh:
            engine.restore(tmp_path, resumed)
            checks = memory_checks.Checks(name, engine, fresh, exact=False, folder=tmp_path)
            checks.compare("resumed", prompt)
            assert checks.wrong == []
            assert kept <= checks.cached <= kept + (2 if name == "mistral3" else 0)


def test_a_context_shorter_than_a_draft_opens(tmp_path: Path) -> None:
    """llama.cpp makes micro-batches no larger than the context, and aborts on those smaller than a draft."""
    path = families.model("lfm2").set("lfm2.context_length", 8).write(tmp_path / "short.gguf")
    with Engine.open(EngineOptions(path, threads=1)) as engine:
        assert engine.n_ctx == 8
        assert len(gather(engine.generate(Request(PROMPT[:4], max_tokens=3))).tokens) <= 3
