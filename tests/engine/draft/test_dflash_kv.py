"""The ring's bookkeeping against the plainest model of it, over random lives of a sequence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from laguna_engine.draft.dflash_kv import GRAIN, Mask, Ring, header_slots

HEADER = 64

injections = st.tuples(st.just("inject"), st.integers(1, 150))
rewinds = st.tuples(st.just("rewind"), st.integers(0, 400))
lives = st.lists(st.one_of(injections, rewinds), max_size=20)


class Model:
    """Which position lies in which slot, as a dictionary."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.slots, self.length = capacity, {}, 0

    def covers(self, length: int, reach: int) -> bool:
        wanted = range(max(0, length - reach), length)
        return all(self.slots.get(position % self.capacity) == position for position in wanted)


def lived(ring: Ring, life: list[tuple[str, int]]) -> Model:
    model = Model(ring.capacity)
    for what, count in life:
        if what == "inject":
            positions = np.arange(model.length, model.length + count, dtype=np.int32)
            slots = ring.place(positions)
            assert (slots == HEADER + positions % ring.capacity).all()
            model.slots |= {int(position) % ring.capacity: int(position) for position in positions}
            model.length += count
        else:
            model.length = max(0, model.length - count)
            ring.truncate(model.length)
            model.slots = {slot: position for slot, position in model.slots.items() if position < model.length}
    return model


def seen_at(mask: Mask, length: int) -> NDArray[np.float16]:
    """After it was elsewhere: nothing of that may be left."""
    mask.look(length + 7)
    mask.look(length)
    return mask.values


@given(lives, st.integers(0, 300), st.integers(-20, 20))
def test_it_knows_what_it_holds(life: list[tuple[str, int]], reach: int, shift: int) -> None:
    ring = Ring(reach, HEADER)
    model = lived(ring, life)
    length = max(0, model.length + shift)
    assert ring.covers(length) == model.covers(length, reach)


@given(lives, st.integers(1, 100), st.integers(1, 16), st.booleans())
def test_a_mask_shows_each_row_its_window(life: list[tuple[str, int]], window: int, rows: int, causal: bool) -> None:
    ring = Ring(window - 1, HEADER)
    model = lived(ring, life)
    mask = seen_at(Mask(ring, rows, ring.slots, window=window, causal=causal), model.length)
    for row in range(rows):
        newest = model.length + row
        seen = {slot for slot in range(rows) if row - slot < window and not (causal and slot > row)}
        seen |= {HEADER + slot for slot, position in model.slots.items() if newest - position < window}
        assert set(np.flatnonzero(mask[row] == 0)) == seen
    assert (mask[mask != 0] == -np.inf).all()


@given(lives, st.integers(1, 16))
def test_a_mask_without_a_window_shows_all_that_is_in_reach(life: list[tuple[str, int]], rows: int) -> None:
    ring = Ring(90, HEADER)
    model = lived(ring, life)
    mask = seen_at(Mask(ring, rows, ring.keys(model.length), window=0, causal=False), model.length)
    reached = {HEADER + slot for slot, position in model.slots.items() if position >= model.length - 90}
    for row in range(rows):
        assert set(np.flatnonzero(mask[row] == 0)) == {*range(rows), *reached}


@pytest.mark.parametrize("reach", [0, 39, 511, 4096])
def test_keys_grow_in_a_few_steps_that_hold_every_position(reach: int) -> None:
    ring = Ring(reach, HEADER)
    steps = {ring.keys(length) for length in range(2 * ring.slots)}
    assert len(steps) <= 1 + np.log2(ring.slots / GRAIN) + 1
    assert all(step % GRAIN == 0 for step in steps)
    assert all(ring.keys(n) >= min(HEADER + n, ring.slots) for n in range(2 * ring.slots))


@pytest.mark.parametrize("block", [1, 16, 63, 64])
def test_every_block_row_has_a_slot_and_one_is_left_for_spare_rows(block: int) -> None:
    assert header_slots(block) > block


@given(st.integers(0, 3000), st.integers(1, 192))
def test_runs_of_slots_are_where_the_positions_were_placed(start, count):
    ring = Ring(100, HEADER)
    count = min(count, ring.capacity)
    runs = ring.spans(start, start + count)
    placed = ring.place(np.arange(start, start + count, dtype=np.int32))
    assert len(runs) <= 2
    assert [slot for run in runs for slot in run] == placed.tolist()
