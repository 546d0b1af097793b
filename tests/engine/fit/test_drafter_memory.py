"""A drafter's size on paper against the real thing, opened and at work."""

from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.fit.drafter import DrafterShape, features_size, graphs_size, ring_size
from laguna_engine.ggml.types import Type
from laguna_engine.gguf import drafter as drafter_files
from tests.engine import drafters
from tests.engine.drafting import drafter

CONTEXT, ROWS = 1024, 576
SHARING = replace(drafters.LAGUNA, own_embedding=True, own_head=True)
VARIANTS = {
    "sliding": SHARING,
    "full": drafters.Variant(block=8),
    "mixed": drafters.Variant(n_layer=3, window=48, sliding=(True, False, True)),
    "reduced vocabulary": drafters.Variant(reduced=256, own_head=True),
}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_weights_keys_and_values_take_exactly_what_was_said(variant: drafters.Variant, tmp_path: Path):
    path = tmp_path / "drafter.gguf"
    with drafter(variant, path, 8, context=CONTEXT, kv=Type.F16) as fed:
        shape = DrafterShape.of(drafter_files.read(path), variant.n_vocab)
        assert shape.weights + ring_size(shape, CONTEXT) == pytest.approx(fed.dflash.nbytes, rel=1e-3)


def test_features_and_graphs_take_no_more_than_was_said_and_not_much_less(tmp_path: Path):
    variant = replace(SHARING, n_embd=256, n_vocab=4096, half=True)
    path = tmp_path / "drafter.gguf"
    with drafter(variant, path, 700, context=CONTEXT, rows=ROWS) as fed:
        fed.feed(0, 512)
        for start, count in ((512, 17), (529, 9), (538, 5), (543, 3), (546, 2), (548, 1)):
            fed.feed(start, start + count)
            fed.tokens(1, start + count, count)
        fed.dflash.sample_with(20, lambda ids, logits, position: int(ids[0]))
        for count in (15, 7, 3, 1):
            fed.tokens(1, 549, count)
        graphs = fed.dflash._graphs
        built = [part._graph.nbytes for part in (*graphs._injections.values(), *graphs._blocks.values())]
        features = fed._store.nbytes
        shape = DrafterShape.of(drafter_files.read(path), variant.n_vocab)
    assert sum(built) <= graphs_size(shape, 512) <= 2 * sum(built)
    assert features == pytest.approx(features_size(shape, 512), rel=1e-3)
