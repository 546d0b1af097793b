"""Turn a trained drafter into a GGUF: llama.cpp's `dflash` kind with the additions of Laguna XS-2.1's drafter.

    python drafter_convert.py WORK/drafter/drafter.pt ../laguna-nano-dflash.gguf --llama-cpp vendor/llama.cpp

No vocabulary, embeddings or head are in the file: a drafter without them uses its target's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from architecture import CONTEXT
from drafter import BLOCK, EPSILON, HEAD, HEADS, KV_HEADS, MASK_ID, ROPE_BASE, TAPS, VOCABULARY, WIDTH, WINDOW
from torch import Tensor

NAMES = {
    "attn_norm": "attn_norm", "ffn_norm": "ffn_norm", "q_norm": "attn_q_norm", "k_norm": "attn_k_norm",
    "q.weight": "attn_q", "k.weight": "attn_k", "v.weight": "attn_v", "o.weight": "attn_output",
    "g_proj.weight": "attn_gate", "ffn_gate.weight": "ffn_gate", "ffn_up.weight": "ffn_up",
    "ffn_down.weight": "ffn_down",
}  # fmt: skip
OUTSIDE = {
    "fc.weight": "fc.weight", "aux_norm": "enc.aux_norm.weight", "enc_norm": "enc.output_norm.weight",
    "output_norm": "output_norm.weight",
    "markov_in.weight": "markov_w1.weight", "markov_out.weight": "markov_w2.weight",
    "confidence.weight": "conf_proj.weight", "confidence.bias": "conf_proj.bias",
}  # fmt: skip


def tensors(state: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Names of the file and weights: matrices in float16, all that is not one in float32."""
    for name, weight in state.items():
        if name.startswith("layers."):
            _, index, part = name.split(".", 2)
            ours = f"blk.{index}.{NAMES[part]}.weight"
        else:
            ours = OUTSIDE[name]
        whole = weight.ndim < 2 or ours in ("enc.aux_norm.weight", "conf_proj.weight")
        yield ours, weight.float() if whole else weight.half()


def describe(writer: Any, layers: int, ffn: int, *, markov: bool) -> None:
    """The metadata that engines read."""
    writer.add_name("Laguna Nano DFlash")
    writer.add_license("apache-2.0")
    writer.add_vocab_size(VOCABULARY)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_rope_dimension_count(HEAD)
    writer.add_sliding_window(WINDOW)
    writer.add_sliding_window_pattern([True] * layers)
    writer.add_causal_attention(True)
    writer.add_block_size(BLOCK)
    writer.add_target_layers([tap + 1 for tap in TAPS])  # layer inputs: the output of a layer is the next one's input
    writer.add_mask_token_id(MASK_ID)
    writer.add_string("dflash.decoder_arch", "laguna")
    writer.add_bool("dflash.context_kv_layer_norm", True)
    if markov:
        writer.add_sample_from_anchor(False)


def main() -> None:
    """Read the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    options = parser.parse_args()
    sys.path.insert(0, str(options.llama_cpp / "gguf-py"))
    import gguf

    state = torch.load(options.checkpoint)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    writer = gguf.GGUFWriter(options.out, "dflash")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    describe(writer, layers, len(state["layers.0.ffn_up.weight"]), markov="markov_in.weight" in state)
    for name, weight in tensors(state):
        writer.add_tensor(name, weight.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
