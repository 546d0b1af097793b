"""Restoring and going on equals never having stopped: the same tokens, and the same keys and values bit for bit."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest

from laguna_engine.config import PLAIN, Drafting, KvType, Speculation
from laguna_engine.engine import Engine
from laguna_engine.events import Source
from tests.engine import drafters, tiny
from tests.engine.snapshot.chats import EARLIER, MESSAGES, again, assert_same_cache, options, say

ROOT = Path(__file__).parents[3]
NANO = ROOT / "assets/nano/laguna-nano.gguf"
Open = Callable[..., Engine]


@pytest.fixture(scope="module")
def dflash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drafter like Laguna XS-2.1's, for the tiny model."""
    return drafters.make(drafters.LAGUNA).write(tmp_path_factory.mktemp("drafters") / "tiny-dflash.gguf")


@pytest.fixture
def opened() -> Iterator[Open]:
    with ExitStack() as stack:
        yield lambda *arguments, **changes: stack.enter_context(Engine.open(options(*arguments, **changes)))


DRAFTING = {
    "plain": PLAIN,
    "copy": Drafting(length=4),
    # Which of two drafters is asked would depend on their speed.
    "dflash": Drafting(length=3, sources=frozenset({Source("dflash")})),
}


@dataclass(frozen=True)
class Setup:
    """Engines that are alike: the type of their cache, and who drafts."""

    kv: KvType
    kind: str
    model: Path
    dflash: Path
    opened: Open

    def open(self) -> Engine:
        return self.opened(self.model, self.kv, self.dflash if self.kind == "dflash" else None)

    def drafting(self, folder: Path, prompt: Sequence[int], count: int) -> Drafting:
        """How drafts are made, so that some are accepted: what is copied is what comes."""
        if self.kind != "copy":
            return DRAFTING[self.kind]
        plain = self.open()
        plain.restore(folder, prompt)
        return replace(DRAFTING["copy"], files=(say(plain, prompt, count, PLAIN).tokens,))

    def assert_goes_on(self, engine: Engine, folder: Path, chat: Sequence[int], message: Sequence[int]) -> None:
        """An engine that restores this conversation answers the message as the one that has never stopped."""
        prompt = [*chat, *message]
        expected = say(engine, prompt, 80, self.drafting(folder, prompt, 80))
        assert self.kind == "plain" or any(expected.drafts)
        other = self.open()
        restored = other.restore(folder, prompt)
        assert (restored.tokens, restored.refused) == (len(chat) - 1, ())
        found = again(other, prompt, expected)
        assert (found.tokens, found.cached) == (expected.tokens, expected.cached)
        assert_same_cache(other, engine)


@pytest.fixture(params=product(KvType, DRAFTING), ids=lambda param: f"{param[0].value}-{param[1]}")
def setup(request: pytest.FixtureRequest, opened: Open, tiny_model_path: Path, dflash: Path) -> Setup:
    kv, kind = request.param
    return Setup(kv, kind, tiny_model_path, dflash, opened)


def test_a_restored_conversation_goes_on_as_if_it_had_not_stopped(setup: Setup, tmp_path: Path) -> None:
    engine = setup.open()
    chat = [*EARLIER, *EARLIER]
    for message in MESSAGES[:2]:
        chat += [*say(engine, chat, 90, DRAFTING[setup.kind]).tokens, *message]
        assert engine.snapshot(tmp_path).waits is False
    chat += say(engine, chat, 90, DRAFTING[setup.kind]).tokens
    assert engine.snapshot(tmp_path, last=True).waits is False
    setup.assert_goes_on(engine, tmp_path, chat, MESSAGES[2])


def test_a_drafter_drafts_as_well_as_before(opened: Open, tiny_model_path: Path, dflash: Path, tmp_path: Path) -> None:
    engine = opened(tiny_model_path, drafter=dflash)
    chat = [*EARLIER, *say(engine, EARLIER, 90, DRAFTING["dflash"]).tokens]
    engine.snapshot(tmp_path)
    chat += MESSAGES[0]
    expected = say(engine, chat, 60, DRAFTING["dflash"])
    other = opened(tiny_model_path, drafter=dflash)
    other.restore(tmp_path, chat)
    found = say(other, chat, 60, DRAFTING["dflash"])
    assert (found.tokens, found.drafts, found.cached) == (expected.tokens, expected.drafts, expected.cached)


def test_a_drafter_that_was_not_there_sees_the_newest_turn_again_and_no_more(
    opened: Open, tiny_model_path: Path, dflash: Path, tmp_path: Path
) -> None:
    engine = opened(tiny_model_path)
    first = [*EARLIER, *say(engine, EARLIER, 90).tokens]
    engine.snapshot(tmp_path)
    chat = [*first, *MESSAGES[0], *say(engine, [*first, *MESSAGES[0]], 90).tokens]
    engine.snapshot(tmp_path, last=True)
    other = opened(tiny_model_path, drafter=dflash)
    assert other.restore(tmp_path, chat).tokens == len(chat) - 1
    said = say(other, [*chat, 60], 40, DRAFTING["dflash"])
    assert (said.cached, sum(map(len, said.drafts)) > 10) == (len(first) - 1, True)


def test_the_turn_before_is_a_checkpoint_in_memory_again(opened: Open, tiny_model_path: Path, tmp_path: Path) -> None:
    engine = opened(tiny_model_path)
    first = [*EARLIER, *say(engine, EARLIER, 90).tokens]
    engine.snapshot(tmp_path)
    chat = [*first, *MESSAGES[0], *say(engine, [*first, *MESSAGES[0]], 90).tokens]
    engine.snapshot(tmp_path, last=True)
    other = opened(tiny_model_path)
    other.restore(tmp_path, chat)
    assert other.preview([*first, *MESSAGES[1]]).cached == len(first) - 1


def test_after_a_rewind(setup: Setup, tmp_path: Path) -> None:
    """The turns that were left behind are still there too."""
    engine, first = setup.open(), [*EARLIER, *EARLIER]
    first += say(engine, first, 90, DRAFTING[setup.kind]).tokens
    engine.snapshot(tmp_path)
    left_behind = [*first, *MESSAGES[0]]
    left_behind += say(engine, left_behind, 40, DRAFTING[setup.kind]).tokens
    assert engine.snapshot(tmp_path, last=True).nbytes > 0
    chat = [*first, *MESSAGES[1]]
    chat += say(engine, chat, 120, DRAFTING[setup.kind]).tokens
    assert engine.snapshot(tmp_path, last=True).nbytes > 0
    assert setup.open().restore(tmp_path, [*left_behind, 60]).tokens == len(left_behind) - 1
    setup.assert_goes_on(engine, tmp_path, chat, MESSAGES[2])


def test_after_a_fork(setup: Setup, tmp_path: Path) -> None:
    """The copy and the session that it is one of go their own ways, and share what was written before."""
    session, copy = tmp_path / "session", tmp_path / "copy"
    engine = setup.open()
    first = [*EARLIER, *say(engine, EARLIER, 200, DRAFTING[setup.kind]).tokens]
    engine.snapshot(session, last=True)
    shutil.copytree(session, copy)
    forked = setup.open()
    forked.restore(copy, first)
    for of, folder, messages in ((engine, session, MESSAGES[:2]), (forked, copy, MESSAGES[2:4])):
        chat = [*first, *messages[0]]
        chat += say(of, chat, 90, DRAFTING[setup.kind]).tokens
        assert of.snapshot(folder, last=True).nbytes > 0
        setup.assert_goes_on(of, folder, chat, messages[1])


def test_a_rewind_takes_the_snapshot_of_an_earlier_turn(opened: Open, tiny_model_path: Path, tmp_path: Path) -> None:
    engine = opened(tiny_model_path, checkpoints=0)
    first = [*EARLIER, *say(engine, EARLIER, 90).tokens]
    engine.snapshot(tmp_path)
    later = [*first, *MESSAGES[0]]
    say(engine, later, 300)
    edited = [*first, *MESSAGES[1]]
    assert engine.preview(edited).cached == 0
    assert engine.restore(tmp_path, edited).tokens == len(first) - 1
    assert engine.preview(edited).cached == len(first) - 1


def test_what_is_cached_already_is_not_restored(opened: Open, tiny_model_path: Path, tmp_path: Path) -> None:
    engine = opened(tiny_model_path)
    chat = [*EARLIER, *say(engine, EARLIER, 90).tokens]
    engine.snapshot(tmp_path)
    assert engine.restorable(tmp_path, [*chat, 77]) is None
    assert engine.restore(tmp_path, [*chat, 77]).tokens == 0
    assert engine.preview([*chat, 77]).cached == len(chat) - 1


def test_a_repeated_prompt_is_restored_whole(opened: Open, tiny_model_path: Path, tmp_path: Path) -> None:
    engine = opened(tiny_model_path)
    say(engine, EARLIER, 1)
    engine.snapshot(tmp_path)
    other = opened(tiny_model_path)
    assert other.restore(tmp_path, EARLIER).tokens == len(EARLIER)
    assert say(other, EARLIER, 5).cached == len(EARLIER) - 1


def test_after_a_compaction(setup: Setup, tmp_path: Path) -> None:
    """The conversation before it and the one behind it are both there."""
    engine = setup.open()
    before = [*EARLIER, *say(engine, EARLIER, 200, DRAFTING[setup.kind]).tokens]
    engine.snapshot(tmp_path)
    compacted = [*EARLIER[:100], *MESSAGES[0]]
    compacted += say(engine, compacted, 90, DRAFTING[setup.kind]).tokens
    assert engine.snapshot(tmp_path).nbytes > 0
    assert setup.open().restore(tmp_path, [*before, 60]).tokens == len(before) - 1
    setup.assert_goes_on(engine, tmp_path, compacted, MESSAGES[1])


def test_at_every_fill_of_a_wrapped_window(setup: Setup, tmp_path: Path) -> None:
    """Once around the 256 cells of its ring, which drafts that were rejected have left in any order."""
    engine = setup.open()
    chat, begun = [*EARLIER, *EARLIER], 2 * len(EARLIER)
    while len(chat) < begun + 256:
        chat += say(engine, chat, 9, DRAFTING[setup.kind]).tokens
        folder = tmp_path / str(len(chat))
        engine.snapshot(folder)
        prompt = [*chat, 60, 61]
        expected = say(engine, prompt, 12, DRAFTING[setup.kind])
        other = setup.open()
        assert other.restore(folder, prompt).tokens == len(chat) - 1
        assert again(other, prompt, expected).tokens == expected.tokens
        assert_same_cache(other, engine)
        other.close()
        chat = [*prompt, *expected.tokens]


def test_a_wrapped_window_whose_newest_cells_are_a_rejected_drafts(
    opened: Open, tiny_model_path: Path, tmp_path: Path
) -> None:
    """At every fill of the ring: its cells lie in another order each time, and some of them are free."""
    engine = opened(tiny_model_path)
    chat = list(EARLIER)
    for turn in range(40):
        drafts = tuple((1,) * (turn % 7) for _ in range(9))
        chat += say(engine, chat, 9, Drafting(script=drafts)).tokens
        folder = tmp_path / str(turn)
        engine.snapshot(folder)
        other = opened(tiny_model_path)
        other.restore(folder, [*chat, 60])
        expected = say(engine, [*chat, 60, 61], 12, PLAIN)
        assert say(other, [*chat, 60, 61], 12, PLAIN).tokens == expected.tokens
        assert_same_cache(other, engine)
        other.close()
        chat += [60, 61, *expected.tokens]


def test_a_model_without_a_sliding_window_is_restored_up_to_any_token(opened: Open, tmp_path: Path) -> None:
    path = tiny.laguna(tiny.Shape(n_layer=2, window=0)).write(tmp_path / "full.gguf")
    engine = opened(path)
    chat = [*EARLIER, *say(engine, EARLIER, 50).tokens]
    engine.snapshot(tmp_path / "kept")
    other = opened(path)
    assert other.restore(tmp_path / "kept", [*chat[:200], 60]).tokens == 200


def test_nano_goes_on_too(opened: Open, tmp_path: Path) -> None:
    engine = opened(NANO)
    chat = engine.vocab.tokenize("def add(a, b):\n    return a + b\n\n" * 40, special=False)
    chat += say(engine, chat, 60).tokens
    engine.snapshot(tmp_path)
    chat += engine.vocab.tokenize("\ndef sub(a, b):\n", special=False)
    expected = say(engine, chat, 80)
    other = opened(NANO)
    assert other.restore(tmp_path, chat).tokens == expected.cached
    assert again(other, chat, expected).tokens == expected.tokens
    assert_same_cache(other, engine)


def test_strict_answers_are_the_plain_ones_behind_a_restored_conversation(
    tiny_model_path: Path, dflash: Path, tmp_path: Path
) -> None:
    """In a process of its own, because strict arithmetic has to be chosen before the first computation."""
    child = Path(__file__).with_name("strict_child.py")
    command = [sys.executable, str(child), str(tiny_model_path), str(dflash), str(NANO), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=170)
    assert (result.returncode, result.stdout.split()) == (0, ["28"]), result.stdout + result.stderr


def test_a_strict_engine_does_not_take_what_a_fast_one_computed(
    opened: Open, tiny_model_path: Path, tmp_path: Path
) -> None:
    engine = opened(tiny_model_path)
    say(engine, EARLIER, 20)
    engine.snapshot(tmp_path)
    identity = engine._snapshots._identity()
    assert identity.exact is (engine.info.speculation is Speculation.STRICT) is False
