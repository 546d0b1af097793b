"""Maps the three naming schemes of DFlash drafter files to one.

- llama.cpp's `dflash`: `conversion/qwen.py` of the pinned build;
- poolside's and this project's: the same, with `enc.aux_norm.weight`, `blk.N.attn_gate.weight` and
  `dflash.decoder_arch` or `dflash.context_kv_layer_norm`;
- Lucebox's `qwen35-dflash-draft` and `dflash-draft`: keys below `<architecture>.dflash.`, tensors below `dflash.`.

Canonical tensor names are llama.cpp's, with one `enc.aux_norm.N.weight` per tap and fused Q, K, V split: rows are
contiguous in a file, so a range of a matrix's rows is a tensor too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from laguna_engine.gguf.hparams import MAX_SIZE
from laguna_engine.gguf.reader import Damaged, LongArray, Value
from laguna_engine.gguf.tensors import TensorInfo

UPSTREAM = "dflash"
LUCEBOX = frozenset({"dflash-draft", "qwen35-dflash-draft"})

_LUCEBOX_TENSORS = {
    "dflash.fc.weight": "fc.weight",
    "dflash_fc.weight": "fc.weight",
    "dflash.hidden_norm.weight": "enc.output_norm.weight",
    "dflash_hidden_norm.weight": "enc.output_norm.weight",
    "dflash.d2t": "d2t",
    "dflash.dspark.markov.w1": "markov_w1.weight",
    "dflash.dspark.markov.w2": "markov_w2.weight",
    "dflash.dspark.confidence.weight": "conf_proj.weight",
    "dflash.dspark.confidence.bias": "conf_proj.bias",
}
_LUCEBOX_TAP_NORM = re.compile(r"dflash\.aux_hidden_norm\.(\d+)\.weight")
_POST_NORM = re.compile(r"(blk\.\d+\.)post_attention_norm\.weight")
_FUSED = re.compile(r"(blk\.\d+\.)attn_qkv\.weight")
_UNUSED = frozenset({"t2d", "dflash.t2d"})
"""The target-to-draft table, used only in training."""


class Keys:
    """Metadata by canonical key, under any of the prefixes."""

    def __init__(self, architecture: str, metadata: Mapping[str, Value]) -> None:
        self.lucebox = architecture in LUCEBOX
        self._architecture = architecture
        self._metadata = metadata

    def value(self, *names: str) -> Value | None:
        """Return the first of `names` that the file has, below `<architecture>.dflash.` or `<architecture>.`."""
        prefixes = (f"{self._architecture}.dflash.", f"{self._architecture}.")
        found = (self._metadata.get(prefix + name) for name in names for prefix in prefixes)
        return next((value for value in found if value is not None), None)

    def whole(self, value: Value | None, what: str, low: int, high: int) -> int:
        """Return `value` as an integer from `low` to `high`; Damaged otherwise."""
        if type(value) is not int or not low <= value <= high:
            raise Damaged(f"its {what} is {value!r}, expected a whole number from {low} to {high}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean; Lucebox writes them as numbers."""
        value = self.value(name)
        if value is None:
            return default
        if value not in (0, 1):
            raise Damaged(f"its {name} is {value!r}, neither true nor false")
        return bool(value)

    def tap_outputs(self) -> tuple[int, ...]:
        """Return the tapped layers of the target, as layer OUTPUTS.

        `target_layers` names layer inputs, that is outputs of the layer before; Lucebox's `target_layer_ids` names
        outputs.
        """
        inputs = self.value("target_layers")
        values = inputs if inputs is not None else self.value("target_layer_ids")
        if not isinstance(values, tuple) or not values or not all(type(value) is int for value in values):
            raise Damaged("it does not say which of the target's layers it reads")
        shift = 0 if inputs is None else 1
        return tuple(int(value) - shift for value in values)

    def mask_token(self) -> Value | None:
        own = self.value("mask_token_id")
        return own if own is not None else self._metadata.get("tokenizer.ggml.mask_token_id")

    def vocabulary_sizes(self) -> Iterator[int]:
        """Yield every size of the vocabulary that the metadata gives."""
        declared, tokens = self.value("vocab_size"), self._metadata.get("tokenizer.ggml.tokens")
        if declared is not None:
            yield self.whole(declared, "vocabulary size", 1, MAX_SIZE)
        if isinstance(tokens, LongArray):
            yield tokens.length
        elif isinstance(tokens, tuple):
            yield len(tokens)


def canonical_tensors(tensors: Sequence[TensorInfo], queries: Sequence[int], keys: Sequence[int]) -> list[TensorInfo]:
    """Return `tensors` under canonical names, fused ones split.

    Args:
        tensors: as in the file.
        queries: rows of Q in each layer's fused matrix.
        keys: rows of K, and of V, in each layer's fused matrix.
    """
    present = {info.name for info in tensors}
    found: list[TensorInfo] = []
    for info in tensors:
        fused = _FUSED.fullmatch(info.name)
        if fused:
            layer = int(fused[1].split(".")[1])
            found += _split_qkv(info, fused[1], queries[layer : layer + 1], keys[layer : layer + 1])
        elif info.name == "enc.aux_norm.weight":
            parts = (_part(info, f"enc.aux_norm.{row}.weight", row, 1) for row in range(prod(info.shape[1:])))
            found += (replace(part, shape=(info.shape[0],)) for part in parts)
        elif info.name not in _UNUSED:
            found.append(replace(info, name=_canonical(info.name, present)))
    return found


def canonical_name(name: str) -> str:
    """Return the canonical name of a tensor that is not fused."""
    tap = _LUCEBOX_TAP_NORM.fullmatch(name)
    return f"enc.aux_norm.{tap[1]}.weight" if tap else _LUCEBOX_TENSORS.get(name, name)


def _canonical(name: str, present: set[str]) -> str:
    # Gemma-like drafters have both norms; then this one is a different one.
    norm = _POST_NORM.fullmatch(name)
    if norm and f"{norm[1]}ffn_norm.weight" not in present:
        return f"{norm[1]}ffn_norm.weight"
    return canonical_name(name)


def _split_qkv(info: TensorInfo, prefix: str, queries: Sequence[int], keys: Sequence[int]) -> Iterator[TensorInfo]:
    rows = prod(info.shape[1:])
    if not queries or rows != queries[0] + 2 * keys[0]:
        raise Damaged(f"{info.name} has the shape {info.shape}, which is not Q, K and V of its heads")
    first = 0
    for name, count in (("attn_q", queries[0]), ("attn_k", keys[0]), ("attn_v", keys[0])):
        yield _part(info, f"{prefix}{name}.weight", first, count)
        first += count


def _part(info: TensorInfo, name: str, first: int, count: int) -> TensorInfo:
    row = info.size // prod(info.shape[1:])
    return TensorInfo(name, (info.shape[0], count), info.format, info.offset + first * row, count * row)
