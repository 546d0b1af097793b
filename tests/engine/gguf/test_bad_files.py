"""Every kind of bad model file gets one sentence that names the file, what is wrong and what to do.

Files on which llama.cpp aborts, crashes or stays silent are covered here; `test_fuzz` searches for more.
"""

import os
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.errors import ModelFileError
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.gguf import header
from laguna_engine.gguf.target_check import LAYOUTS
from laguna_engine.llama.model import Model
from tests.engine import families, generic, tiny

Change = Callable[[tiny.GgufFile], object]

NOBODY = 65534
DAMAGED = "the file is damaged: download it again"


def refusal(path: Path) -> str:
    """The error message for `path`, which must begin with the path."""
    with pytest.raises(ModelFileError) as caught:
        header.check(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path}: ")
    return sentence


@pytest.fixture
def good(tiny_model_path: Path) -> bytes:
    return tiny_model_path.read_bytes()


def test_a_whole_file_passes_and_is_described(tiny_model_path: Path) -> None:
    checked = header.check(tiny_model_path)
    assert (checked.architecture, checked.version, checked.alignment) == ("laguna", 3, 32)
    assert checked.size == tiny_model_path.stat().st_size
    assert checked.metadata["laguna.attention.head_count"] == (2, 4, 4, 4)
    assert len(checked.tensors) == len(tiny.laguna().tensors)
    last = checked.tensors[-1]
    assert (last.shape, last.format, last.offset + last.size) == ((32, 64), "f16", checked.size)


def test_version_2_passes(tmp_path: Path) -> None:
    file = tiny.laguna()
    file.version = 2
    assert header.check(file.write(tmp_path / "v2.gguf")).version == 2


def test_a_missing_file(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "missing.gguf")


def test_a_path_with_a_nul() -> None:
    assert "check the path" in refusal(Path("model\0.gguf"))


def test_a_directory(tmp_path: Path) -> None:
    assert "not a regular file" in refusal(tmp_path)


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.gguf")
    assert "not a regular file" in refusal(tmp_path / "fifo.gguf")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_a_device(device: str) -> None:
    assert re.search("not a regular file|cannot be read", refusal(Path(device)))


@pytest.fixture
def secret(tmp_path: Path, good: bytes) -> Iterator[Path]:
    """A model file without read permission; root may read everything, so the effective user changes meanwhile."""
    path = tmp_path / "secret.gguf"
    path.write_bytes(good)
    path.chmod(0)
    user = os.geteuid()
    os.seteuid(user or NOBODY)
    yield path
    os.seteuid(user)


def test_an_unreadable_file(secret: Path) -> None:
    assert "cannot be read (Permission denied); check the path and its permissions" in refusal(secret)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "it is empty"),
        (b"GG", "not a GGUF file"),
        (b"<!DOCTYPE html><html>404</html>", "not a GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "not a GGUF file"),
        (b"GGUF", "ends in the middle"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "is GGUF version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian machine"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63), "9223372036854775808 metadata entries"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**40, 0), "tensors, more than"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "does not name its architecture"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62), "name of entry 0 is a text of"),
    ],
)
def test_bytes_that_are_not_a_whole_header(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    assert complaint in refusal(path)


def test_garbage_after_a_good_start(tmp_path: Path) -> None:
    path = tmp_path / "garbage.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 5, 5) + np.random.default_rng(0).bytes(100_000))
    assert DAMAGED in refusal(path)


@pytest.mark.parametrize("kept", [30, 1000, 5000, 20_000])
def test_a_header_that_ends_early(tmp_path: Path, good: bytes, kept: int) -> None:
    path = tmp_path / "short.gguf"
    path.write_bytes(good[:kept])
    assert re.search(r"ends in the middle of|more than the file has room for|of at least", refusal(path))


def test_a_download_that_stopped(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "partial.gguf"
    path.write_bytes(good[:-1])
    assert "GB; " + DAMAGED in refusal(path)


WRONG: dict[str, tuple[Change, str]] = {
    "a drafter": (lambda f: f.set("general.architecture", "dflash"), "is a drafter"),
    "an embedder": (lambda f: f.set("general.architecture", "bert"), "'bert', which writes no text"),
    "a vocabulary": (lambda f: f.remove(*f.tensors), "has a vocabulary and no weights; choose the model's own file"),
    "an adapter": (lambda f: f.set("general.type", "adapter"), "holds 'adapter' instead of a model"),
    "one part of several": (lambda f: f.set("split.count", 3).set("split.no", 1), "one of 3 parts; choose the first"),
    "a part under a name of its own": (
        lambda f: f.set("split.count", 3).set("split.no", 0),
        "first of 3 parts, and the others are found by its name; choose",
    ),
    "too many parts": (lambda f: f.set("split.count", 60_000), "one of 60000 parts"),
    "no architecture": (lambda f: f.remove("general.architecture"), "does not name its architecture"),
    "architecture of another type": (lambda f: f.set("general.architecture", 5), "does not name its architecture"),
    "more experts used than there are": (lambda f: f.set("laguna.expert_used_count", 9), "uses 9 of 4 experts"),
    "no experts used": (lambda f: f.set("laguna.expert_used_count", 0), "uses 0 of 4 experts"),
    "far too many experts": (lambda f: f.set("laguna.expert_count", 2000), "uses 2 of 2000 experts"),
    "no experts": (lambda f: f.set("laguna.expert_count", 0).set("laguna.expert_used_count", 0), "no experts"),
    "a group count beyond the experts": (lambda f: f.set("laguna.expert_group_count", 4), "of 4 groups"),
    "too few head counts": (lambda f: f.set("laguna.attention.head_count", [2, 4]), "2 entries for 4 layers"),
    "heads that do not divide": (lambda f: f.set("laguna.attention.head_count", [2, 3, 4, 4]), "3 heads for 2"),
    "no heads": (lambda f: f.set("laguna.attention.head_count", [2, 0, 4, 4]), "head_count is 0"),
    "no layers": (lambda f: f.set("laguna.block_count", 0), "block_count is 0"),
    "too many layers": (lambda f: f.set("laguna.block_count", 513), "block_count is 513"),
    "more layers than tensors": (
        lambda f: f.set("laguna.block_count", 5).set("laguna.attention.head_count", [2, 4, 4, 4, 2]),
        "blk.4.attn_norm.weight is missing",
    ),
    "no hidden size": (lambda f: f.remove("laguna.embedding_length"), "embedding_length is None"),
    "a size that is text": (lambda f: f.set("laguna.block_count", "four"), "block_count is 'four'"),
    "a rope scaling nobody knows": (lambda f: f.set("laguna.rope.scaling.type", "magic"), "rope scaling is 'magic'"),
    "rope wider than a head": (lambda f: f.set("laguna.rope.dimension_count", 64), "is 64 for heads of 32"),
    "an odd rope": (lambda f: f.set("laguna.rope.dimension_count_swa", 15), "is 15 for heads of 32"),
    "a length before stretching below nothing": (
        lambda f: f.set("laguna.rope.scaling.original_context_length", -32, tiny.I32),
        "original_context_length is -32",
    ),
    "an infinite rope base": (lambda f: f.set("laguna.rope.freq_base", float("inf")), "freq_base is inf"),
    "keys and values of two sizes": (lambda f: f.set("laguna.attention.value_length", 16), "values of 16"),
    "a negative window": (lambda f: f.set("laguna.attention.sliding_window", -1, tiny.I32), "sliding_window is -1"),
    "a window that no layer uses": (
        lambda f: f.set("laguna.attention.sliding_window_pattern", 1),
        "a sliding window but no layer that uses it",
    ),
    "a pattern without sliding layers": (
        lambda f: f.set("laguna.attention.sliding_window_pattern", [False] * 4),
        "a sliding window but no layer that uses it",
    ),
    "experts that differ by layer": (lambda f: f.set("laguna.expert_used_count", [2, 4, 4, 4]), "different numbers"),
    "an unknown router": (lambda f: f.set("laguna.expert_gating_func", 5), "expert_gating_func is 5"),
    "nothing to rotate": (lambda f: f.set("laguna.rope.dimension_count", 0), "dimension_count is 0"),
    "a bidirectional model": (
        lambda f: f.set("laguna.attention.causal", False),
        "to embed text, not to generate it; choose a model",
    ),
    "a pooling model": (lambda f: f.set("laguna.pooling_type", 1), "to embed text, not to generate it; choose a model"),
    "an architecture with a hidden end": (lambda f: f.set("general.architecture", "laguna\0x"), "NUL character"),
    "a token with a hidden end": (
        lambda f: f.set("tokenizer.ggml.tokens", ["a\0b", *map(str, range(511))]),
        "NUL character",
    ),
    "only prediction layers": (lambda f: f.set("laguna.nextn_predict_layers", 4), "besides its prediction"),
    "an alignment of three": (lambda f: f.set("general.alignment", 3), "alignment 3 is not a power"),
    "another tokenizer": (lambda f: f.set("tokenizer.ggml.model", "t5"), "tokenizer 't5'"),
    "no tokenizer": (lambda f: f.remove("tokenizer.ggml.model"), "tokenizer None"),
    "no tokens": (lambda f: f.remove("tokenizer.ggml.tokens"), "no list of texts tokenizer.ggml.tokens"),
    "no merges": (lambda f: f.remove("tokenizer.ggml.merges"), "no list of texts tokenizer.ggml.merges"),
    "a merge of one": (lambda f: f.set("tokenizer.ggml.merges", ["ab"]), "the merge 'ab' is not a pair"),
    "tokens that repeat": (
        lambda f: f.set("tokenizer.ggml.tokens", ["a", "b", "a", *map(str, range(509))]),
        "1 of its tokens have the text of another",
    ),
    "a token that llama.cpp would make up": (
        lambda f: f.set("tokenizer.ggml.tokens", ["", "[EMPTY_0]", *map(str, range(510))]),
        "1 of its tokens have the text of another",
    ),
    "a token that is not text": (
        lambda f: f.set("tokenizer.ggml.tokens", [b"\xff\xfe", *map(str, range(511))]),
        "tokenizer.ggml.tokens is not valid UTF-8",
    ),
    "too few token types": (lambda f: f.set("tokenizer.ggml.token_type", [1] * 511), "511 entries for 512 tokens"),
    "token types that are text": (lambda f: f.set("tokenizer.ggml.token_type", ["1"] * 512), "512 entries for 512"),
    "too few scores": (lambda f: f.set("tokenizer.ggml.scores", [1.0]), "1 entries for 512 tokens"),
    "an end token outside": (lambda f: f.set("tokenizer.ggml.eos_token_id", 512), "outside its 512 tokens"),
    "a smaller vocabulary than embedding": (
        lambda f: f.set("tokenizer.ggml.tokens", [str(i) for i in range(500)]).set(
            "tokenizer.ggml.token_type", [1] * 500
        ),
        "token_embd.weight has the shape (64, 512), its vocabulary and hidden size need (64, 500)",
    ),
    "another declared vocabulary": (lambda f: f.set("laguna.vocab_size", 600), "declares 600 tokens and lists 512"),
    "no embedding": (lambda f: f.remove("token_embd.weight"), "token_embd.weight has the shape None"),
    "a missing tensor": (lambda f: f.remove("blk.2.ffn_down_exps.weight"), "blk.2.ffn_down_exps.weight is missing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_named(tmp_path: Path, name: str) -> None:
    change, complaint = WRONG[name]
    file = tiny.laguna()
    change(file)
    sentence = refusal(file.write(tmp_path / "wrong.gguf"))
    assert complaint in sentence
    assert re.search("download|choose|join", sentence.split(complaint)[1] + complaint)


def misshapen(name: str, *shape: int) -> Change:
    return lambda file: file.tensors.update({name: np.zeros(shape, np.float32)})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            misshapen("blk.1.attn_gate.weight", 5, 64),
            "blk.1.attn_gate.weight has the shape (64, 5), expected 64 by 4 or 128",
        ),
        (misshapen("blk.0.attn_q.weight", 128, 64), "blk.0.attn_q.weight has the shape (64, 128), expected (64, 64)"),
        (misshapen("output.weight", 500, 64), "output.weight has the shape (64, 500)"),
        (misshapen("output_norm.weight", 2, 2, 2, 2, 2), "output_norm.weight has 5 dimensions"),
        (lambda file: file.tensors.update({"output_norm.weight": np.zeros(64, np.float16)}), "stored as f16"),
        (lambda file: file.tensors.update({"output.weight": np.zeros((512, 64), np.float64)}), "stored as f64"),
        (misshapen("output_norm.weight", 0), "impossible shape (0,)"),
        (misshapen("a" * 64, 1), "has a name of 64 characters"),
    ],
)
def test_a_misshapen_tensor_is_named(tmp_path: Path, change: Change, complaint: str) -> None:
    file = tiny.laguna()
    change(file)
    assert complaint in refusal(file.write(tmp_path / "misshapen.gguf"))


def test_a_gate_for_each_element_is_allowed(tmp_path: Path) -> None:
    file = tiny.laguna()
    for layer, heads in enumerate((2, 4, 4, 4)):
        file.tensors[f"blk.{layer}.attn_gate.weight"] = np.zeros((heads * 32, 64), np.float16)
    model = Model.open(file.write(tmp_path / "elements.gguf"))
    assert model.n_layer == 4
    model.close()


def patched(good: bytes, name: bytes, position: int, code: str, value: int) -> bytes:
    """`good` with one number in the table entry of tensor `name` replaced; `position` counts from the name's end."""
    at = good.index(struct.pack("<Q", len(name)) + name) + 8 + len(name) + position
    return good[:at] + struct.pack("<" + code, value) + good[at + struct.calcsize("<" + code) :]


@pytest.mark.parametrize(
    ("position", "code", "value", "complaint"),
    [
        (0, "I", 0, "has 0 dimensions"),
        (4, "q", -1, "impossible shape (-1,)"),
        (4, "q", 2**62, "of at least"),
        (12, "I", 99, "unknown tensor type 99"),
        (12, "I", 4, "unknown tensor type 4"),
        (12, "I", 12, "rows of 64, not whole q4_K blocks of 256"),
        (16, "Q", 64, "begins at 64 instead of"),
        (16, "Q", 2**64 - 1, "begins at"),
    ],
)
def test_a_table_entry_that_lies(
    tmp_path: Path, good: bytes, position: int, code: str, value: int, complaint: str
) -> None:
    path = tmp_path / "table.gguf"
    path.write_bytes(patched(good, b"output_norm.weight", position, code, value))
    assert complaint in refusal(path)


def test_a_product_of_dimensions_that_overflows(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "overflow.gguf"
    shifted = patched(good, b"token_embd.weight", 4, "q", 2**33)
    path.write_bytes(patched(shifted, b"token_embd.weight", 12, "q", 2**33))
    assert "impossible shape" in refusal(path)


def test_two_tensors_of_one_name(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "twice.gguf"
    path.write_bytes(good.replace(b"blk.1.attn_k.weight", b"blk.1.attn_v.weight", 1))
    assert "two of its tensors have the same name" in refusal(path)


def test_a_key_that_repeats(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "key.gguf"
    path.write_bytes(good.replace(b"laguna.expert_count", b"laguna.block_count\0", 1))
    refusal(path)
    path.write_bytes(good.replace(b"tokenizer.ggml.bos_token_id", b"tokenizer.ggml.eos_token_id", 1))
    assert "has the name 'tokenizer.ggml.eos_token_id' again" in refusal(path)


def test_not_a_number_in_the_weights(tmp_path: Path) -> None:
    file = tiny.laguna()
    file.tensors["blk.1.ffn_up_exps.weight"][0, 0, 0] = np.nan
    path = file.write(tmp_path / "nan.gguf")
    with pytest.raises(ModelFileError, match=r"nan\.gguf: llama\.cpp cannot load it .*; download it again"):
        Model.open(path, check_tensors=True)


@pytest.mark.parametrize("alignment", [1, 2, 4, 8, 16])
def test_an_alignment_that_ggml_cannot_map_is_refused(tmp_path: Path, alignment: int) -> None:
    file = tiny.laguna().set("general.alignment", alignment)
    file.alignment = alignment
    assert f"its alignment {alignment} is not a power of two from 32" in refusal(file.write(tmp_path / "narrow.gguf"))


def test_a_wide_alignment_is_allowed(tmp_path: Path) -> None:
    file = tiny.laguna().set("general.alignment", 4096)
    file.alignment = 4096
    model = Model.open(file.write(tmp_path / "wide.gguf"))
    assert model.header.alignment == 4096
    model.close()


@pytest.mark.parametrize("tokenizer", [generic.BPE, generic.SENTENCEPIECE])
@pytest.mark.parametrize("architecture", sorted(LAYOUTS))
def test_a_whole_file_of_another_architecture_opens(tmp_path: Path, architecture: str, tokenizer: str) -> None:
    """llama.cpp refuses a file with a missing or an extra tensor, so opening one verifies the table of tensors."""
    path = generic.model(architecture, tokenizer).write(tmp_path / "generic.gguf")
    model = Model.open(path, tried=True)
    assert model.n_layer == generic.LAYERS
    model.close()


@pytest.mark.parametrize("architecture", sorted(name for name, layout in LAYOUTS.items() if layout.experts == "some"))
def test_experts_are_required_where_the_file_has_some(tmp_path: Path, architecture: str) -> None:
    file = generic.model(architecture, experts=True)
    model = Model.open(file.write(tmp_path / "experts.gguf"), tried=True)
    model.close()
    file.remove("blk.1.ffn_gate_exps.weight")
    assert "blk.1.ffn_gate_exps.weight is missing" in refusal(file.write(tmp_path / "experts.gguf"))


@pytest.mark.parametrize("architecture", sorted(LAYOUTS))
def test_every_tensor_of_another_architecture_is_required_in_its_shape(tmp_path: Path, architecture: str) -> None:
    path = tmp_path / "generic.gguf"
    whole = generic.model(architecture)
    for name in [name for name in whole.tensors if name != "token_embd.weight"]:
        file = generic.model(architecture)
        wider = np.zeros((*file.tensors[name].shape[:-1], 2 * file.tensors[name].shape[-1]), file.tensors[name].dtype)
        file.remove(name)
        # A fused matrix that is missing is looked for in its parts.
        missing = name.replace("attn_qkv", "attn_q")
        assert f"the tensor {missing} is missing" in refusal(file.write(path))
        file.tensors[name] = wider
        assert f"{name} has the shape" in refusal(file.write(path))


GENERIC_WRONG: dict[str, tuple[str, str, Change, str]] = {
    "experts used beyond their number": (
        "qwen3moe", generic.BPE, lambda f: f.set("qwen3moe.expert_used_count", 9), "uses 9 of 4 experts"
    ),
    "no experts": (
        "qwen3moe", generic.BPE,
        lambda f: f.set("qwen3moe.expert_count", 0).set("qwen3moe.expert_used_count", 0), "no experts",
    ),
    "a part of a head that is rotated": (
        "llama", generic.BPE, lambda f: f.set("llama.rope.dimension_count", 8), "rotates 8 numbers of heads of 16"
    ),
    "heads that do not make up the hidden size": (
        "qwen2", generic.BPE,
        lambda f: f.set("qwen2.attention.key_length", 32).set("qwen2.attention.value_length", 32).set(
            "qwen2.rope.dimension_count", 32
        ),
        "do not add up to its hidden size",
    ),
    "values of another size": (
        "glm4", generic.BPE, lambda f: f.set("glm4.attention.value_length", 32), "values of 32 differ in size"
    ),
    "a window beyond reason": (
        "gemma3", generic.BPE,
        lambda f: f.set("gemma3.attention.sliding_window", 2**31 - 1), "sliding_window is 2147483647",
    ),
    "a pattern beyond reason": (
        "gemma3", generic.BPE,
        lambda f: f.set("gemma3.attention.sliding_window_pattern", 2**31 - 1), "window_pattern is 2147483647",
    ),
    "no tokens for bytes": (
        "llama", generic.SENTENCEPIECE,
        lambda f: f.set("tokenizer.ggml.tokens", [f"t{i}" for i in range(512)]), "256 of 256 bytes have no token",
    ),
    "no token for the newline": (
        "qwen3", generic.SENTENCEPIECE,
        lambda f: f.metadata["tokenizer.ggml.tokens"][1].__setitem__(3 + 10, "newline"), "1 of 256 bytes have no token",
    ),
    "a byte that is none": (
        "llama", generic.SENTENCEPIECE,
        lambda f: f.metadata["tokenizer.ggml.token_type"][1].__setitem__(300, 6), "token 300 has the type of a byte",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GENERIC_WRONG)
def test_a_wrong_file_of_another_architecture_is_named(tmp_path: Path, name: str) -> None:
    architecture, tokenizer, change, complaint = GENERIC_WRONG[name]
    file = generic.model(architecture, tokenizer)
    change(file)
    assert complaint in refusal(file.write(tmp_path / "wrong.gguf"))


def test_a_large_vocabulary_without_bytes_is_found_too(tmp_path: Path) -> None:
    """Long arrays are inspected but not kept."""
    file = generic.model("llama", generic.SENTENCEPIECE)
    tokens, types = file.metadata["tokenizer.ggml.tokens"][1], file.metadata["tokenizer.ggml.token_type"][1]
    more = [f"more{index}" for index in range(2000)]
    file.set("tokenizer.ggml.tokens", [*tokens, *more]).set("tokenizer.ggml.token_type", [*types, *[1] * 2000])
    file.remove("llama.vocab_size", "tokenizer.ggml.scores")
    file.tensors["token_embd.weight"] = np.zeros((2512, generic.EMBD), np.float16)
    header.check(file.write(tmp_path / "whole.gguf"))
    file.metadata["tokenizer.ggml.token_type"][1][2511] = 6
    assert "token 2511 has the type of a byte" in refusal(file.write(tmp_path / "raw.gguf"))
    tokens[13] = "newline"
    file.set("tokenizer.ggml.tokens", [*tokens, *more])
    assert "1 of 256 bytes have no token" in refusal(file.write(tmp_path / "bytes.gguf"))


def test_a_laguna_with_another_kind_of_tokenizer(tmp_path: Path) -> None:
    file = tiny.laguna()
    generic.add_tokenizer(file, generic.SENTENCEPIECE)
    assert "its tokenizer is not Laguna's" in refusal(file.write(tmp_path / "wrong.gguf"))


@pytest.mark.parametrize("architecture", ["laguna", *sorted(LAYOUTS)])
def test_what_passes_has_a_shape_that_can_be_planned(tmp_path: Path, architecture: str) -> None:
    file = tiny.laguna() if architecture == "laguna" else generic.model(architecture)
    assert ModelShape.of(header.check(file.write(tmp_path / "whole.gguf"))).size > 0


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("rope.dimension_count", 0, "granitehybrid.rope.dimension_count is 0, expected a whole number from 2"),
        ("attention.sliding_window", False, "granitehybrid.attention.sliding_window is False, expected a whole number"),
        ("attention.head_count_kv", [0, 2], "granitehybrid.attention.head_count_kv has 2 entries for 4 layers"),
        ("block_count", 0, "granitehybrid.block_count is 0, expected a whole number from 1"),
    ],
)
def test_of_a_family_without_a_table_what_the_app_reads_is_checked(
    tmp_path: Path, key: str, value: object, complaint: str
) -> None:
    file = families.model("granitehybrid").set(f"granitehybrid.{key}", value)
    assert complaint in refusal(file.write(tmp_path / "wrong.gguf"))


def test_a_header_is_read_again_only_if_the_file_has_changed(tmp_path: Path, good: bytes, monkeypatch) -> None:
    reads: list[Path] = []
    read = header._read
    monkeypatch.setattr(header, "_read", lambda path, *rest: reads.append(path) or read(path, *rest))
    path, link = tmp_path / "a.gguf", tmp_path / "b.gguf"
    path.write_bytes(good)
    link.hardlink_to(path)
    # One that was just written may be written once more within the same tick of the clock.
    assert header.check(path) == header.check(path)
    assert len(reads) == 2
    monkeypatch.setattr(header, "_SETTLED_NS", -1)
    assert header.check(path).path == path
    assert (header.check(link).path, header.check(link).parts) == (link, (link,))
    assert len(reads) == 3
    path.write_bytes(good[:-1])
    with pytest.raises(ModelFileError):
        header.check(path)
    assert len(reads) == 4
