"""What of a model's header decides about memory: widths and bytes, layer by layer. Values only; no file is opened."""

from dataclasses import dataclass

from laguna_engine.gguf import laguna
from laguna_engine.gguf.header import Header, safe_context
from laguna_engine.gguf.hparams import HParams
from laguna_engine.gguf.tensors import TensorInfo

_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"
_EXPERTS = "_exps."
_ROUTED = "exp_probs_b"
"""Belongs to the router, which is small and always stays with its layer."""


@dataclass(frozen=True, slots=True)
class LayerShape:
    """One layer. Widths in numbers a token, sizes in bytes.

    queries, keys, values: of all heads together. heads: of the queries. gate: width of the attention gate, 0 without.
    ff: of the dense part, 0 without. shared_ff: of the expert that always answers. experts_size: of the experts'
    matrices; size: of everything else.
    """

    sliding: bool
    queries: int
    keys: int
    values: int
    heads: int
    gate: int
    ff: int
    experts: int
    experts_used: int
    expert_ff: int
    shared_ff: int
    experts_size: int
    size: int


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A whole model. embedding_size, output_size: bytes of the first and the last matrix; a model without an output
    matrix of its own uses the first one twice. window: positions a sliding layer sees. n_ctx: most tokens it can use.
    """

    name: str
    n_embd: int
    n_vocab: int
    n_ctx: int
    head: int
    window: int
    layers: tuple[LayerShape, ...]
    embedding_size: int
    output_size: int
    tied: bool

    def __hash__(self) -> int:
        """Quick, because results are kept by shape: no two models differ in the layers alone."""
        return hash((self.name, self.n_embd, self.n_ctx, self.embedding_size))

    @classmethod
    def of(cls, header: Header) -> "ModelShape":
        """From a checked header."""
        dimensions = HParams(header.architecture, header.metadata)
        tensors = {info.name: info for info in header.tensors}
        window = dimensions.optional("attention.sliding_window", 0)
        sliding = _sliding(dimensions, window, is_laguna=header.architecture == laguna.ARCHITECTURE)
        by_layer = _by_layer(header.tensors, dimensions.n_layer)
        embedding = tensors[_EMBEDDING]
        outside = sum(info.size for info in header.tensors if not info.name.startswith("blk.")) - embedding.size
        tied = _OUTPUT not in tensors
        return cls(
            name=_name(header),
            n_embd=dimensions.n_embd,
            n_vocab=embedding.shape[-1],
            n_ctx=safe_context(header),
            head=dimensions.head_size,
            window=window if any(sliding) else 0,
            layers=tuple(_layer(dimensions, layer, sliding[layer], by_layer[layer]) for layer in range(len(sliding))),
            embedding_size=embedding.size,
            output_size=outside + embedding.size * tied,
            tied=tied,
        )

    @property
    def size(self) -> int:
        """Bytes of all weights, as they lie in the file."""
        return self.embedding_size * (not self.tied) + self.output_size + self.layers_size

    @property
    def layers_size(self) -> int:
        """Bytes of all layers."""
        return sum(layer.size + layer.experts_size for layer in self.layers)

    @property
    def experts_size(self) -> int:
        """Bytes of all experts."""
        return sum(layer.experts_size for layer in self.layers)


def _name(header: Header) -> str:
    name = header.metadata.get("general.name")
    return name if isinstance(name, str) and name else header.path.stem


def _sliding(dimensions: HParams, window: int, *, is_laguna: bool) -> tuple[bool, ...]:
    """Which layers slide. Where the file leaves it to llama.cpp's code, other models count as full."""
    nothing = (False,) * dimensions.n_layer
    if not window or (dimensions.flags("attention.sliding_window_pattern") is None and not is_laguna):
        return nothing
    flags = laguna.sliding_layers(dimensions)
    return (*flags, *nothing[len(flags) :])


def _by_layer(tensors: tuple[TensorInfo, ...], count: int) -> list[dict[str, TensorInfo]]:
    """Each layer's tensors, by the rest of their name."""
    found: list[dict[str, TensorInfo]] = [{} for _ in range(count)]
    for info in tensors:
        block, _, rest = info.name.partition(".")
        number, _, name = rest.partition(".")
        if block == "blk" and number.isdecimal() and int(number) < count:
            found[int(number)][name] = info
    return found


def _layer(dimensions: HParams, layer: int, sliding: bool, tensors: dict[str, TensorInfo]) -> LayerShape:
    def width(*names: str) -> int:
        """Rows of the first of these matrices that there is."""
        return next((tensors[name].shape[1] for name in names if name in tensors and len(tensors[name].shape) > 1), 0)

    heads, kv_heads = dimensions.heads[layer], dimensions.kv_heads[layer]
    experts = {name: info for name, info in tensors.items() if _EXPERTS in name and _ROUTED not in name}
    return LayerShape(
        sliding=sliding,
        queries=heads * dimensions.head_size,
        keys=kv_heads * dimensions.head_size,
        values=kv_heads * dimensions.value_size,
        heads=heads,
        gate=width("attn_gate.weight"),
        ff=width("ffn_gate.weight", "ffn_up.weight"),
        experts=dimensions.experts if experts else 0,
        experts_used=dimensions.experts_used[layer] if experts else 0,
        expert_ff=width("ffn_gate_exps.weight", "ffn_up_exps.weight"),
        shared_ff=width("ffn_gate_shexp.weight", "ffn_up_shexp.weight"),
        experts_size=sum(info.size for info in experts.values()),
        size=sum(info.size for name, info in tensors.items() if name not in experts),
    )
