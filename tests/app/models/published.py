"""Look-alikes of published drafters: tensor names, shapes (scaled down), config keys and files as the real ones have.

Weights come from `drafters.make`, rounded to bfloat16, so that the plain float64 forward pass there can be fed with
what was published. Files are written byte by byte from the format's description, by nothing the project ships.
"""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine import drafters, tiny
from tests.engine.drafters import Variant

Tensors = dict[str, tuple[str, np.ndarray]]
"""Name to number format and stored numbers; bfloat16 is stored as uint16."""

LAGUNA = drafters.LAGUNA
SPECULATOR = Variant(n_layer=2, reduced=300)


@dataclass
class Published:
    """A drafter's folder before it is written. weights: what the plain forward pass is fed with."""

    variant: Variant
    config: dict[str, Any]
    tensors: Tensors
    weights: dict[str, drafters.Array]
    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, folder: Path, *, shards: int = 1) -> Path:
        """Write the whole folder, in one file or in `shards` with an index."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config, indent=2))
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
        if shards == 1:
            (folder / "model.safetensors").write_bytes(safetensors(self.tensors))
        else:
            self._write_shards(folder, shards)
        return folder

    def _write_shards(self, folder: Path, shards: int) -> None:
        places: dict[str, str] = {}
        names = sorted(self.tensors)
        for shard in range(shards):
            file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
            held = names[shard::shards]
            places |= dict.fromkeys(held, file)
            (folder / file).write_bytes(safetensors({name: self.tensors[name] for name in held}))
        index = {"metadata": {"total_size": 1}, "weight_map": places}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def safetensors(tensors: Tensors, change: Callable[[dict[str, Any]], None] = lambda header: None) -> bytes:
    """A file's bytes; `change` may spoil the header."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (kind, array) in tensors.items():
        stored = array.tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(stored)]}
        data += stored
    change(header)
    return framed(json.dumps(header).encode()) + data


def framed(header: bytes) -> bytes:
    """A header as it stands at a file's start."""
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header


def half(values: np.ndarray) -> tuple[str, np.ndarray]:
    """In bfloat16: the upper half of a float32."""
    return "BF16", (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def numbers(stored: np.ndarray) -> np.ndarray:
    """What bfloat16 numbers stand for."""
    return (stored.astype(np.uint32) << 16).view(np.float32)


_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_gate": "self_attn.g_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTSIDE = {
    "fc.weight": "fc.weight",
    "enc.output_norm.weight": "hidden_norm.weight",
    "output_norm.weight": "norm.weight",
    "token_embd.weight": "embed_tokens.weight",
    "output.weight": "lm_head.weight",
}


def _published(file: tiny.GgufFile) -> tuple[Tensors, dict[str, drafters.Array]]:
    """The drafter's tensors under their published names, and the numbers that they stand for under the reference's."""
    tensors: Tensors = {}
    weights: dict[str, drafters.Array] = {}
    for name, array in file.tensors.items():
        if name == "d2t":
            tensors["d2t"] = "I64", array - np.arange(len(array))
            weights["d2t"] = array.astype(float)
            continue
        kind, stored = half(array)
        weights[name] = numbers(stored).astype(float)
        if name == "enc.aux_norm.weight":
            tensors |= {f"aux_hidden_norms.{tap}.weight": (kind, row) for tap, row in enumerate(stored)}
        elif name.startswith("blk."):
            layer, part = name.split(".")[1:3]
            tensors[f"layers.{layer}.{_LAYER[part]}.weight"] = kind, stored
        else:
            tensors[_OUTSIDE[name]] = kind, stored
    return tensors, weights


def laguna(variant: Variant = LAGUNA, **changes: Any) -> Published:
    """As `poolside/Laguna-XS-2.1-DFlash`: fused Q, K, V, a gate, a norm for each tap, the target's head."""
    tensors, weights = _published(drafters.make(variant))
    for layer in range(variant.n_layer):
        parts = [tensors.pop(f"layers.{layer}.self_attn.{letter}_proj.weight")[1] for letter in "qkv"]
        tensors[f"layers.{layer}.self_attn.qkv_proj.weight"] = "BF16", np.concatenate(parts)
    config = {
        "architectures": ["DFlashLagunaForCausalLM"],
        "model_type": "laguna",
        **_shape(variant),
        "rope_theta": variant.rope_base,
        "sliding_window": variant.window,
        "layer_types": ["sliding_attention" if slides else "full_attention" for slides in variant.slides],
        "gating": "per-head",
        "num_experts": 0,
        "draft_vocab_size": variant.n_vocab,
        "dflash_config": {
            "block_size": variant.block,
            "mask_token_id": tiny.MASK,
            "num_target_layers": 4,
            "target_layer_ids": list(variant.taps),
            "causal": variant.causal,
        },
        "torch_dtype": "bfloat16",
    }
    return Published(variant, config | changes, tensors, weights)


def speculator(variant: Variant = SPECULATOR, **changes: Any) -> Published:
    """As `poolside/Laguna-XS.2-speculator.dflash`: its own embeddings, and a head for a part of the vocabulary."""
    tensors, weights = _published(drafters.make(variant))
    known = np.zeros(variant.n_vocab, bool)
    known[weights["d2t"].astype(int)] = True
    tensors["t2d"] = "BOOL", known
    config = {
        "architectures": ["DFlashDraftModel"],
        "speculators_model_type": "dflash",
        "speculators_version": "0.5.0",
        "speculators_config": {"algorithm": "dflash", "proposal_methods": [{"speculative_tokens": variant.block - 1}]},
        "aux_hidden_state_layer_ids": [tap + 1 for tap in variant.taps],
        "block_size": variant.block,
        "mask_token_id": tiny.MASK,
        "draft_vocab_size": variant.reduced,
        "target_hidden_size": None,
        "tie_word_embeddings": False,
        "transformer_layer_config": {
            "model_type": "llama",
            **_shape(variant),
            "rope_parameters": {"rope_theta": variant.rope_base, "rope_type": "default"},
        },
    }
    return Published(variant, config | changes, tensors, weights)


def _shape(variant: Variant) -> dict[str, Any]:
    return {
        "vocab_size": variant.n_vocab,
        "hidden_size": variant.n_embd,
        "intermediate_size": variant.n_ff,
        "num_hidden_layers": variant.n_layer,
        "num_attention_heads": variant.heads,
        "num_key_value_heads": variant.kv_heads,
        "head_dim": variant.head,
        "hidden_act": "silu",
        "attention_bias": False,
        "rms_norm_eps": drafters.EPSILON,
        "max_position_embeddings": 4096,
    }


def without(published: Published, *names: str) -> Published:
    """The same with some tensors left out."""
    return replace(published, tensors={name: found for name, found in published.tensors.items() if name not in names})
