"""Laguna's file format: its name, the texts of its markers, its sliding-window layers, and its tensors.

Everything the rest of the engine must know of the architecture and cannot read from a file's header is here.

The tensors and their shapes are those of `src/models/laguna.cpp`. llama.cpp reports a missing or misshapen tensor
itself, except for a wrong width of the attention gate, on which it aborts; checking all tensors here names the wrong
one before gigabytes are mapped.
"""

from collections.abc import Iterator, Mapping

from laguna_engine.gguf.hparams import HParams
from laguna_engine.gguf.reader import Damaged
from laguna_engine.gguf.tensors import Shape, check_shape, trimmed

ARCHITECTURE = "laguna"
"""`general.architecture` of Laguna models."""

EOS_TEXT = "〈|EOS|〉"
"""Text of the token that begins a transcript; also an end-of-generation token."""

NO_EOS = f"the vocabulary has no {EOS_TEXT} token, so this is not a Laguna model; choose one"
"""What a user reads of a model that cannot chat."""

END_OF_TURN = "</assistant>"
"""Text of the token that ends an answer."""

THINK, END_THINK = "<think>", "</think>"
"""Texts of the tokens around the model's thinking."""

TOOL_CALL, END_TOOL_CALL = "<tool_call>", "</tool_call>"
"""Texts of the tokens around a tool call."""

_SLIDING_PERIOD = 4
"""A file without a pattern repeats one full-attention layer and three sliding-window ones."""

_FULL_LENGTH_KEYS = ("attention.key_length_swa", "attention.value_length_swa")


def check(hparams: HParams, shapes: Mapping[str, Shape], tokens: int) -> None:
    """Raise Damaged for the first tensor that is missing or misshapen."""
    _check_heads(hparams)
    _check_window(hparams)
    for name, expected in _expected(hparams, shapes):
        check_shape(name, shapes.get(name), expected)
    if "output.weight" in shapes:
        check_shape("output.weight", shapes["output.weight"], (hparams.n_embd, tokens))
    for layer, heads in enumerate(hparams.heads):
        _check_gate(f"blk.{layer}.attn_gate.weight", shapes, hparams, heads)


def sliding_layers(hparams: HParams) -> tuple[bool, ...]:
    """Return which layers have sliding-window attention, in a file with a sliding window."""
    key = "attention.sliding_window_pattern"
    flags = hparams.flags(key)
    if flags is not None:
        return flags
    period = hparams.optional(key, _SLIDING_PERIOD)
    return tuple(period == 0 or layer % period > 0 for layer in range(hparams.n_layer))


def _check_heads(hparams: HParams) -> None:
    sizes = {hparams.optional(key, hparams.head_size) for key in _FULL_LENGTH_KEYS}
    if sizes | {hparams.value_size} != {hparams.head_size}:
        raise Damaged(f"its keys of {hparams.head_size} and values of {hparams.value_size} differ in size")
    if hparams.experts == 0 and hparams.size("leading_dense_block_count") < hparams.n_layer:
        raise Damaged("it has expert layers but no experts")
    if len(set(hparams.experts_used)) > 1:
        raise Damaged("its layers use different numbers of experts")


def _check_window(hparams: HParams) -> None:
    """Raise Damaged for a sliding window that no layer uses, on which llama.cpp aborts."""
    if hparams.optional("attention.sliding_window", 0) and not any(sliding_layers(hparams)):
        raise Damaged("it has a sliding window but no layer that uses it")


def _check_gate(name: str, shapes: Mapping[str, Shape], hparams: HParams, heads: int) -> None:
    """Require one gate per head (XS) or per element (M); llama.cpp aborts on any other width."""
    found = shapes.get(name)
    widths = (heads, heads * hparams.head_size)
    if found not in {trimmed((hparams.n_embd, width)) for width in widths}:
        raise Damaged(f"{name} has the shape {found}, expected {hparams.n_embd} by {widths[0]} or {widths[1]}")


def _expected(hparams: HParams, shapes: Mapping[str, Shape]) -> Iterator[tuple[str, Shape]]:
    yield "output_norm.weight", (hparams.n_embd,)
    dense = hparams.size("leading_dense_block_count")
    for layer in range(hparams.n_layer):
        yield from _attention(hparams, layer, fused=f"blk.{layer}.attn_qkv.weight" in shapes)
        if layer < dense:
            width = hparams.per_layer("feed_forward_length", 1)[layer]
            yield f"blk.{layer}.ffn_gate.weight", (hparams.n_embd, width)
            yield f"blk.{layer}.ffn_up.weight", (hparams.n_embd, width)
            yield f"blk.{layer}.ffn_down.weight", (width, hparams.n_embd)
        else:
            yield from _experts(hparams, layer)


def _attention(hparams: HParams, layer: int, *, fused: bool) -> Iterator[tuple[str, Shape]]:
    prefix = f"blk.{layer}."
    yield prefix + "attn_norm.weight", (hparams.n_embd,)
    yield from ((prefix + name, shape) for name, shape in hparams.attention_shapes(layer, fused=fused))
    yield prefix + "attn_q_norm.weight", (hparams.head_size,)
    yield prefix + "attn_k_norm.weight", (hparams.head_size,)
    yield prefix + "ffn_norm.weight", (hparams.n_embd,)


def _experts(hparams: HParams, layer: int) -> Iterator[tuple[str, Shape]]:
    embd, count = hparams.n_embd, hparams.experts
    width = hparams.per_layer("expert_feed_forward_length", 1)[0]
    shared = hparams.optional("expert_shared_feed_forward_length", 0)
    shared = shared or width * hparams.optional("expert_shared_count", 1)
    prefix = f"blk.{layer}.ffn_"
    yield prefix + "gate_inp.weight", (embd, count)
    yield f"blk.{layer}.exp_probs_b.bias", (count,)
    for name in ("gate", "up"):
        yield f"{prefix}{name}_exps.weight", (embd, width, count)
        yield f"{prefix}{name}_shexp.weight", (embd, shared)
    yield prefix + "down_exps.weight", (width, embd, count)
    yield prefix + "down_shexp.weight", (shared, embd)
