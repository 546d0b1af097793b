"""A target and drafters of random weights whose acceptance is known beforehand: always right, or always wrong.

All embeddings share one direction, far stronger than anything the layers add, and one row of each output matrix points
along it; so every position says the same token, whatever came before, at the full cost of the layers. The target is a
qwen3, which llama.cpp's own DFlash can tap; the drafters are what llama.cpp's converter writes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.engine import tiny

SAID, WRONG = 100, 101
"""The token the target always says, and the one a wrong drafter does."""

_STRENGTH, _LOUDNESS = 40.0, 10.0


@dataclass(frozen=True)
class Size:
    """Dimensions; the defaults make a target of 71 MB and drafters of 20 MB."""

    n_layer: int = 8
    n_embd: int = 512
    heads: int = 8
    kv_heads: int = 4
    head: int = 64
    n_ff: int = 2048
    n_vocab: int = 4096
    n_ctx: int = 2048
    draft_layers: int = 2
    block: int = 16
    target_layers: tuple[int, ...] = (2, 4, 7)


def target(path: Path, size: Size, kind: type = np.float16, seed: int = 1) -> Path:
    """Return the model that always says `SAID`, its matrices of this type."""
    file, random = tiny.GgufFile(), np.random.default_rng(seed)
    file.set("general.architecture", "qwen3").set("general.name", "obedient-qwen3")
    _describe(file, "qwen3", size, size.n_layer)
    tiny.add_tokenizer(file, size.n_vocab)
    file.set("tokenizer.ggml.pre", "qwen2").set("tokenizer.ggml.add_bos_token", False)
    _add_heads(file, size, random, SAID)
    _add_layers(file, size, size.n_layer, random)
    for name, array in file.tensors.items():
        if array.dtype == np.float16:
            file.tensors[name] = array.astype(kind)
    return file.write(path)


def drafter(path: Path, size: Size, *, right: bool, seed: int = 2) -> Path:
    """Return a drafter whose drafts are all accepted, or none of them."""
    file, random = tiny.GgufFile(), np.random.default_rng(seed)
    file.set("general.architecture", "dflash").set("general.name", "obedient-dflash")
    _describe(file, "dflash", size, size.draft_layers)
    file.set("dflash.block_size", size.block).set("dflash.target_layers", list(size.target_layers))
    file.set("dflash.attention.causal", False)
    tiny.add_tokenizer(file, size.n_vocab)
    file.set("tokenizer.ggml.mask_token_id", tiny.MASK)
    taps = len(size.target_layers)
    file.tensors["fc.weight"] = _matrix(random, size.n_embd, taps * size.n_embd)
    file.tensors["enc.output_norm.weight"] = np.ones(size.n_embd, np.float32)
    _add_heads(file, size, random, SAID if right else WRONG)
    _add_layers(file, size, size.draft_layers, random)
    return file.write(path)


def _describe(file: tiny.GgufFile, name: str, size: Size, layers: int) -> None:
    values = {
        "vocab_size": size.n_vocab,
        "context_length": size.n_ctx,
        "embedding_length": size.n_embd,
        "block_count": layers,
        "feed_forward_length": size.n_ff if name == "qwen3" else size.n_ff // 2,
        "attention.head_count": size.heads,
        "attention.head_count_kv": size.kv_heads,
        "attention.key_length": size.head,
        "attention.value_length": size.head,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
    }
    for key, value in values.items():
        file.set(f"{name}.{key}", value)


def _add_heads(file: tiny.GgufFile, size: Size, random: np.random.Generator, said: int) -> None:
    direction = np.random.default_rng(0).standard_normal(size.n_embd)
    direction /= np.linalg.norm(direction)
    embeddings = random.standard_normal((size.n_vocab, size.n_embd)) + _STRENGTH * direction
    head = random.standard_normal((size.n_vocab, size.n_embd)) / np.sqrt(size.n_embd)
    head[said] = _LOUDNESS * direction
    file.tensors["token_embd.weight"] = embeddings.astype(np.float16)
    file.tensors["output_norm.weight"] = np.ones(size.n_embd, np.float32)
    file.tensors["output.weight"] = head.astype(np.float16)


def _add_layers(file: tiny.GgufFile, size: Size, count: int, random: np.random.Generator) -> None:
    embd, queries, keys = size.n_embd, size.heads * size.head, size.kv_heads * size.head
    n_ff = file.metadata[f"{file.metadata['general.architecture'][1]}.feed_forward_length"][1]
    for layer in range(count):
        block = f"blk.{layer}."
        for name, width in (
            ("attn_norm", embd),
            ("ffn_norm", embd),
            ("attn_q_norm", size.head),
            ("attn_k_norm", size.head),
        ):
            file.tensors[f"{block}{name}.weight"] = np.ones(width, np.float32)
        shapes = {
            "attn_q": (queries, embd),
            "attn_k": (keys, embd),
            "attn_v": (keys, embd),
            "attn_output": (embd, queries),
        }
        shapes |= {"ffn_gate": (n_ff, embd), "ffn_up": (n_ff, embd), "ffn_down": (embd, n_ff)}
        for name, shape in shapes.items():
            file.tensors[f"{block}{name}.weight"] = _matrix(random, *shape)


def _matrix(random: np.random.Generator, rows: int, width: int) -> np.ndarray:
    return (random.standard_normal((rows, width)) / np.sqrt(width)).astype(np.float16)
