"""What is peculiar to Laguna's files: its name, the texts of its markers, which layers slide, and its tensors.

Everything that the rest of the engine must know of the architecture and cannot read from a file's header stands here.

The tensors and their shapes are those that `src/models/laguna.cpp` creates. llama.cpp reports a missing or misshapen
tensor by itself, except for the attention gate, whose width it aborts on; checking all of them here names the tensor
before gigabytes are mapped.
"""

from collections.abc import Iterator, Mapping

from laguna_engine.gguf.hparams import HParams
from laguna_engine.gguf.reader import Damaged
from laguna_engine.gguf.tensors import Shape, trimmed

ARCHITECTURE = "laguna"
"""`general.architecture` of the models this program is made for."""

EOS_TEXT = "〈|EOS|〉"
"""The text of the token that begins a transcript and ends a text."""

END_OF_TURN = "</assistant>"
"""The text of the token that ends an answer."""

_SLIDING_PERIOD = 4
"""Without a pattern of its own a file has one full layer, then three sliding ones, and so on."""

_FULL_LENGTH_KEYS = ("attention.key_length_swa", "attention.value_length_swa")


def check(dimensions: HParams, shapes: Mapping[str, Shape], tokens: int) -> None:
    """Raise Damaged for the first tensor that is missing or misshapen."""
    _check_heads(dimensions)
    _check_window(dimensions)
    for name, expected in _expected(dimensions, shapes):
        _check_tensor(name, shapes.get(name), expected)
    if "output.weight" in shapes:
        _check_tensor("output.weight", shapes["output.weight"], (dimensions.n_embd, tokens))
    for layer, heads in enumerate(dimensions.heads):
        _check_gate(f"blk.{layer}.attn_gate.weight", shapes, dimensions, heads)


def sliding_layers(dimensions: HParams) -> tuple[bool, ...]:
    """Which layers slide in a file that has a sliding window."""
    key = "attention.sliding_window_pattern"
    flags = dimensions.flags(key)
    if flags is not None:
        return flags
    period = dimensions.optional(key, _SLIDING_PERIOD)
    return tuple(period == 0 or layer % period > 0 for layer in range(dimensions.n_layer))


def _check_heads(dimensions: HParams) -> None:
    sizes = {dimensions.optional(key, dimensions.head_size) for key in _FULL_LENGTH_KEYS}
    if sizes | {dimensions.value_size} != {dimensions.head_size}:
        raise Damaged(f"its keys of {dimensions.head_size} and values of {dimensions.value_size} differ in size")
    if dimensions.experts == 0 and dimensions.size("leading_dense_block_count") < dimensions.n_layer:
        raise Damaged("it has layers of experts and no experts")
    if len(set(dimensions.experts_used)) > 1:
        raise Damaged("its layers use different numbers of experts")


def _check_window(dimensions: HParams) -> None:
    """llama.cpp aborts on a sliding window that no layer uses."""
    if dimensions.optional("attention.sliding_window", 0) and not any(sliding_layers(dimensions)):
        raise Damaged("it has a sliding window and no layer that uses it")


def _check_tensor(name: str, found: Shape | None, expected: Shape) -> None:
    if found is None:
        raise Damaged(f"the tensor {name} is missing")
    if found != trimmed(expected):
        raise Damaged(f"{name} has the shape {found}, expected {expected}")


def _check_gate(name: str, shapes: Mapping[str, Shape], dimensions: HParams, heads: int) -> None:
    """One gate a head (XS) or one an element (M): any other width makes llama.cpp abort."""
    found = shapes.get(name)
    widths = (heads, heads * dimensions.head_size)
    if found not in {trimmed((dimensions.n_embd, width)) for width in widths}:
        raise Damaged(f"{name} has the shape {found}, expected {dimensions.n_embd} by {widths[0]} or {widths[1]}")


def _expected(dimensions: HParams, shapes: Mapping[str, Shape]) -> Iterator[tuple[str, Shape]]:
    yield "output_norm.weight", (dimensions.n_embd,)
    dense = dimensions.size("leading_dense_block_count")
    for layer in range(dimensions.n_layer):
        yield from _attention(dimensions, layer, fused=f"blk.{layer}.attn_qkv.weight" in shapes)
        if layer < dense:
            yield from _dense(dimensions, layer)
        else:
            yield from _experts(dimensions, layer)


def _attention(dimensions: HParams, layer: int, *, fused: bool) -> Iterator[tuple[str, Shape]]:
    embd, head = dimensions.n_embd, dimensions.head_size
    queries, keys = dimensions.heads[layer] * head, dimensions.kv_heads[layer] * head
    prefix = f"blk.{layer}."
    yield prefix + "attn_norm.weight", (embd,)
    if fused:
        yield prefix + "attn_qkv.weight", (embd, queries + 2 * keys)
    else:
        yield prefix + "attn_q.weight", (embd, queries)
        yield prefix + "attn_k.weight", (embd, keys)
        yield prefix + "attn_v.weight", (embd, keys)
    yield prefix + "attn_output.weight", (queries, embd)
    yield prefix + "attn_q_norm.weight", (head,)
    yield prefix + "attn_k_norm.weight", (head,)
    yield prefix + "ffn_norm.weight", (embd,)


def _dense(dimensions: HParams, layer: int) -> Iterator[tuple[str, Shape]]:
    embd, width = dimensions.n_embd, dimensions.per_layer("feed_forward_length", 1)[layer]
    yield f"blk.{layer}.ffn_gate.weight", (embd, width)
    yield f"blk.{layer}.ffn_up.weight", (embd, width)
    yield f"blk.{layer}.ffn_down.weight", (width, embd)


def _experts(dimensions: HParams, layer: int) -> Iterator[tuple[str, Shape]]:
    embd, count = dimensions.n_embd, dimensions.experts
    width = dimensions.per_layer("expert_feed_forward_length", 1)[0]
    shared = dimensions.optional("expert_shared_feed_forward_length", 0)
    shared = shared or width * dimensions.optional("expert_shared_count", 1)
    prefix = f"blk.{layer}.ffn_"
    yield prefix + "gate_inp.weight", (embd, count)
    yield f"blk.{layer}.exp_probs_b.bias", (count,)
    for name in ("gate", "up"):
        yield f"{prefix}{name}_exps.weight", (embd, width, count)
        yield f"{prefix}{name}_shexp.weight", (embd, shared)
    yield prefix + "down_exps.weight", (width, embd, count)
    yield prefix + "down_shexp.weight", (shared, embd)
