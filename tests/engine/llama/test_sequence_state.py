"""Rows of any range of positions come out of llama.cpp's states, and go back in, bit for bit."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from laguna_engine.config import KvType
from laguna_engine.llama import sequence_state
from laguna_engine.llama.context import Context, ContextOptions, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sequence_state import Rows, UnknownState, build, in_order, parse
from laguna_engine.native.library import lib

TOKENS = [40 + (11 * index) % 400 for index in range(200)]

CASES = [(KvType.F16, None), (KvType.Q8_0, None), (KvType.Q4_0, None), (KvType.F16, False)]


@pytest.fixture(params=CASES, ids=["f16", "q8_0", "q4_0", "transposed values"])
def contexts(tiny_model: Model, request: pytest.FixtureRequest) -> Iterator[tuple[Context, Context]]:
    """One with 200 tokens, and an empty one."""
    kv, flash = request.param
    options = ContextOptions(512, n_ubatch=64, type_k=kv, type_v=kv, flash_attention=flash, threads=1)
    full, empty = Context(tiny_model, options), Context(tiny_model, options)
    full.decode(TOKENS, 0)
    yield full, empty
    full.close()
    empty.close()


def equal(left: Rows, right: Rows) -> bool:
    same = (left.start, left.stop, left.layout) == (right.start, right.stop, right.layout)
    return same and all(np.array_equal(a, b) for a, b in zip(left.tensors, right.tensors, strict=True))


def test_any_range_is_that_part_of_the_whole(contexts: tuple[Context, Context]) -> None:
    context, _ = contexts
    whole, caches = context.read_rows(0, 200)
    assert (whole.count, caches) == (200, 2)
    chance = random.Random(2)
    for _ in range(30):
        start, stop = sorted(chance.sample(range(201), 2))
        assert equal(context.read_rows(start, stop)[0], whole.part(start, stop))
    assert context.positions()[1] == 199


def test_reading_changes_nothing(contexts: tuple[Context, Context]) -> None:
    context, _ = contexts
    before, positions = whole_state(context), context.positions()
    for start in range(0, 200, 7):
        context.read_rows(start, start + 1)
    assert np.array_equal(whole_state(context), before)
    assert context.positions() == positions


def test_parts_put_into_another_context_compute_the_same(contexts: tuple[Context, Context]) -> None:
    full, empty = contexts
    saved = full.save_window()
    assert saved is not None
    window, _ = in_order(saved)
    assert full.load_window(window)
    for start in range(0, 200, 30):
        rows, caches = full.read_rows(start, min(start + 30, 200))
        assert empty.write_rows(rows, caches)
    assert empty.load_window(window)
    assert empty.positions() == full.positions()
    for context in contexts:
        context.decode([77, 78, 79], 200, Outputs.ALL)
    assert np.array_equal(full.logits(-1), empty.logits(-1))
    assert equal(full.read_rows(0, 203)[0], empty.read_rows(0, 203)[0])


def test_a_state_is_what_it_was_after_taking_it_apart(contexts: tuple[Context, Context]) -> None:
    """llama.cpp's own bytes come back, where its cells lie in the order of their positions."""
    _, context = contexts
    context.decode(TOKENS[:60], 0)
    state = whole_state(context)
    full, window = parse(state)
    again = np.concatenate([build([full]).data, build([window]).data[8:]])
    assert np.array_equal(again, state)


def test_positions_that_are_not_cached_cannot_be_read(contexts: tuple[Context, Context]) -> None:
    full, empty = contexts
    with pytest.raises(UnknownState):
        full.read_rows(150, 201)
    with pytest.raises(UnknownState):
        empty.read_rows(0, 1)


def test_damaged_states_are_refused_or_understood_but_never_read_beyond(contexts: tuple[Context, Context]) -> None:
    state = whole_state(contexts[0])
    chance = random.Random(4)
    for _ in range(300):
        damaged = state[: chance.randrange(len(state))].copy()
        if len(damaged):
            damaged[chance.randrange(min(len(damaged), 4000))] ^= 1 << chance.randrange(8)
        try:
            caches = parse(damaged)
        except UnknownState:
            continue
        assert all(rows.count >= 0 for rows in caches)


def test_llama_cpp_refuses_rows_of_another_type(contexts: tuple[Context, Context]) -> None:
    full, empty = contexts
    rows, caches = full.read_rows(0, 100)
    layout = sequence_state.RowLayout(
        tuple((kind + 1, width) for kind, width in rows.layout.keys), rows.layout.values, rows.layout.transposed
    )
    assert not empty.write_rows(Rows(0, layout, rows.tensors), caches)
    empty.clear()
    assert empty.write_rows(rows, caches)


def whole_state(context: Context) -> np.ndarray:
    size = lib.llama_state_seq_get_size_ext(context._handle, 0, 0)
    data = np.empty(size, np.uint8)
    assert lib.llama_state_seq_get_data_ext(context._handle, data.ctypes.data, size, 0, 0) == size
    return data
