"""What a prompt can keep of the KV cache, as pure bookkeeping."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.sequence import Reuse, can_rewind, common_prefix, plan_reuse

TOKENS = st.lists(st.integers(0, 3), max_size=40)


@given(TOKENS, TOKENS)
def test_the_common_prefix_is_common_and_the_longest(left, right):
    length = common_prefix(left, right)
    assert left[:length] == right[:length]
    assert left[length : length + 1] != right[length : length + 1] or length == len(left) == len(right)


def test_the_common_prefix_is_found_deep_inside_long_lists():
    left = list(range(5000))
    for at in (0, 1023, 1024, 1025, 4999):
        assert common_prefix(left, [*left[:at], -1, *left[at + 1 :]]) == at
    assert common_prefix(left, left) == common_prefix(left, [*left, 1]) == 5000


def test_an_empty_cache_is_worth_nothing_and_contradicts_nothing():
    assert plan_reuse([], [1, 2], pos_min=-1, window=64) == Reuse(0, None, reprefill=False)


def test_a_longer_prompt_keeps_everything():
    assert plan_reuse([1, 2, 3], [1, 2, 3, 4]) == Reuse(3, None, reprefill=False)


def test_the_last_prompt_token_is_always_computed_for_its_logits():
    assert plan_reuse([1, 2, 3], [1, 2, 3]) == Reuse(2, None, reprefill=False)
    assert plan_reuse([1, 2, 3], [1, 2]) == Reuse(1, None, reprefill=False)


def test_a_changed_prompt_keeps_what_is_before_the_change_and_says_where_it_is():
    assert plan_reuse([1, 2, 3, 4], [1, 2, 9, 4]) == Reuse(2, 2, reprefill=False)


def test_a_rewind_behind_the_sliding_window_computes_everything_again():
    plan = partial(plan_reuse, list(range(100)), pos_min=60, window=16)
    assert plan([*range(80), -1]) == Reuse(80, 80, reprefill=False)
    assert plan([*range(75), -1]) == Reuse(75, 75, reprefill=False)
    assert plan([*range(74), -1]) == Reuse(0, 74, reprefill=True)


def test_going_on_needs_no_rewind_so_the_window_does_not_matter():
    assert plan_reuse(list(range(100)), [*range(101)], pos_min=99, window=16).keep == 100


def test_a_prompt_that_shares_nothing_is_no_lost_prefix():
    assert not plan_reuse(list(range(100)), [7, 7, 7], pos_min=60, window=16).reprefill


@given(st.integers(1, 200), st.integers(-1, 200), st.integers(0, 64))
def test_a_rewind_is_allowed_only_if_every_cell_the_next_token_sees_is_there(length, pos_min, window):
    seen = range(max(0, length - window + 1), length) if window else range(length)
    kept = range(pos_min, length) if pos_min >= 0 else range(0)
    if window != 0 and can_rewind(length, pos_min, window):
        assert set(seen) <= set(kept)
        assert kept
