"""Drafter files in each naming scheme, and one sentence for every defect of a file or a pair."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_engine.draft import dflash_weights
from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import drafter_header, header
from laguna_engine.gguf.drafter_header import TargetFacts
from tests.engine import drafters, tiny
from tests.engine.drafters import LAGUNA, Variant

TARGET = TargetFacts(64, 4, 512, "laguna")
Change = Callable[[tiny.GgufFile], object]
COMPLETE = replace(LAGUNA, own_embedding=True, own_head=True, reduced=300, rank=16, confidence="both")


def test_a_file_is_described_by_what_it_says(tmp_path: Path) -> None:
    found = drafter_header.read(drafters.make(COMPLETE).write(tmp_path / "drafter.gguf"))
    assert (found.n_embd, found.n_layer, found.heads, found.kv_heads) == (64, 3, (4,) * 3, (2,) * 3)
    assert (found.taps, found.block, found.mask_id, found.n_vocab) == ((0, 1, 3), 16, tiny.MASK, 512)
    assert (found.window, found.sliding, found.causal) == (48, (True,) * 3, (True,) * 3)
    assert (found.from_anchor, found.context_norm, found.longest) == (True, True, 16)
    assert (found.rope_base, found.rope_dims, found.own_head) == (500000.0, 32, "output.weight")
    drafter_header.check_pair(found, TARGET)


def test_the_targets_header_is_enough_to_check_a_pair(tiny_model_path: Path, tmp_path: Path) -> None:
    found = drafter_header.read(drafters.make(LAGUNA).write(tmp_path / "drafter.gguf"))
    target = header.check(tiny_model_path)
    assert TargetFacts.of(target) == TARGET
    drafter_header.check_pair(found, target)
    assert found.own_head is None


def test_plain_dflash_is_open_inside_the_block_and_its_anchor_proposes_nothing(tmp_path: Path) -> None:
    found = drafter_header.read(drafters.make(Variant()).write(tmp_path / "drafter.gguf"))
    assert (found.causal, found.sliding, found.window) == ((False, False), (False, False), 0)
    assert (found.from_anchor, found.context_norm, found.longest) == (False, False, 7)


def test_poolsides_files_are_known_by_their_decoder(tmp_path: Path) -> None:
    file = drafters.make(replace(LAGUNA, window=0, causal=False, context_norm=False))
    file.set("dflash.decoder_arch", "laguna").set("dflash.rope.scaling.type", "none")
    found = drafter_header.read(file.write(tmp_path / "drafter.gguf"))
    assert (found.window, found.sliding, found.causal) == (512, (True,) * 3, (True,) * 3)
    assert found.context_norm


def test_causal_can_be_said_layer_by_layer(tmp_path: Path) -> None:
    file = drafters.make(Variant(n_layer=3)).set("dflash.attention.causal", [True, False])
    assert drafter_header.read(file.write(tmp_path / "drafter.gguf")).causal == (True, False, False)


LUCEBOX = {
    "plain": Variant(window=40, sliding=(True, False)),
    "laguna": replace(LAGUNA, own_embedding=True, own_head=True),
    "markov": Variant(rank=16, confidence="both", from_anchor=False),
}


@pytest.mark.parametrize("variant", LUCEBOX.values(), ids=LUCEBOX.keys())
def test_luceboxs_spelling_says_the_same(variant: Variant, tmp_path: Path) -> None:
    ours = drafter_header.read(drafters.make(variant).write(tmp_path / "ours.gguf"))
    theirs = drafter_header.read(drafters.lucebox(variant).write(tmp_path / "theirs.gguf"))
    # In Lucebox's engine sliding layers are causal inside the block.
    causal = tuple(slides or variant.causal for slides in variant.slides)
    assert replace(theirs, file=ours.file, causal=causal) == replace(ours, causal=causal)
    assert theirs.causal == causal
    assert theirs.tensors.keys() == ours.tensors.keys()
    for name, info in ours.tensors.items():
        assert _bytes(theirs, name) == _bytes(ours, name), name
        assert theirs.tensors[name].shape == info.shape


def _bytes(found: drafter_header.DrafterHeader, name: str) -> bytes:
    info = found.tensors[name]
    return found.path.read_bytes()[info.offset : info.offset + info.size]


def test_a_fused_matrix_is_three(tmp_path: Path) -> None:
    plain, fused = drafters.make(Variant()), drafters.make(Variant())
    parts = [fused.tensors.pop(f"blk.1.attn_{name}.weight") for name in "qkv"]
    fused.tensors["blk.1.attn_qkv.weight"] = np.concatenate(parts)
    apart = drafter_header.read(plain.write(tmp_path / "plain.gguf"))
    together = drafter_header.read(fused.write(tmp_path / "fused.gguf"))
    for name in "qkv":
        assert _bytes(together, f"blk.1.attn_{name}.weight") == _bytes(apart, f"blk.1.attn_{name}.weight")


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("offsets", [False, True], ids=["targets", "offsets"])
def test_a_reduced_vocabulary_may_be_targets_or_offsets(kind: type, offsets: bool, tmp_path: Path) -> None:
    file = drafters.make(Variant(reduced=300))
    targets = file.tensors["d2t"]
    file.tensors["d2t"] = (targets - np.arange(300) * offsets).astype(kind)
    found = dflash_weights.read_token_map(drafter_header.read(file.write(tmp_path / "drafter.gguf")), 512)
    assert found is not None
    assert found.tolist() == targets.tolist()


@pytest.mark.parametrize("wrong", [-1, 512, 10**12])
def test_a_reduced_vocabulary_outside_the_model(wrong: int, tmp_path: Path) -> None:
    file = drafters.make(Variant(reduced=300))
    file.tensors["d2t"][17] = wrong
    found = drafter_header.read(file.write(tmp_path / "drafter.gguf"))
    with pytest.raises(ModelFileError) as error:
        dflash_weights.read_token_map(found, 512)
    assert str(error.value) == (
        f"{tmp_path}/drafter.gguf: its table d2t names tokens twice or outside the model's 512; choose the "
        "drafter that was made for this model, or download it again"
    )


PAIRS: list[tuple[Variant, TargetFacts, str]] = [
    (LAGUNA, replace(TARGET, n_embd=2048), "the drafter reads hidden states of 64, the model has 2048"),
    (LAGUNA, replace(TARGET, n_layer=3), "the drafter reads the output of layer 3, the model has layers 0 to 2"),
    (Variant(), replace(TARGET, n_vocab=513), "the drafter has a vocabulary of 512 tokens, the model one of 513"),
    (LAGUNA, replace(TARGET, n_vocab=12), "the drafter's mask token 12 is outside the model's 12 tokens"),
]


@pytest.mark.parametrize(("variant", "target", "complaint"), PAIRS)
def test_a_wrong_pair(variant: Variant, target: TargetFacts, complaint: str, tmp_path: Path) -> None:
    path = drafters.make(variant).write(tmp_path / "drafter.gguf")
    with pytest.raises(ModelFileError) as caught:
        drafter_header.check_pair(drafter_header.read(path), target)
    assert str(caught.value) == f"{path}: {complaint}; choose the drafter that was made for this model"


def _cut(name: str) -> Change:
    return lambda file: file.tensors.update({name: file.tensors[name][:-1]})


BAD: list[tuple[Change, str]] = [
    (lambda f: f.set("general.architecture", "qwen3"), "is a model of the kind 'qwen3', not a DFlash drafter"),
    (lambda f: f.set("general.architecture", "eagle3"), "is a model of the kind 'eagle3', not a DFlash drafter"),
    (lambda f: f.set("dflash.block_size", 0), "its block size is 0, expected a whole number from 1 to 64"),
    (lambda f: f.set("dflash.block_size", 65), "its block size is 65"),
    (lambda f: f.remove("dflash.block_size"), "its block size is None"),
    (lambda f: f.remove("tokenizer.ggml.mask_token_id"), "its mask token is None"),
    (lambda f: f.set("tokenizer.ggml.mask_token_id", 512), "its mask token is 512, expected a whole number"),
    (lambda f: f.set("tokenizer.ggml.mask_token_id", "12"), "its mask token is '12'"),
    (lambda f: f.remove("dflash.target_layers"), "does not say which of the target's layers it reads"),
    (lambda f: f.set("dflash.target_layers", []), "does not say which of the target's layers it reads"),
    (lambda f: f.set("dflash.target_layers", [1, 2]), "fc.weight has the shape (192, 64), expected (128, 64)"),
    (lambda f: f.set("dflash.target_layers", [0, 1, 2]), "it reads the target's embeddings"),
    (lambda f: f.set("dflash.target_layers", [1, 2, 2]), "it reads one of the target's layers twice"),
    (lambda f: f.remove("dflash.rope.freq_base"), "it has no rope.freq_base"),
    (lambda f: f.set("dflash.rope.dimension_count", 31), "it rotates 31 numbers of each head"),
    (lambda f: f.set("dflash.rope.scaling.type", "yarn"), "scales its positions (yarn)"),
    (lambda f: f.set("dflash.attention.head_count_kv", 3), "layer 0 has 4 heads for 3 key-value heads"),
    (lambda f: f.set("dflash.attention.causal", 7), "its attention.causal is 7, neither true nor false"),
    (lambda f: f.set("dflash.embedding_scale", 8.0), "has embedding_scale 8.0, which this engine's drafter does not"),
    (lambda f: f.set("dflash.hidden_act", "gelu"), "has hidden_act 'gelu'"),
    (lambda f: f.remove("fc.weight"), "the tensor fc.weight is missing"),
    (lambda f: f.remove("blk.2.ffn_up.weight"), "the tensor blk.2.ffn_up.weight is missing"),
    (lambda f: f.remove("markov_w1.weight"), "the tensor markov_w1.weight is missing"),
    (lambda f: f.remove("output.weight"), "the tensor output.weight is missing"),
    (_cut("enc.aux_norm.weight"), "the tensor enc.aux_norm.2.weight is missing"),
    (_cut("blk.0.attn_gate.weight"), "blk.0.attn_gate.weight has the shape (64, 3), expected (64, 4)"),
    (_cut("output.weight"), "output.weight has the shape (64, 299), expected (64, 300)"),
    (_cut("markov_w2.weight"), "markov_w2.weight has the shape (16, 299), expected (16, 300)"),
    (_cut("token_embd.weight"), "its vocabulary has 511 or 512 tokens"),
    (lambda f: f.set("dflash.vocab_size", 500), "its vocabulary has 500 or 512 tokens"),
    (lambda f: f.tensors.update(d2t=np.arange(300, dtype=np.float32)), "d2t is stored as f32"),
    (
        lambda f: f.tensors.update({"output_norm.weight": np.ones(64, np.float16)}),
        "output_norm.weight is stored as f16",
    ),
    (lambda f: f.tensors.update({"blk.0.attn_sinks.weight": np.ones(4, np.float32)}), "has blk.0.attn_sinks.weight, w"),
    (lambda f: f.tensors.update({"selector_hidden.weight": np.ones((4, 64), np.float32)}), "is a DFlash2 drafter"),
    (lambda f: f.tensors.update({"dflash.fc.weight": f.tensors["fc.weight"]}), "it has a tensor under two names"),
]


@pytest.mark.parametrize(("change", "complaint"), BAD, ids=[complaint[:40] for _, complaint in BAD])
def test_a_bad_file(change: Change, complaint: str, tmp_path: Path) -> None:
    file = drafters.make(COMPLETE)
    change(file)
    path = file.write(tmp_path / "drafter.gguf")
    with pytest.raises(ModelFileError) as caught:
        drafter_header.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)
    assert any(what in str(caught.value) for what in ("choose", "download it again"))


def test_truncated_data(tmp_path: Path) -> None:
    path = drafters.make(COMPLETE).write(tmp_path / "drafter.gguf")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelFileError) as error:
        drafter_header.read(path)
    assert str(error.value) == (
        f"{path}: it has 0.000838 of at least 0.000838 GB; the file is damaged: download it again"
    )


def test_a_target_is_no_drafter(tiny_model_path: Path) -> None:
    with pytest.raises(ModelFileError) as error:
        drafter_header.read(tiny_model_path)
    assert str(error.value) == (
        f"{tiny_model_path}: is a model of the kind 'laguna', not a DFlash drafter; choose a drafter's file"
    )


@pytest.mark.parametrize("make", [drafters.make, drafters.lucebox])
def test_a_drafter_is_no_target(make: Callable[[Variant], tiny.GgufFile], tmp_path: Path) -> None:
    path = make(COMPLETE).write(tmp_path / "drafter.gguf")
    with pytest.raises(ModelFileError) as error:
        header.check(path)
    assert str(error.value) == (
        f"{path}: is a drafter, which only speeds up another model; choose its target model instead"
    )


GOOD = drafters.make(replace(COMPLETE, n_embd=32, heads=2, kv_heads=1, head=16, n_ff=32, n_vocab=64, reduced=32))
HEADER_BYTES = GOOD.to_bytes().index(b"blk.2.ffn_down.weight") + 60


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, HEADER_BYTES), st.integers(0, 255)), min_size=1, max_size=4))
def test_random_damage_is_described_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(GOOD.to_bytes())
    for place, value in changes:
        data[place] = value
    path = tmp_path_factory.getbasetemp() / "damaged-drafter.gguf"
    path.write_bytes(data)
    try:
        found = drafter_header.read(path)
    except ModelFileError as error:
        assert str(error).startswith(f"{path}: ")
    else:
        assert 0 < found.longest <= drafter_header.MAX_BLOCK
        assert all(info.offset + info.size <= len(data) for info in found.file.tensors)
