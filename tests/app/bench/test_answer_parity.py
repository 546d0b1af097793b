"""Answers held against the plain ones."""

import pytest

from laguna_engine.events import Cause
from laguna_tui.bench.parity import ReplayResult, compare, first_difference
from tests.app.bench.samples import sample


@pytest.mark.parametrize(
    ("one", "other", "index"),
    [([1, 2, 3], [1, 2, 3], None), ([1, 2, 3], [1, 9, 3], 1), ([1, 2], [1, 2, 3], 2), ([], [], None)],
)
def test_the_first_difference_counts_an_early_end(one, other, index):
    assert first_difference(one, other) == index


def test_a_prompt_is_the_same_only_if_every_repeat_is():
    answers = [
        sample("plain", "x", [1, 2, 3]), sample("fast", "x", [1, 2, 3]), sample("fast", "x", [1, 7, 3], repeat=1),
        sample("plain", "y", [4, 5]), sample("fast", "y", [4, 5]), sample("fast", "y", [4, 5], repeat=1),
        sample("fast", "never plain", [8]),
    ]  # fmt: skip
    found = compare(answers, "fast", "plain", text=str)
    assert (found.prompts, found.same) == (2, 1)
    (difference,) = found.differences
    assert (difference.prompt, difference.index) == ("x", 1)
    assert (difference.plain, difference.drafted) == ("2", "7")
    assert difference.near_tie is None


def test_an_answer_that_ended_early_differs_by_nothing_there():
    answers = [sample("plain", "x", [1, 2]), sample("fast", "x", [1])]
    (difference,) = compare(answers, "fast", "plain", text=str).differences
    assert (difference.index, difference.plain, difference.drafted) == (1, "2", "")


@pytest.mark.parametrize(
    ("margin", "near", "words"), [(0.02, True, "a near-tie"), (7.0, False, "NO near-tie"), (None, True, "gave both")]
)
def test_a_closer_look_tells_rounding_from_a_fault(margin, near, words):
    answers = [sample("plain", "x", [1, 2]), sample("fast", "x", [1, 3])]
    (difference,) = compare(answers, "fast", "plain", str, replay=lambda _: ReplayResult(margin)).differences
    assert difference.near_tie is near
    assert words in difference.line()


@pytest.mark.parametrize(
    ("cause", "words"), [(Cause.VERIFIED, "verifying several tokens at once"), (Cause.READ, "prompt in other pieces")]
)
def test_a_near_tie_says_what_was_computed_in_other_batches(cause, words):
    answers = [sample("plain", "x", [1, 2]), sample("fast", "x", [1, 3])]
    (difference,) = compare(answers, "fast", "plain", str, replay=lambda _: ReplayResult(0.02, cause)).differences
    assert words in difference.line()
    assert difference.fields()["look"] == {"margin": 0.02, "cause": cause.value}
