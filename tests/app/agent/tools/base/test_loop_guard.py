"""A call that brings nothing new is not run a third time; one whose result may be new is."""

from laguna_engine.chat.messages import ToolCall
from laguna_tui.agent.tools.base.guard import LoopGuard


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
