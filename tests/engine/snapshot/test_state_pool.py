"""Conversations that take turns on one sequence: each continues as if it had been alone, without being read again."""

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from laguna_engine import checkpoints
from laguna_engine.config import PLAIN
from laguna_engine.engine import Engine
from laguna_engine.snapshot.state_pool import WORTH_TOKENS
from tests.engine import drafters
from tests.engine.snapshot.chats import EARLIER, MESSAGES, options, say

PLENTY = 64 << 20
OTHER = [60 + (17 * index) % 370 for index in range(320)]


@pytest.fixture(autouse=True)
def checkpoints_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each checkpoint that is due, even if a busy machine needs long to copy one."""
    monkeypatch.setattr(checkpoints, "_SHARE", inf)


@pytest.fixture(params=["plain", "dflash"])
def engine(request: pytest.FixtureRequest, tiny_model_path: Path, tmp_path: Path) -> Iterator[Engine]:
    drafter = None
    if request.param == "dflash":
        drafter = drafters.make(drafters.LAGUNA).write(tmp_path / "tiny-dflash.gguf")
    with Engine.open(options(tiny_model_path, drafter=drafter)) as engine:
        yield engine


def test_two_conversations_in_turn_are_answered_as_each_alone_and_never_read_again(engine: Engine):
    alone = []
    for first in (EARLIER, OTHER):
        engine.clear()
        chat = list(first)
        for message in MESSAGES[:3]:
            chat = [*chat, *say(engine, chat, 20, PLAIN).tokens]
            alone.append(chat)
            chat = [*chat, *message]
    engine.clear()
    engine.hold_conversations(PLENTY)
    chats, said = [list(EARLIER), list(OTHER)], [[], []]
    for turn, message in enumerate(MESSAGES[:3]):
        for number in (0, 1):
            chat = chats[number]
            answer = say(engine, chat, 20, PLAIN)
            # The last token of an answer is not computed before it is needed.
            known = 0 if turn == 0 else len(chat) - len(message) - 1
            assert answer.cached >= known
            said[number].append([*chat, *answer.tokens])
            chats[number] = [*chat, *answer.tokens, *message]
    assert [*said[0], *said[1]] == alone
    assert engine.held.swapped == 4
    assert engine.held.held == 1


def test_without_a_budget_nothing_is_held_and_the_other_conversation_is_read_again(engine: Engine):
    say(engine, EARLIER, 5, PLAIN)
    say(engine, OTHER, 5, PLAIN)
    assert say(engine, EARLIER, 5, PLAIN).cached == 0
    assert (engine.held.held, engine.held.nbytes) == (0, 0)


def test_the_conversation_used_longest_ago_is_given_up_when_the_budget_is_over(engine: Engine):
    engine.hold_conversations(PLENTY)
    prompts = [[first, *EARLIER] for first in (41, 42, 43, 44)]
    for prompt in prompts[:3]:
        say(engine, prompt, 5, PLAIN)
    # Room for two, whether or not they have a checkpoint in the middle, but not for a third.
    engine.hold_conversations(engine.held.nbytes * 5 // 4)
    say(engine, prompts[3], 5, PLAIN)
    figures = engine.held
    assert (figures.held, figures.dropped) == (2, 1)
    assert figures.nbytes <= figures.budget
    assert say(engine, prompts[1], 5, PLAIN).cached >= len(prompts[1]) - 1
    assert say(engine, prompts[0], 5, PLAIN).cached == 0


def test_what_is_hardly_longer_than_a_shared_beginning_is_not_held(engine: Engine):
    engine.hold_conversations(PLENTY)
    say(engine, [*EARLIER, *MESSAGES[0][: WORTH_TOKENS // 4]], 2, PLAIN)
    say(engine, [*EARLIER, *MESSAGES[1][: WORTH_TOKENS // 4]], 2, PLAIN)
    assert engine.held.held == 0


def test_the_longest_prefix_wins(engine: Engine):
    engine.hold_conversations(PLENTY)
    long = [*EARLIER, *OTHER]
    say(engine, long, 3, PLAIN)
    say(engine, [41, *OTHER], 3, PLAIN)
    say(engine, [*EARLIER[:150], *OTHER[:200]], 3, PLAIN)
    assert say(engine, [*long, 45, 46], 3, PLAIN).cached >= len(long)


def test_a_budget_of_nothing_frees_what_was_held(engine: Engine):
    engine.hold_conversations(PLENTY)
    say(engine, EARLIER, 3, PLAIN)
    say(engine, OTHER, 3, PLAIN)
    assert engine.held.held == 1
    engine.hold_conversations(0)
    assert (engine.held.held, engine.held.nbytes) == (0, 0)


def test_a_waiting_chat_keeps_its_checkpoints_while_the_next_one_evicts_them(tiny_model_path: Path):
    """Two long chats that begin alike, more checkpoints than fit, and the first one edited."""
    with Engine.open(options(tiny_model_path, checkpoints=3)) as engine:
        engine.hold_conversations(PLENTY)
        first = [*EARLIER, *OTHER, *OTHER[:200]]
        for length in (len(EARLIER), len(first)):
            say(engine, first[:length], 3, PLAIN)
        second = list(EARLIER)
        for message in MESSAGES:
            second = [*second, *message, *OTHER[:100]]
            say(engine, second, 3, PLAIN)
        assert len(EARLIER) not in engine._sequence.checkpoints.lengths
        edited = [*first[:700], 41, *MESSAGES[0]]
        assert say(engine, edited, 3, PLAIN).cached == len(EARLIER)
