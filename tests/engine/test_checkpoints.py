"""Which checkpoints are kept, and when one pays: bookkeeping without a model."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.checkpoints import Checkpoint, Checkpoints, DrafterSnapshot
from laguna_engine.llama.sequence_state import WindowState
from laguna_engine.sequence import PrefillRate, Reuse, plan_reuse, prefill_preview

PLENTY = 1 << 30
LENGTHS = st.lists(st.integers(1, 5000), max_size=60)


def checkpoint(length: int, nbytes: int = 8, drafter: DrafterSnapshot | None = None) -> Checkpoint:
    return Checkpoint(length, WindowState(np.zeros(-(-nbytes // 8), np.uint64), nbytes, 0), drafter)


def kept(lengths: list[int], most: int, limit: int = PLENTY, nbytes: int = 8) -> Checkpoints:
    checkpoints = Checkpoints(most, limit)
    for length in lengths:
        put(checkpoints, checkpoint(length, nbytes))
    return checkpoints


def put(checkpoints: Checkpoints, new: Checkpoint) -> None:
    if checkpoints.fits(new.nbytes):
        checkpoints.make_room(new.length, new.nbytes)
        checkpoints.add(new)


@given(LENGTHS, st.integers(1, 8), st.integers(1, 400))
def test_count_and_bytes_stay_within_their_bounds_and_the_newest_is_kept(lengths, most, limit):
    checkpoints = Checkpoints(most, limit)
    for length in lengths:
        put(checkpoints, checkpoint(length, nbytes=40))
        assert len(checkpoints.lengths) <= most
        assert checkpoints.nbytes <= limit
        assert list(checkpoints.lengths) == sorted(set(checkpoints.lengths))
        assert (length in checkpoints.lengths) is (limit >= 40)


def test_what_the_drafter_remembers_counts_too():
    drafter = DrafterSnapshot(10, None, (np.zeros((3, 4), np.float16),))
    one = checkpoint(10, 16, drafter)
    assert one.nbytes == 16 + 24
    assert Checkpoints(4, 40).fits(one.nbytes)
    assert not Checkpoints(4, 39).fits(one.nbytes)


def test_nothing_is_kept_where_none_are_wanted():
    assert not Checkpoints(0, PLENTY).wanted
    assert not Checkpoints(4, 0).wanted
    assert not Checkpoints(0, PLENTY).fits(8)


def test_room_is_made_before_anything_is_copied_so_the_bytes_are_never_exceeded():
    checkpoints = kept([100, 200, 300], most=9, limit=120, nbytes=40)
    gone = checkpoints.make_room(400, 40)
    assert gone is not None
    assert gone.length not in checkpoints.lengths
    assert checkpoints.nbytes == 80


def test_memory_that_a_copy_of_the_sequence_refers_to_is_not_offered_again():
    checkpoints = kept([100, 200], most=2, limit=PLENTY, nbytes=40)
    assert [each.length for each in checkpoints.share()] == [100, 200]
    assert checkpoints.make_room(200, 40) is None
    assert checkpoints.make_room(300, 40) is None
    checkpoints.add(checkpoint(300, nbytes=40), shared=True)
    assert checkpoints.make_room(300, 40) is None
    own = checkpoint(300, nbytes=40)
    checkpoints.add(own)
    assert checkpoints.make_room(300, 40) is own


def test_old_checkpoints_come_to_lie_further_apart():
    lengths = kept(list(range(100, 6500, 100)), most=6).lengths
    gaps = np.diff([0, *lengths])
    assert lengths[-1] == 6400
    assert list(gaps) == sorted(gaps, reverse=True)
    assert gaps[0] > 10 * gaps[-1]


def test_with_sixteen_no_change_reads_more_again_than_it_throws_away():
    for count in range(1, 120):
        end = 100 * count
        checkpoints = kept(list(range(100, end + 1, 100)), most=16)
        assert all(place - checkpoints.before(place) <= end - place + 100 for place in range(0, end, 10))


@given(LENGTHS, st.integers(0, 5000))
def test_whatever_lies_behind_a_cut_is_forgotten_and_nothing_else(lengths, cut):
    checkpoints = kept(lengths, most=100)
    checkpoints.cut(cut)
    assert set(checkpoints.lengths) == {length for length in lengths if length <= cut}
    assert checkpoints.nbytes == 8 * len(checkpoints.lengths)


def test_the_nearest_one_before_a_place_is_found_or_the_beginning():
    checkpoints = kept([50, 200], most=4)
    assert [checkpoints.before(place) for place in (49, 50, 199, 200, 300)] == [0, 50, 50, 200, 200]


def plan(prompt: list[int], checkpoints: list[int], at_most: int | None = None) -> Reuse:
    """What a cache of the tokens 0 to 99, of which the window holds the last 20, is worth with `checkpoints`."""
    lengths = kept(checkpoints, most=10).lengths
    return plan_reuse(list(range(100)), prompt, pos_min=80, window=16, checkpoints=lengths, at_most=at_most)


def test_a_prompt_that_goes_back_far_keeps_what_is_before_the_last_checkpoint_that_helps():
    assert plan([*range(74), -1], [30, 60, 90]) == Reuse(60, 74, reprefill=False, checkpoint=60)


def test_where_the_cache_reaches_no_checkpoint_is_used():
    assert plan([*range(96), -1], [30, 60]) == Reuse(96, 96, reprefill=False)


def test_a_checkpoint_right_behind_the_change_serves_one_token_less():
    assert plan([*range(49), -1, -2], [50]) == Reuse(49, 49, reprefill=False, checkpoint=50)
    assert plan([*range(48), -1, -2], [50]) == Reuse(0, 48, reprefill=True)


def test_a_prompt_that_comes_again_uses_the_checkpoint_at_its_end():
    assert plan(list(range(50)), [50]) == Reuse(49, None, reprefill=False, checkpoint=50)


def test_no_more_is_kept_than_was_asked_for():
    assert plan([*range(74), -1], [20, 50], at_most=40) == Reuse(20, 74, reprefill=False, checkpoint=20)


def test_a_preview_counts_what_lies_between_checkpoint_and_change_as_new():
    prompt = [*range(74), -1, -2]
    cost = prefill_preview(plan(prompt, [60]), PrefillRate(), len(prompt), capacity=200)
    assert (cost.cached, cost.new, cost.first_changed, cost.reprefill) == (60, 16, 74, False)
