"""What a drafter snapshot is put back as it was: to the bit, wherever in its rings it lay, and only where it fits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.errors import GraphError
from tests.engine import drafters
from tests.engine.drafters import LAGUNA, Variant
from tests.engine.drafting import drafter

CONTEXT, LAST, LENGTH = 200, 77, 900
VARIANTS = {
    "full": Variant(),
    "sliding and full": Variant(n_layer=3, window=40, sliding=(True, False, True)),
    "laguna": replace(LAGUNA, own_embedding=True, own_head=True),
}
everywhere = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


@everywhere
@pytest.mark.parametrize("place", [1, 39, 200, 450, 577])
def test_after_recalling_it_drafts_as_it_did_there_and_one_token_before(
    variant: Variant, place: int, tmp_path: Path
) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", LENGTH, context=CONTEXT) as fed:
        fed.feed(0, place)
        snapshot = fed.dflash.snapshot(place)
        expected = [fed.logits(LAST, length, variant.longest) for length in (place, place - 1)]
        assert snapshot is not None
        fed.dflash.truncate(0)
        fed.features = drafters.features(variant, LENGTH, seed=4)
        fed.feed(0, LENGTH)
        assert fed.dflash.restore(snapshot)
        fed.dflash.truncate(place)
        assert fed.dflash.covered(place)
        assert (fed.logits(LAST, place, variant.longest) == expected[0]).all()
        fed.dflash.truncate(place - 1)
        assert fed.dflash.covered(place - 1)
        assert (fed.logits(LAST, place - 1, variant.longest) == expected[1]).all()


@everywhere
def test_no_more_is_remembered_than_it_looks_back_at(variant: Variant, tmp_path: Path) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", LENGTH, context=CONTEXT) as fed:
        fed.feed(0, 700)
        snapshot = fed.dflash.snapshot(700)
        assert snapshot is not None
        reaches = {True: variant.window - 1, False: CONTEXT}
        rows = [reaches[sliding] + 1 for sliding in variant.slides for _ in "kv"]
        assert [len(piece) for piece in snapshot.pieces] == rows
        assert snapshot.nbytes == sum(rows) * variant.kv_heads * variant.head * np.dtype(np.float32).itemsize


def test_nothing_is_remembered_of_a_place_where_it_does_not_know_all_that_matters(tmp_path: Path) -> None:
    with drafter(Variant(), tmp_path / "drafter.gguf", LENGTH, context=CONTEXT) as fed:
        fed.feed(300, 450)
        assert fed.dflash.snapshot(450) is None
        fed.feed(450, 500)
        assert fed.dflash.snapshot(500) is not None


def test_what_another_adapter_made_of_the_context_is_not_recalled(tmp_path: Path) -> None:
    variant = Variant(window=40)
    paths = [
        ("context", drafters.adapter(variant, "blk.1.attn_k.weight").write(tmp_path / "context.gguf")),
        ("block", drafters.adapter(variant, "blk.1.ffn_down.weight").write(tmp_path / "block.gguf")),
    ]
    with drafter(variant, tmp_path / "drafter.gguf", LENGTH, adapters=paths) as fed:
        fed.feed(0, 100)
        snapshot = fed.dflash.snapshot(100)
        assert snapshot is not None
        fed.dflash.use_adapter("block")
        assert fed.dflash.restore(snapshot)
        fed.dflash.use_adapter("context")
        assert not fed.dflash.restore(snapshot)
        assert not fed.dflash.covered(100)


def test_rows_beyond_a_tensor_are_refused(tmp_path: Path) -> None:
    with drafter(Variant(), tmp_path / "drafter.gguf", LENGTH, context=CONTEXT) as fed:
        keys = fed.dflash._memory.keys(0)
        rows = np.empty((3, keys.shape[0]), keys.type.numpy)
        keys.read_rows(keys.shape[1] - 3, rows)
        for start in (-1, keys.shape[1] - 2):
            with pytest.raises(GraphError):
                keys.read_rows(start, rows)
        with pytest.raises(GraphError):
            keys.read_rows(0, np.empty((3, keys.shape[0] - 1), keys.type.numpy))
