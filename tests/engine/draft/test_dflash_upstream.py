"""The same file, the same features: this drafter and llama.cpp's own propose the same tokens."""

from pathlib import Path

import numpy as np
import pytest

from laguna_engine.ggml.tensor import Type
from tests.engine import drafters
from tests.engine.drafters import Variant
from tests.engine.drafting import drafter, nmse, quantized, unpacked
from tests.engine.upstream_dflash import upstream

LAST = 77
POSITIONS = 700
"""More than a ring of the window below holds (192), so that it wraps; llama.cpp keeps everything."""

SAME = {Type.F32: 1e-6, Type.F16: 3e-6}
"""Largest normalised squared differences by the format of keys and values. llama.cpp attends in half precision whatever
it stores, and has the keys in another order."""

VARIANTS = {
    "plain": Variant(half=True),
    "tied head": Variant(half=True, own_head=False),
    "block of sixteen": Variant(half=True, block=16),
    "reduced vocabulary": Variant(half=True, reduced=300),
    "sliding": Variant(half=True, window=40),
    "sliding and full": Variant(half=True, n_layer=3, window=40, sliding=(True, False, True)),
    "causal": Variant(half=True, causal=True),
    "markov": Variant(half=True, rank=16),
    "markov, reduced vocabulary": Variant(half=True, rank=16, reduced=300, confidence="both"),
    "markov behind the anchor": Variant(half=True, rank=16, from_anchor=False),
}


@pytest.mark.parametrize("kv", [Type.F32, Type.F16])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_every_kind_that_llama_cpp_knows(variant: Variant, kv: Type, tmp_path: Path) -> None:
    path, file = tmp_path / "drafter.gguf", drafters.make(variant, tokenizer=True)
    with (
        drafter(variant, path, POSITIONS, file=file, context=POSITIONS, kv=kv) as fed,
        upstream(path, variant.n_vocab, causal=variant.causal, half=kv is Type.F16) as theirs,
    ):
        for start, stop in ((0, 150), (150, 153), (153, 500), (500, 501), (501, POSITIONS)):
            fed.feed(start, stop)
            theirs.inject(fed.features[start:stop], start)
            right = theirs.logits(LAST, stop, variant.block)[variant.first_row :]
            if variant.reduced:
                right = right[:, file.tensors["d2t"]]
            ours = fed.logits(LAST, stop, variant.longest)
            assert nmse(ours, right.astype(np.float64)) < SAME[kv]
            targets = file.tensors.get("d2t", np.arange(variant.n_vocab)).tolist()
            for token, row in zip(fed.tokens(LAST, stop, variant.longest), right, strict=True):
                # Kernels for other processors round differently: of two tokens that tie within that, either is right.
                assert row[targets.index(token)] >= row.max() - 2 * np.abs(ours - right).max()


def test_a_shared_head_and_shared_embeddings(tiny_model_path: Path, tmp_path: Path) -> None:
    variant = Variant(half=True, own_embedding=False, own_head=False, window=40)
    path, file = tmp_path / "drafter.gguf", drafters.make(variant, tokenizer=True)
    with (
        drafter(variant, path, 300, file=file, target=tiny_model_path) as fed,
        upstream(path, variant.n_vocab, target=tiny_model_path) as theirs,
    ):
        fed.feed(0, 300)
        theirs.inject(fed.features, 0)
        right = theirs.logits(LAST, 300, variant.block)[1:]
        assert nmse(fed.logits(LAST, 300, 7), right.astype(np.float64)) < SAME[Type.F32]
        assert fed.tokens(LAST, 300, 7) == right.argmax(1).tolist()


@pytest.mark.parametrize("kind", [Type.Q8_0, Type.Q4_K])
def test_quantized_weights_come_as_close_to_the_truth(kind: Type, tmp_path: Path) -> None:
    """Rounding to 8 bits inside every product turns the smallest difference into noise: it is no larger here."""
    variant = Variant(n_embd=256, n_ff=512, heads=8, kv_heads=4, taps=(0, 1), window=64)
    path, file = tmp_path / "drafter.gguf", quantized(drafters.make(variant, tokenizer=True), kind)
    with (
        drafter(variant, path, 200, file=file, kv=Type.F16) as fed,
        upstream(path, variant.n_vocab, half=True) as theirs,
    ):
        fed.feed(0, 200)
        theirs.inject(fed.features, 0)
        truth = drafters.reference(variant, unpacked(path), fed.features.astype(float), LAST, variant.block)
        noise = nmse(theirs.logits(LAST, 200, variant.block)[1:], truth.logits)
        assert nmse(fed.logits(LAST, 200, 7), truth.logits) < 1.5 * noise
