"""What a prompt can keep of the KV cache, as pure bookkeeping."""

from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.sequence import PrefixCache, Reuse, can_rewind, common_prefix

TOKENS = st.lists(st.integers(0, 3), max_size=40)


def cache_of(tokens: list[int], *, pos_min: int = 0, window: int = 0) -> PrefixCache:
    cache = PrefixCache(window)
    cache.extend(tokens)
    cache.settle(pos_min, len(tokens) - 1)
    return cache


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
    assert PrefixCache(64).plan([1, 2]) == Reuse(0, None, reprefill=False)


def test_a_longer_prompt_keeps_everything():
    assert cache_of([1, 2, 3]).plan([1, 2, 3, 4]) == Reuse(3, None, reprefill=False)


def test_the_last_prompt_token_is_always_computed_for_its_logits():
    assert cache_of([1, 2, 3]).plan([1, 2, 3]) == Reuse(2, None, reprefill=False)
    assert cache_of([1, 2, 3]).plan([1, 2]) == Reuse(1, None, reprefill=False)


def test_a_changed_prompt_keeps_what_is_before_the_change_and_says_where_it_is():
    assert cache_of([1, 2, 3, 4]).plan([1, 2, 9, 4]) == Reuse(2, 2, reprefill=False)


def test_a_rewind_behind_the_sliding_window_computes_everything_again():
    cache = cache_of(list(range(100)), pos_min=60, window=16)
    assert cache.plan([*range(80), -1]) == Reuse(80, 80, reprefill=False)
    assert cache.plan([*range(75), -1]) == Reuse(75, 75, reprefill=False)
    assert cache.plan([*range(74), -1]) == Reuse(0, 74, reprefill=True)


def test_going_on_needs_no_rewind_so_the_window_does_not_matter():
    assert cache_of(list(range(100)), pos_min=99, window=16).plan([*range(101)]).keep == 100


def test_a_prompt_that_shares_nothing_is_no_lost_prefix():
    assert not cache_of(list(range(100)), pos_min=60, window=16).plan([7, 7, 7]).reprefill


@given(st.integers(1, 200), st.integers(-1, 200), st.integers(0, 64))
def test_a_rewind_is_allowed_only_if_every_cell_the_next_token_sees_is_there(length, pos_min, window):
    seen = range(max(0, length - window + 1), length) if window else range(length)
    kept = range(pos_min, length) if pos_min >= 0 else range(0)
    if window != 0 and can_rewind(length, pos_min, window):
        assert set(seen) <= set(kept)
        assert kept


def test_the_mirror_follows_what_the_kv_cache_kept():
    cache = cache_of([1, 2, 3, 4])
    cache.settle(0, 1)
    assert len(cache) == 2
    assert cache.plan([1, 2, 3]) == Reuse(2, None, reprefill=False)
    cache.settle(-1, -1)
    assert len(cache) == 0
