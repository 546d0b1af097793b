"""What determines a model's memory: widths and bytes by layer, from its header.

Where the header does not say what is held of a position, as in architectures without a table here, the trial in a child
process has measured it (`llama.trial`). Which layers hold it is unknown then, so each is given the same share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from laguna_engine.gguf import laguna, target_check
from laguna_engine.gguf.header import Header, safe_context
from laguna_engine.gguf.hparams import HParams
from laguna_engine.gguf.tensors import TensorInfo
from laguna_engine.llama import trial

_F16 = 2
_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"
_EXPERTS = "_exps."
_ROUTED = "exp_probs_b"
"""A tensor of the router, which is small and stays with its layer."""


@dataclass(frozen=True, slots=True)
class LayerShape:
    """One layer. Widths in numbers per token, sizes in bytes.

    Attributes:
        sliding: whether it has sliding-window attention.
        queries: width of all query heads.
        keys: width of all key heads.
        values: width of all value heads.
        heads: query heads.
        gate: width of the attention gate, 0 without one.
        ff: width of the dense feed-forward part, 0 without one.
        experts: number of experts, 0 in a dense layer.
        experts_used: experts active per token.
        expert_ff: width of one expert.
        shared_ff: width of the shared expert, 0 without one.
        experts_size: bytes of the experts' matrices.
        size: bytes of everything else.
        state: bytes of the recurrent state.
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
    state: int = 0


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A whole model.

    Attributes:
        name: the model's name.
        n_embd: width of the hidden states.
        n_vocab: tokens of the vocabulary.
        n_ctx: most tokens of context it supports.
        head: width of one attention head.
        window: positions of the sliding window, 0 without sliding-window layers.
        layers: its layers.
        embedding_size: bytes of the embeddings.
        output_size: bytes of the output matrix and the tensors beside it, the embeddings included if tied.
        tied: whether the embeddings are also the output matrix.
        rolls_back: whether llama.cpp can take tokens back out of the recurrent state, if there is one.
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
    rolls_back: bool = False

    def __hash__(self) -> int:
        """Hash fast, because results are cached by shape: no two models differ in the layers alone."""
        return hash((self.name, self.n_embd, self.n_ctx, self.embedding_size))

    @classmethod
    def of(cls, header: Header) -> "ModelShape":
        """Create from a checked header; ModelFileError if llama.cpp cannot open the file."""
        hparams = target_check.hparams_of(header.architecture, header.metadata)
        tensors = {info.name: info for info in header.tensors}
        window = hparams.optional("attention.sliding_window", 0)
        sliding = _sliding(hparams, window, is_laguna=header.architecture == laguna.ARCHITECTURE)
        by_layer = _by_layer(header.tensors, hparams.n_layer)
        layers = tuple(_layer(hparams, layer, sliding[layer], by_layer[layer]) for layer in range(len(sliding)))
        memory = None if target_check.is_known(header.architecture) else trial.check(header.parts).memory
        if memory is not None:
            layers = _measured(layers, by_layer, memory)
            sliding = tuple(layer.sliding for layer in layers)
        embedding = tensors[_EMBEDDING]
        outside = sum(info.size for info in header.tensors if not info.name.startswith("blk.")) - embedding.size
        tied = _OUTPUT not in tensors
        return cls(
            name=_name(header),
            n_embd=hparams.n_embd,
            n_vocab=embedding.shape[-1],
            n_ctx=safe_context(header),
            head=hparams.head_size,
            window=window if any(sliding) else 0,
            layers=layers,
            embedding_size=embedding.size,
            output_size=outside + embedding.size * tied,
            tied=tied,
            rolls_back=memory is not None and memory.rolls_back,
        )

    @property
    def size(self) -> int:
        """Bytes of all weights, as in the file."""
        layers = sum(layer.size + layer.experts_size for layer in self.layers)
        return self.embedding_size * (not self.tied) + self.output_size + layers

    @property
    def state(self) -> int:
        """Bytes of the recurrent state."""
        return sum(layer.state for layer in self.layers)

    @property
    def experts_size(self) -> int:
        """Bytes of all experts."""
        return sum(layer.experts_size for layer in self.layers)


def _name(header: Header) -> str:
    name = header.metadata.get("general.name")
    return name if isinstance(name, str) and name else header.path.stem


def _sliding(hparams: HParams, window: int, *, is_laguna: bool) -> tuple[bool, ...]:
    """Return which layers have sliding-window attention.

    Without a pattern in the file, other architectures count as full.
    """
    nothing = (False,) * hparams.n_layer
    if not window or (hparams.flags("attention.sliding_window_pattern") is None and not is_laguna):
        return nothing
    flags = laguna.sliding_layers(hparams)
    return (*flags, *nothing[len(flags) :])


def _by_layer(tensors: tuple[TensorInfo, ...], count: int) -> list[dict[str, TensorInfo]]:
    """Return each layer's tensors, by name without the layer prefix."""
    found: list[dict[str, TensorInfo]] = [{} for _ in range(count)]
    for info in tensors:
        block, _, rest = info.name.partition(".")
        number, _, name = rest.partition(".")
        if block == "blk" and number.isdecimal() and int(number) < count:
            found[int(number)][name] = info
    return found


def _layer(hparams: HParams, layer: int, sliding: bool, tensors: dict[str, TensorInfo]) -> LayerShape:
    def width(*names: str) -> int:
        """Return the rows of the first of these matrices that exists."""
        return next((tensors[name].shape[1] for name in names if name in tensors and len(tensors[name].shape) > 1), 0)

    heads, kv_heads = hparams.heads[layer], hparams.kv_heads[layer]
    experts = {name: info for name, info in tensors.items() if _EXPERTS in name and _ROUTED not in name}
    return LayerShape(
        sliding=sliding,
        queries=heads * hparams.head_size,
        keys=kv_heads * hparams.head_size,
        values=kv_heads * hparams.value_size,
        heads=heads,
        gate=width("attn_gate.weight"),
        ff=width("ffn_gate.weight", "ffn_up.weight"),
        experts=hparams.experts if experts else 0,
        experts_used=hparams.experts_used[layer] if experts else 0,
        expert_ff=width("ffn_gate_exps.weight", "ffn_up_exps.weight"),
        shared_ff=width("ffn_gate_shexp.weight", "ffn_up_shexp.weight"),
        experts_size=sum(info.size for info in experts.values()),
        size=sum(info.size for name, info in tensors.items() if name not in experts),
    )


def _measured(
    layers: Sequence[LayerShape], tensors: Sequence[dict[str, TensorInfo]], memory: trial.Memory
) -> tuple[LayerShape, ...]:
    """Return the layers with equal shares of what was measured; every other one slides if any does."""
    count = len(layers)
    slides = [memory.sliding > 0 and (memory.token == 0 or layer % 2 == 0) for layer in range(count)]
    whole, sliding = max(1, count - sum(slides)), max(1, sum(slides))
    found: list[LayerShape] = []
    for layer, slide, parts in zip(layers, slides, tensors, strict=True):
        nbytes = -(-memory.sliding // sliding) if slide else -(-memory.token // whole)
        widest = max((info.shape[1] for info in parts.values() if len(info.shape) == 2), default=0)
        state = -(-memory.state // count)
        wide = max(layer.queries, widest)
        found.append(replace(layer, sliding=slide, keys=-(-nbytes // _F16), values=0, queries=wide, state=state))
    return tuple(found)
