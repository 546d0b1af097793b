"""A model that goes in circles is noticed; one that lists things is not."""

import random
import time

import pytest

from laguna_engine.chat.messages import ToolCall
from laguna_tui.agent.loop_guard import MIN_STRETCH, LoopGuard, find_loop


def noticed_at(tokens):
    return next((n for n in range(1, len(tokens) + 1) if find_loop(tokens[:n]) is not None), None)


@pytest.mark.parametrize("length", [1, 2, 7, 64, 300, 512])
def test_words_that_repeat_are_noticed_after_three_rounds(length):
    chaos = random.Random(1)
    start = [chaos.randrange(5000) for _ in range(100)]
    stretch = [chaos.randrange(5000) for _ in range(length)]
    noticed = noticed_at(start + stretch * (2000 // length + 4))
    rounds = max(160, 3 * length)
    assert 100 + rounds <= noticed < 100 + rounds + 32


@pytest.mark.parametrize("length", [1, 2, 7, 15, 16, 64, 300])
def test_a_loop_is_its_stretch_and_where_the_first_round_of_it_ends(length):
    chaos = random.Random(1)
    start = [chaos.randrange(5000) for _ in range(100)]
    stretch = [chaos.randrange(5000) for _ in range(length)]
    tokens = start + stretch * (2000 // length + 4)
    loop = find_loop(tokens[: noticed_at(tokens)])
    rounds = -(-MIN_STRETCH // length)
    assert loop.stretch == tuple(stretch * rounds)
    assert loop.ends == 100 + length * rounds


def test_what_only_looks_alike_is_no_loop():
    numbered = [token for row in range(400) for token in (5, 6, 7, 1000 + row, 8)]
    assert noticed_at(numbered) is None
    assert noticed_at(list(range(3000))) is None


def test_looking_takes_no_time():
    tokens = [token for row in range(300) for token in ([5] * 20 + [row])][:6400]
    seconds = []
    for _ in range(20):
        begun = time.process_time()
        find_loop(tokens[: 64 * 90])
        seconds.append(time.process_time() - begun)
    assert min(seconds) < 0.01


def seen(guard, call, output, *, edited=False):
    """Whether the guard lets a call run; it is counted with its output if so."""
    if guard.objection(call) is not None:
        return False
    guard.record(call, output, edited=edited)
    return True


READ, EDIT = ToolCall("read", {"path": "a"}), ToolCall("edit", {"path": "a", "old": "x", "new": "y"})


def test_calls_are_the_same_whatever_the_order_of_arguments():
    guard = LoopGuard()
    first, same = ToolCall("read", {"path": "a", "start": 1}), ToolCall("read", {"start": 1, "path": "a"})
    assert seen(guard, first, "text")
    assert seen(guard, same, "text")
    assert seen(guard, ToolCall("read", {"path": "b", "start": 1}), "text")
    assert not seen(guard, first, "text")


def test_a_call_whose_result_is_new_may_be_made_again():
    guard = LoopGuard()
    assert [seen(guard, READ, f"text {n}") for n in range(5)] == [True] * 5
    assert [seen(guard, READ, "text") for _ in range(3)] == [True, True, False]


def test_after_an_edit_a_call_counts_from_nothing_whatever_it_says():
    guard = LoopGuard()
    assert seen(guard, READ, "text")
    assert seen(guard, READ, "text")
    assert seen(guard, EDIT, "Changed", edited=True)
    assert [seen(guard, READ, "text") for _ in range(3)] == [True, True, False]


def test_an_edit_that_is_made_to_and_fro_is_a_loop():
    guard = LoopGuard()
    back = ToolCall("edit", {"path": "a", "old": "y", "new": "x"})
    edits = [EDIT, back] * 3
    assert [seen(guard, edit, "Changed", edited=True) for edit in edits] == [True] * 4 + [False] * 2
