"""Blocks are packed into few rows, and a row attends to the earlier rows of its own block only."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.compress.scorer_windows import TAIL, Query, Window, pack, sizes, slots

QUERY = Query((7, 8, 9), newline=5)


@given(st.integers(64, 5000), st.data())
def test_every_block_lies_in_one_window_that_holds_it(window: int, data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, window), max_size=60))
    plan = pack(lengths, window)
    assert sorted(block for _, blocks in plan for block in blocks) == list(range(len(lengths)))
    for rows, blocks in plan:
        assert sum(lengths[block] for block in blocks) <= rows <= window
        assert 0 < len(blocks) <= slots(rows)


@given(st.lists(st.integers(20, 400), min_size=1, max_size=300))
def test_rows_grow_with_the_tokens_and_not_faster(lengths: Sequence[int]) -> None:
    rows = sum(size for size, _ in pack(lengths, 4096))
    # A window is left at most half empty, or full of blocks of 20 tokens and more, or is the last one.
    assert rows <= 512 / 160 * sum(lengths) + 512


def test_texts_of_ordinary_length_leave_little_of_a_window_empty() -> None:
    lengths = np.random.default_rng(4).integers(60, 420, 500).tolist()
    assert sum(size for size, _ in pack(lengths, 4096)) < 1.03 * sum(lengths)


def test_a_long_block_gets_a_window_of_its_size_and_short_ones_fill_it() -> None:
    assert pack([1500, 300, 200], 4096) == [(2048, [0, 1, 2])]
    assert pack([100], 4096) == [(256, [0])]


@pytest.mark.parametrize("window", [64, 100, 256, 300, 512, 4096])
def test_no_window_is_larger_than_asked_for(window: int) -> None:
    assert sizes(window)[-1] == window
    assert sizes(window) == sorted(set(sizes(window)))


def test_a_block_is_a_newline_a_text_a_newline_and_the_query() -> None:
    window = Window(64, QUERY, [[11, 12]])
    assert window.tokens[:7].tolist() == [5, 11, 12, 5, 7, 8, 9]
    assert window.positions[:7].tolist() == list(range(7))


def test_without_a_text_the_newline_stands_once() -> None:
    assert Window(64, QUERY, [[]]).tokens[:4].tolist() == [5, 7, 8, 9]


def test_each_block_begins_at_position_0_and_sees_itself_alone() -> None:
    window = Window(256, QUERY, [[11, 12], [], [13]])
    starts = [0, 7, 11, 17]
    assert [window.positions[start] for start in starts[:-1]] == [0, 0, 0]
    seen = window.mask == 0
    assert ((window.mask == 0) | np.isneginf(window.mask)).all()
    for start, stop in pairwise(starts):
        size = stop - start
        assert (seen[start:stop, start:stop] == np.tri(size, dtype=bool)).all()
        assert not seen[start:stop, :start].any() and not seen[start:stop, stop:].any()


def test_rows_that_fill_a_window_up_see_themselves_alone() -> None:
    seen = Window(64, QUERY, [[11]]).mask == 0
    assert (seen[6:] == np.eye(64, dtype=bool)[6:]).all()


def test_the_rows_before_the_querys_tokens_are_asked_for_them() -> None:
    window = Window(128, QUERY, [[11, 12], []])
    assert window.query_rows.tolist() == [[3, 4, 5], [7, 8, 9]]
    assert window.targets.tolist() == [[7, 8, 9]] * 2


def test_the_tail_is_the_end_of_the_query_and_looks_at_the_text_alone() -> None:
    long = Query(tuple(range(100, 100 + 2 * TAIL)), newline=5)
    window = Window(128, long, [[11, 12], [13]])
    ends = [4 + 2 * TAIL, 7 + 4 * TAIL]
    for slot, (end, keys) in enumerate(zip(ends, ([1, 2], [5 + 2 * TAIL]), strict=True)):
        tail = slice(slot * TAIL, (slot + 1) * TAIL)
        assert window.tail_rows[tail].tolist() == list(range(end - TAIL, end))
        for row in window.text_mask[tail]:
            assert np.flatnonzero(row == 0).tolist() == keys


def test_of_a_short_query_the_tail_is_all_of_it_and_never_the_text() -> None:
    assert set(Window(64, QUERY, [[11, 12]]).tail_rows[:TAIL].tolist()) == {4, 5, 6}
