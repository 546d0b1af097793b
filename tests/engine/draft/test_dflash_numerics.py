"""Every kind of drafter computes what a plain float64 forward pass computes, while its rings wrap several times."""

from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.ggml.tensor import Type
from laguna_engine.ggml.weights import HostEmbedding
from laguna_engine.gguf import header
from laguna_engine.selfcheck.reference import ExpectedDraft
from tests.engine import drafters, tiny
from tests.engine.drafters import LAGUNA, Variant
from tests.engine.drafting import Fed, drafter, nmse, quantized, unpacked

CONTEXT = 200
"""With it a ring of full attention holds 448 positions, one of a small window 192."""

STEPS = (150, 1, 3, 8, 96, 5, 300, 2, 7, 400, 64)
"""Positions taken in at once, as prompts and rounds do; 1036 in all."""

EXACT, HALF = 1e-9, 2e-6
"""Largest normalised squared errors: everything in float32; keys and values in half precision."""

EIGHT_BIT = 2e-3
"""The same where what quantized weights are multiplied with is rounded to 8 bits, as ggml does."""

LAST = 77

VARIANTS = {
    "plain": Variant(),
    "tied head": Variant(own_head=False),
    "block of sixteen": Variant(block=16),
    "block of five": Variant(block=5),
    "reduced vocabulary": Variant(reduced=300),
    "sliding": Variant(window=40),
    "window smaller than the block": Variant(window=5),
    "sliding and full": Variant(n_layer=3, window=40, sliding=(True, False, True)),
    "causal": Variant(causal=True),
    "gate": Variant(gate=True),
    "tap norm": Variant(tap_norm=True),
    "context through the input norm": Variant(context_norm=True),
    "markov": Variant(rank=16),
    "markov behind the anchor": Variant(rank=16, from_anchor=False),
    "markov, confidence": Variant(rank=16, confidence="both"),
    "markov, confidence of the hidden state": Variant(rank=16, confidence="hidden", from_anchor=False),
    "markov, reduced vocabulary": Variant(rank=16, reduced=300, confidence="both"),
    "laguna": replace(LAGUNA, own_embedding=True, own_head=True),
    "everything": Variant(n_layer=3, window=40, sliding=(True, True, False), gate=True, tap_norm=True, reduced=300,
                          context_norm=True, rank=16, confidence="both", block=16),
}  # fmt: skip


def expected(variant: Variant, fed: Fed, length: int, count: int, context: int = CONTEXT) -> ExpectedDraft:
    rows = min(1 << (count + variant.first_row - 1).bit_length(), variant.block)
    weights = drafters.weights_of(drafters.make(variant))
    return drafters.reference(variant, weights, fed.features[:length].astype(float), LAST, rows, context)


COMPARED = (1, 3, 8, 5, 400, 64)
"""Steps after which drafts are compared; the plain forward pass is slow."""


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_every_kind_agrees_with_the_plain_forward_pass(variant: Variant, tmp_path: Path) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", sum(STEPS), context=CONTEXT) as fed:
        length = 0
        for step in STEPS:
            fed.feed(length, length + step)
            length += step
            if step not in COMPARED:
                continue
            right = expected(variant, fed, length, variant.longest)
            assert nmse(fed.logits(LAST, length, variant.longest), right.logits) < EXACT
            draft = fed.dflash.draft(variant.longest)
            assert draft.tokens == right.tokens
            assert (draft.confidence or []) == pytest.approx(right.confidence, abs=1e-4)


@pytest.mark.parametrize("name", ["plain", "reduced vocabulary", "sliding and full", "laguna"])
def test_keys_and_values_in_half_precision_change_no_draft(name: str, tmp_path: Path) -> None:
    variant = VARIANTS[name]
    with drafter(variant, tmp_path / "drafter.gguf", 700, context=CONTEXT, kv=Type.F16) as fed:
        fed.feed(0, 700)
        right = expected(variant, fed, 700, variant.longest)
        assert nmse(fed.logits(LAST, 700, variant.longest), right.logits) < HALF
        assert fed.tokens(LAST, 700, variant.longest) == right.tokens


@pytest.mark.parametrize("count", range(1, 16))
@pytest.mark.parametrize("name", ["block of sixteen", "laguna", "everything"])
def test_short_drafts_come_from_a_short_block(name: str, count: int, tmp_path: Path) -> None:
    variant = VARIANTS[name]
    with drafter(variant, tmp_path / "drafter.gguf", 60, context=CONTEXT) as fed:
        fed.feed(0, 60)
        right = expected(variant, fed, 60, count)
        assert fed.tokens(LAST, 60, count) == right.tokens[:count]


def test_nothing_is_needed_before_the_first_token(tmp_path: Path) -> None:
    with drafter(Variant(), tmp_path / "drafter.gguf", 4) as fed:
        assert fed.dflash.covered(0)
        assert fed.tokens(LAST, 0, 7) == expected(Variant(), fed, 0, 7).tokens


def test_the_targets_embeddings_and_head_are_used_where_there_are_no_own(tiny_model_path: Path, tmp_path: Path) -> None:
    with drafter(LAGUNA, tmp_path / "drafter.gguf", 100, target=tiny_model_path) as fed:
        fed.feed(0, 100)
        weights = drafters.weights_of(drafters.make(LAGUNA), tiny.laguna())
        right = drafters.reference(LAGUNA, weights, fed.features.astype(float), LAST, 16)
        # The shared head is in half precision, and so is what it is multiplied with.
        assert nmse(fed.logits(LAST, 100, 15), right.logits) < HALF
        assert fed.tokens(LAST, 100, 15) == right.tokens


def test_a_shared_head_may_be_quantized_and_repacked(tmp_path: Path) -> None:
    target = quantized(tiny.laguna(), Type.Q4_0).write(tmp_path / "target.gguf")
    with drafter(LAGUNA, tmp_path / "drafter.gguf", 100, target=target) as fed:
        fed.feed(0, 100)
        file = header.check(target)
        weights = drafters.weights_of(drafters.make(LAGUNA)) | {
            name: HostEmbedding(file, name).rows(range(512)).astype(float)
            for name in ("output.weight", "token_embd.weight")
        }
        right = drafters.reference(LAGUNA, weights, fed.features.astype(float), LAST, 16)
        assert nmse(fed.logits(LAST, 100, 15), right.logits) < EIGHT_BIT


@pytest.mark.parametrize("kind", [Type.Q8_0, Type.Q4_K])
@pytest.mark.parametrize("repack", [True, False], ids=["repacked", "as it is"])
@pytest.mark.parametrize("rank", [0, 256], ids=["plain", "markov"])
def test_quantized_weights_compute_what_they_stand_for(kind: Type, repack: bool, rank: int, tmp_path: Path) -> None:
    variant = Variant(n_embd=256, n_ff=512, heads=8, kv_heads=4, taps=(0, 1), gate=True, rank=rank)
    file, path = quantized(drafters.make(variant), kind), tmp_path / "drafter.gguf"
    # With a chain a near-tie may go another way, and all that follows: only its first row can be compared.
    rows = 1 if rank else variant.longest
    with drafter(variant, path, 120, file=file, repack=repack) as fed:
        fed.feed(0, 120)
        right = drafters.reference(variant, unpacked(path), fed.features.astype(float), LAST, variant.block)
        assert nmse(fed.logits(LAST, 120, variant.longest)[:rows], right.logits[:rows]) < EIGHT_BIT
