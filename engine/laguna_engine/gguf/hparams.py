"""A model's hyperparameters, read by key and checked like llama.cpp's `load_hparams`.

A value is per model or per layer; a per-layer value is a scalar for all layers or an array with one entry per layer.
"""

from collections.abc import Iterator, Mapping

from laguna_engine.gguf.reader import Damaged, Value

MAX_LAYERS, MAX_EXPERTS = 512, 1024
"""`LLAMA_MAX_LAYERS` and `LLAMA_MAX_EXPERTS`."""

MAX_SIZE = 1 << 24
"""Largest width, length or count in a header; products of two stay far inside int64."""

_LONGEST = 2**31 - 1
"""Most tokens of context: positions are 32-bit signed in llama.cpp."""

MAX_GATING = 4
"""The last value of `llama_expert_gating_func_type`; 0 leaves the choice to the architecture."""

ROPE_SCALINGS = ("none", "linear", "yarn", "longrope")


class HParams:
    """Typed access to the keys of one architecture; raises Damaged for a missing or impossible value."""

    def __init__(self, architecture: str, metadata: Mapping[str, Value], *, fewest_heads: int = 1) -> None:
        self._prefix = architecture
        self._metadata = metadata
        self.n_layer = self.size("block_count", 1, MAX_LAYERS)
        self.n_embd = self.size("embedding_length", 1)
        self.n_ctx = self.size("context_length", 1, _LONGEST)
        self.heads = self.per_layer("attention.head_count", fewest_heads, None if fewest_heads else (0,) * self.n_layer)
        self.kv_heads = self.per_layer("attention.head_count_kv", fewest_heads, self.heads)
        own = self.n_embd // (self.heads[0] or max(1, *self.heads))
        self.head_size = self.optional("attention.key_length", own, 1)
        self.value_size = self.optional("attention.value_length", own, 1)
        self.experts = self.optional("expert_count", 0)
        self.experts_used = self.per_layer("expert_used_count", 0, (0,) * self.n_layer)

    def _value(self, key: str) -> Value | None:
        return self._metadata.get(f"{self._prefix}.{key}")

    def _checked(self, key: str, value: object, low: int, high: int) -> int:
        if type(value) is not int or not low <= value <= high:
            raise Damaged(f"{self._prefix}.{key} is {value!r}, expected a whole number from {low} to {high}")
        return value

    def size(self, key: str, low: int = 0, high: int = MAX_SIZE) -> int:
        return self._checked(key, self._value(key), low, high)

    def optional(self, key: str, default: int, low: int = 0, high: int = MAX_SIZE) -> int:
        value = self._value(key)
        return default if value is None else self._checked(key, value, low, high)

    def per_layer(self, key: str, low: int, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        value = self._value(key)
        if value is None and default is not None:
            return default
        values = value if isinstance(value, tuple) else (value,) * self.n_layer
        if len(values) != self.n_layer:
            raise Damaged(f"{self._prefix}.{key} has {len(values)} entries for {self.n_layer} layers")
        return tuple(self._checked(key, entry, low, MAX_SIZE) for entry in values)

    def flags(self, key: str) -> tuple[bool, ...] | None:
        """Return booleans for the first layers (False for the others), or None if the value is not an array."""
        value = self._value(key)
        return tuple(map(bool, value[: self.n_layer])) if isinstance(value, tuple) else None

    def number(self, key: str) -> float | None:
        """Return an optional number, finite and not negative."""
        value = self._value(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise Damaged(f"{self._prefix}.{key} is {value!r}, expected a number from 0")
        return float(value)

    def attention_shapes(self, layer: int, *, fused: bool = False) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the matrices of a layer's attention, without their prefix, and their shapes; `fused` joins Q, K, V."""
        queries, keys = self.heads[layer] * self.head_size, self.kv_heads[layer] * self.head_size
        if fused:
            yield "attn_qkv.weight", (self.n_embd, queries + 2 * keys)
        else:
            yield "attn_q.weight", (self.n_embd, queries)
            yield "attn_k.weight", (self.n_embd, keys)
            yield "attn_v.weight", (self.n_embd, keys)
        yield "attn_output.weight", (queries, self.n_embd)

    def check(self) -> None:
        """Check the rules shared by all architectures."""
        for layer, (heads, kv_heads) in enumerate(zip(self.heads, self.kv_heads, strict=True)):
            if heads % kv_heads:
                raise Damaged(f"layer {layer} has {heads} heads for {kv_heads} key-value heads")
        self._check_experts()
        self._check_rope()
        if self.optional("nextn_predict_layers", 0) >= self.n_layer:
            raise Damaged("it has no layer besides its prediction layers")

    def _check_experts(self) -> None:
        most = max(self.experts_used)
        if self.experts > MAX_EXPERTS or most > self.experts or (self.experts > 0 and most == 0):
            raise Damaged(f"it uses {most} of {self.experts} experts")
        groups, used = self.optional("expert_group_count", 0), self.optional("expert_group_used_count", 0)
        if groups >= max(self.experts, 1) or (groups > 1 and (self.experts % groups or not 0 < used < groups)):
            raise Damaged(f"it uses {used} of {groups} groups of {self.experts} experts")

        self.optional("expert_gating_func", 0, 0, MAX_GATING)

    def check_rotation(self) -> None:
        """Check that RoPE rotates something: ggml's does not end with 0 dimensions."""
        for key in ("rope.dimension_count", "rope.dimension_count_swa"):
            if not isinstance(self._value(key), tuple):
                self.optional(key, 2, 2)

    def check_window(self) -> None:
        """Check the sliding window and which layers have it."""
        self.optional("attention.sliding_window", 0)
        if self.flags("attention.sliding_window_pattern") is None:
            self.optional("attention.sliding_window_pattern", 0)

    def _check_rope(self) -> None:
        scaling = self._value("rope.scaling.type")
        if scaling is not None and scaling not in ROPE_SCALINGS:
            raise Damaged(f"its rope scaling is {scaling!r}, expected one of {', '.join(ROPE_SCALINGS)}")
        for key in ("rope.freq_base", "rope.freq_base_swa", "rope.scaling.factor", "attention.layer_norm_rms_epsilon"):
            self.number(key)
        self.optional("rope.scaling.original_context_length", 0, 0, _LONGEST)
        for key in ("rope.dimension_count", "rope.dimension_count_swa"):
            # ggml's rope does not terminate with 0 dimensions.
            rotated = self.optional(key, self.head_size, 2)
            if rotated > self.head_size or rotated % 2:
                raise Damaged(f"{self._prefix}.{key} is {rotated} for heads of {self.head_size}")
