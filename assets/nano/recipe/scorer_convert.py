"""Turn a trained scorer into a GGUF of the `qwen3` kind, with the tokenizer of Laguna Nano as its file has it.

    python scorer_convert.py WORK/scorer.pt ../laguna-nano.gguf ../laguna-nano-scorer.gguf --llama-cpp vendor/llama.cpp

Head and embeddings are one matrix, stored once. `--tokenizer FILE` writes that tokenizer for training instead, for who
has the model and no longer what it was trained with.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from scorer_model import CONTEXT, FFN, HEAD, HEADS, KV_HEADS, LAYERS, ROPE_BASE, WIDTH, config
from tokenizer import LINES, VOCABULARY, WORDS, split
from tokenizers import AddedToken, Tokenizer, decoders, models
from torch import Tensor

NAMES = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
OUTSIDE = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
CONTROL = 3  # llama.cpp's kind of a special token


def tensors(state: dict[str, Tensor], kind: torch.dtype) -> Iterator[tuple[str, Tensor]]:
    """Names of the file and weights: matrices as `kind`, norms in float32."""
    for name, weight in state.items():
        if name == "lm_head.weight":
            continue
        if name in OUTSIDE:
            ours = OUTSIDE[name]
        else:
            _, _, index, part = name.removesuffix(".weight").split(".", 3)
            ours = f"blk.{index}.{NAMES[part]}.weight"
        yield ours, weight.float() if weight.ndim < 2 else weight.to(kind)


def describe(writer: Any) -> None:
    """The metadata that engines read."""
    writer.add_name("Laguna Nano Scorer")
    writer.add_license("apache-2.0")
    writer.add_vocab_size(VOCABULARY)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(config().rms_norm_eps)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_rope_dimension_count(HEAD)


def copy_tokenizer(writer: Any, source: Any) -> None:
    """Every tokenizer key of the model's file; not its chat template, for nobody chats with a scorer."""
    for key, field in source.fields.items():
        if key.startswith("tokenizer.ggml."):
            kinds = field.types
            writer.add_key_value(key, field.contents(), kinds[0], kinds[-1] if len(kinds) > 1 else None)


def tokenizer_of(source: Any) -> Tokenizer:
    """The file's tokenizer as `tokenizer.py` trained it."""
    tokens, merges, kinds = (
        source.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges", "token_type")
    )
    pairs = [tuple(merge.split(" ")) for merge in merges]
    made = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=pairs))
    made.pre_tokenizer, made.decoder = split(LINES, WORDS), decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return made


def main() -> None:
    """Read the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    parser.add_argument("--type", choices=("f16", "f32"), default="f16")
    parser.add_argument("--tokenizer", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(options.llama_cpp / "gguf-py"))
    import gguf

    source = gguf.GGUFReader(options.model)
    if options.tokenizer:
        tokenizer_of(source).save(str(options.tokenizer))
        return
    half = options.type == "f16"
    writer = gguf.GGUFWriter(options.out, "qwen3")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16 if half else gguf.LlamaFileType.ALL_F32)
    describe(writer)
    copy_tokenizer(writer, source)
    for name, weight in tensors(torch.load(options.checkpoint), torch.float16 if half else torch.float32):
        writer.add_tensor(name, weight.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
