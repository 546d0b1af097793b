"""A drafter's estimated memory equals that of an opened and running one."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.draft import dflash_graph
from laguna_engine.fit.memory import DrafterShape, features_size, graphs_size, ring_size
from laguna_engine.ggml.tensor import Type
from laguna_engine.gguf import drafter_header as drafter_files
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


WIDE = {
    name: replace(variant, n_embd=256, n_vocab=4096, half=True)
    for name, variant in (VARIANTS | {"chained": drafters.Variant(block=16, rank=16, confidence="both")}).items()
}


@pytest.mark.parametrize("variant", WIDE.values(), ids=WIDE)
def test_graphs_never_take_more_than_was_said_whatever_is_drafted(variant: drafters.Variant, tmp_path: Path):
    """Every width, with short and long contexts, sampled and greedy, with and without an adapter."""
    path = tmp_path / "drafter.gguf"
    adapter = drafters.adapter(variant, "blk.0.ffn_down.weight").write(tmp_path / "mine.gguf")
    with drafter(variant, path, 1100, context=CONTEXT, rows=ROWS, kv=Type.F16, adapters=[("mine", adapter)]) as fed:
        said = graphs_size(DrafterShape.of(drafter_files.read(path), variant.n_vocab), 512, CONTEXT)
        sizes = []
        for name, top_k in product((None, "mine"), (None, 64)):
            fed.dflash.use_adapter(name)
            fed.dflash.sample_with(top_k, lambda ids, logits, position: int(ids[0]))
            position = 0
            for count in (512, 1, 2, 3, 5, 9, 17, 33, 65, 129, 257):
                fed.feed(position, position + count)
                position += count
                for length in (1, 3, 7, 15):
                    fed.tokens(1, position, length)
                    sizes.append(fed.dflash.graphs_nbytes)
    assert max(sizes) <= said


@pytest.mark.parametrize("variant", WIDE.values(), ids=WIDE)
def test_a_long_answer_builds_every_graph_once(
    variant: drafters.Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    built: list[object] = []
    for kind in (dflash_graph.BlockGraph, dflash_graph.InjectionGraph):
        monkeypatch.setattr(dflash_graph, kind.__name__, counting(kind, built))
    with drafter(variant, tmp_path / "drafter.gguf", 1000, context=CONTEXT, rows=ROWS, kv=Type.F16) as fed:
        fed.feed(0, 512)
        position = 512
        for count in (1, 2, 3, 5, 9, 17) * 8:
            fed.feed(position, position + count)
            position += count
            for length in (1, 3, 7, 15):
                fed.tokens(1, position, length)
    assert len(built) == len(set(built))


def counting(kind: type, built: list[object]) -> type:
    """The same graph class, which records its arguments."""

    class Counted(kind):
        def __init__(self, what: object, *arguments: Any) -> None:
            built.append((what, arguments[-2] if kind is dflash_graph.InjectionGraph else None))
            super().__init__(what, *arguments)

    return Counted


@pytest.mark.parametrize("variant", [one for name, one in WIDE.items() if name != "chained"])
def test_features_and_graphs_take_no_more_than_was_said_and_not_much_less(variant: drafters.Variant, tmp_path: Path):
    path = tmp_path / "drafter.gguf"
    with drafter(variant, path, 700, context=CONTEXT, rows=ROWS) as fed:
        fed.feed(0, 512)
        for start, count in ((512, 17), (529, 9), (538, 5), (543, 3), (546, 2), (548, 1)):
            fed.feed(start, start + count)
            fed.tokens(1, start + count, count)
        fed.dflash.sample_with(20, lambda ids, logits, position: int(ids[0]))
        for count in (15, 7, 3, 1):
            fed.tokens(1, 549, count)
        built = fed.dflash.graphs_nbytes
        features = fed._store.nbytes
        shape = DrafterShape.of(drafter_files.read(path), variant.n_vocab)
    assert built <= graphs_size(shape, 512, CONTEXT) <= 2 * built
    assert features == pytest.approx(features_size(shape, 512), rel=1e-3)
