"""A published drafter's config.json, in either of two dialects, as a `DrafterConfig`.

- Speculators (XS.2): `speculators_model_type` "dflash", the layers under `transformer_layer_config`, and
  `aux_hidden_state_layer_ids`, which count the embeddings, so that id 1 is the output of layer 0. vLLM reads them this
  way (`update_dflash`), and the published acceptance was measured with it.
- Poolside's own (XS-2.1, S-2.1): `DFlashLagunaForCausalLM`, with `dflash_config.target_layer_ids` of layer outputs.

A setting that would be computed wrongly is refused with an error that names the key: a drafter with one setting misread
drafts nonsense, and only its acceptance rate would show it.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_tui.models.convert_safetensors import read_json

MAX_SIZE = 1 << 24
"""Largest width, length or count in a drafter."""

MAX_NUMBER = 1e12
"""Largest RoPE base."""


class ConfigFields:
    """Typed access to the keys of one or more tables; the first table with a non-null value takes precedence."""

    def __init__(self, path: Path, *tables: Mapping[str, object]) -> None:
        self.path = path
        self._tables = tables

    def get(self, *names: str) -> object:
        """Return the first non-null value among `names`, or None."""
        found = (table.get(name) for name in names for table in self._tables)
        return next((value for value in found if value is not None), None)

    def table(self, name: str) -> Mapping[str, object]:
        """Return a table, empty if there is none."""
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.invalid(name, value, "a table")
        return value

    def integer(self, name: str, low: int = 1, high: int = MAX_SIZE, default: int | None = None) -> int:
        """Return an integer from `low` to `high`."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if type(value) is not int or not low <= value <= high:
            raise self.invalid(name, value, f"a whole number from {low} to {high}")
        return value

    def number(self, name: str) -> float:
        """Return a number above 0 and at most MAX_NUMBER."""
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_NUMBER:
            raise self.invalid(name, value, f"a number above 0, up to {MAX_NUMBER:g}")
        return float(value)

    def flag(self, *names: str) -> bool | None:
        """Return a boolean, or None if the key is absent."""
        value = self.get(*names)
        if value is not None and not isinstance(value, bool):
            raise self.invalid(names[0], value, "true or false")
        return value

    def integers(self, name: str, low: int, high: int = MAX_SIZE) -> tuple[int, ...]:
        """Return a non-empty list of distinct integers."""
        value = self.get(name)
        fits = isinstance(value, list) and 0 < len(value) <= 64 and all(type(one) is int for one in value)
        if not isinstance(value, list) or not fits or not low <= min(value) <= max(value) <= high:
            raise self.invalid(name, value, f"a list of whole numbers from {low} to {high}")
        if len(set(value)) != len(value):
            raise self.invalid(name, value, "each number once")
        return tuple(value)

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, empty if the key is absent."""
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > 1024 or not all(isinstance(one, str) for one in value):
            raise self.invalid(name, value, "a list of words")
        return tuple(value)

    def invalid(self, name: str, value: object, expected: str) -> ModelFileError:
        what = "is missing" if value is None else f"is {reprlib.repr(value)}"
        return ModelFileError(f"{self.path}: {name} {what}, expected {expected}; download the drafter's folder again")


CONFIG = "config.json"
LAGUNA = "DFlashLagunaForCausalLM"

_MAX_LAYERS = 64
_MAX_BLOCK = 64
_OTHER = "choose a DFlash drafter of Laguna in bf16"

_PLAIN: dict[str, tuple[object, ...]] = {
    "hidden_act": (None, "silu"),
    "attention_bias": (None, False),
    "mlp_bias": (None, False),
    "num_experts": (None, 0),
    "norm_before_fc": (None, False),
    "sample_from_anchor": (None, False),
    "output_multiplier": (None, 1),
    "final_logit_softcapping": (None, 0),
    "input_embedding_scale": (None, 1),
}
"""Settings of other drafters, with the values that leave the computation unchanged."""


@dataclass(frozen=True, slots=True)
class DrafterConfig:
    """Hyperparameters of a drafter.

    Attributes:
        laguna: Poolside's own layout, with a norm per tap, gated heads and context through the input norms.
        n_vocab: Size of the target's vocabulary.
        drafted: Size of the drafter's own vocabulary, at most `n_vocab`.
        block: Tokens per block.
        mask_id: Token id of the mask.
        taps: Layers of the target whose outputs it reads, from 0, in its order.
        window: Sliding window in tokens; 0 without sliding layers.
        sliding: Whether each layer slides.
        causal: Whether each layer's block rows are masked causally.
        tied: Whether its embeddings are its output matrix.
    """

    laguna: bool
    n_embd: int
    n_layer: int
    heads: int
    kv_heads: int
    head_size: int
    n_ff: int
    n_vocab: int
    drafted: int
    n_ctx: int
    epsilon: float
    rope_base: float
    rope_dims: int
    block: int
    mask_id: int
    taps: tuple[int, ...]
    window: int
    sliding: tuple[bool, ...]
    causal: tuple[bool, ...]
    tied: bool


def read(folder: Path) -> DrafterConfig:
    """Read the config of the drafter in `folder`. Raises ModelFileError if it is missing or not convertible."""
    path = folder / CONFIG
    if not path.is_file():
        raise ModelFileError(f"{folder}: has no {CONFIG}; download the whole folder of the published drafter")
    table = read_json(path)
    top = ConfigFields(path, table)
    if _is_laguna(top, folder):
        method = top.table("dflash_config")
        return _config(ConfigFields(path, method, table), laguna=True)
    body = top.table("transformer_layer_config")
    # vLLM lets the outer table decide about sliding layers, too.
    return _config(ConfigFields(path, table, body), laguna=False)


def _is_laguna(top: ConfigFields, folder: Path) -> bool:
    """Return whether it is Poolside's own dialect. Raises ModelFileError if it is neither."""
    kind, names = top.get("speculators_model_type"), top.names("architectures")
    called = ", ".join(names)[:100] or "no name"
    if top.get("quantization_config", "compression_config"):
        raise ModelFileError(f"{folder}: is already quantized; {_OTHER}, such as the original that it was made from")
    if kind == "dflash2" or any("DFlash2" in name for name in names) or "selector_rank" in top.table("dflash_config"):
        raise ModelFileError(
            f"{folder}: is a DFlash2 drafter (convolutions inside the block and a selector of paths), which this "
            f"engine does not run; {_OTHER}"
        )
    if kind not in (None, "dflash"):
        raise ModelFileError(
            f"{folder}: is a drafter of the kind {reprlib.repr(kind)}, which cannot be converted; {_OTHER}"
        )
    if kind == "dflash" or LAGUNA in names:
        return kind is None
    if top.get("dflash_config") or any("Draft" in name or "Eagle" in name for name in names):
        raise ModelFileError(f"{folder}: is a drafter of the kind {called}, which cannot be converted; {_OTHER}")
    raise ModelFileError(f"{folder}: is a model of the kind {called}, not a drafter; give the folder of its drafter")


def _config(fields: ConfigFields, *, laguna: bool) -> DrafterConfig:
    _check_plain(fields)
    n_embd, n_layer = fields.integer("hidden_size"), fields.integer("num_hidden_layers", 1, _MAX_LAYERS)
    heads = fields.integer("num_attention_heads")
    kv_heads = fields.integer("num_key_value_heads", 1, heads, default=heads)
    head_size = fields.integer("head_dim", 2, default=n_embd // heads)
    n_vocab = fields.integer("vocab_size", 2)
    sliding = _sliding(fields, n_layer, laguna=laguna)
    rope_base, rope_dims = _rope(fields, head_size)
    if heads % kv_heads:
        raise fields.invalid("num_key_value_heads", kv_heads, f"a divisor of {heads} heads")
    if fields.integer("target_hidden_size", default=n_embd) != n_embd:
        raise fields.invalid("target_hidden_size", fields.get("target_hidden_size"), f"hidden_size, {n_embd}")
    return DrafterConfig(
        laguna=laguna,
        n_embd=n_embd,
        n_layer=n_layer,
        heads=heads,
        kv_heads=kv_heads,
        head_size=head_size,
        n_ff=fields.integer("intermediate_size"),
        n_vocab=n_vocab,
        drafted=fields.integer("draft_vocab_size", 1, n_vocab, default=n_vocab),
        n_ctx=fields.integer("max_position_embeddings", 1, 2**31 - 1),
        epsilon=fields.number("rms_norm_eps"),
        rope_base=rope_base,
        rope_dims=rope_dims,
        block=fields.integer("block_size", 2, _MAX_BLOCK),
        mask_id=fields.integer("mask_token_id", 0, n_vocab - 1),
        taps=_taps(fields, laguna=laguna),
        window=fields.integer("sliding_window") if any(sliding) else 0,
        sliding=sliding,
        causal=_causal(fields, sliding, laguna=laguna),
        tied=bool(fields.flag("tie_word_embeddings")),
    )


def _check_plain(fields: ConfigFields) -> None:
    for name, plain in _PLAIN.items():
        value = fields.get(name)
        if value not in plain:
            raise ModelFileError(
                f"{fields.path}: has {name} {reprlib.repr(value)}, which this engine does not support; {_OTHER}"
            )


def _taps(fields: ConfigFields, *, laguna: bool) -> tuple[int, ...]:
    layers = fields.integer("num_target_layers", default=MAX_SIZE)
    if laguna:
        return fields.integers("target_layer_ids", 0, layers - 1)
    return tuple(place - 1 for place in fields.integers("aux_hidden_state_layer_ids", 1, layers))


def _sliding(fields: ConfigFields, n_layer: int, *, laguna: bool) -> tuple[bool, ...]:
    types, allowed = fields.names("layer_types"), fields.flag("use_sliding_window")
    # Poolside's own always set layer_types, and their layers usually slide; without the key nothing can be assumed.
    if not types and not allowed and not laguna:
        return (False,) * n_layer
    if len(types) != n_layer or not set(types) <= {"full_attention", "sliding_attention"}:
        raise fields.invalid(
            "layer_types", list(types) or None, f"full_attention or sliding_attention for each of {n_layer} layers"
        )
    sliding = tuple(kind == "sliding_attention" for kind in types)
    if any(sliding) and allowed is False:
        raise fields.invalid("use_sliding_window", allowed, "true, as layer_types has sliding layers")
    return sliding


def _causal(fields: ConfigFields, sliding: tuple[bool, ...], *, laguna: bool) -> tuple[bool, ...]:
    """Return whether each layer's block rows are masked causally, as vLLM's `_dflash_layer_causal` does."""
    if laguna:
        causal = fields.flag("is_causal", "causal")
        return sliding if causal is None else (causal,) * len(sliding)
    bidirectional = fields.flag("sliding_window_non_causal")
    return sliding if bidirectional is False else (False,) * len(sliding)


def _rope(fields: ConfigFields, head_size: int) -> tuple[float, int]:
    """Return RoPE's base and the number of rotated dimensions per head."""
    rope = ConfigFields(fields.path, *_rope_tables(fields))
    scaling = rope.get("rope_type", "type")
    if scaling not in (None, "default"):
        raise ModelFileError(
            f"{fields.path}: scales its positions ({reprlib.repr(scaling)}), which no drafter of Laguna does; {_OTHER}"
        )
    share = rope.number("partial_rotary_factor") if rope.get("partial_rotary_factor") is not None else 1.0
    rotated = round(head_size * share)
    if share > 1 or rotated < 2 or rotated % 2:
        raise rope.invalid("partial_rotary_factor", share, f"an even part of heads of {head_size}")
    return rope.number("rope_theta"), rotated


def _rope_tables(fields: ConfigFields) -> list[dict[str, object]]:
    """Return the tables that may hold the RoPE keys: their own, one per kind of layer, or the top level."""
    own = {**fields.table("rope_scaling"), **fields.table("rope_parameters")}
    by_kind = [own[kind] for kind in set(fields.names("layer_types")) if isinstance(own.get(kind), dict)]
    if any(table != by_kind[0] for table in by_kind):
        raise ModelFileError(f"{fields.path}: its layers rotate positions differently; {_OTHER}")
    outer = {name: fields.get(name) for name in ("rope_theta", "partial_rotary_factor")}
    return [*(dict(table) for table in by_kind if isinstance(table, dict)), own, outer]
