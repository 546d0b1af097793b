"""A drafter's bytes on the device it drafts on: weights, keys and values, the target's features, its graphs."""

from dataclasses import dataclass

from laguna_engine.draft.dflash_inject import LARGEST, SPARE_ROWS
from laguna_engine.draft.dflash_ring import Ring, header_slots
from laguna_engine.gguf.drafter import DrafterHeader
from laguna_engine.options import DEFAULT_CONTEXT

_F16, _F32 = 2, 4
_HOST_ONLY = "d2t"
_EMBEDDING, _TAP_NORM = "token_embd.weight", "enc.aux_norm"


@dataclass(frozen=True, slots=True)
class DrafterShape:
    """weights: bytes on the device. widths: of keys and values together, a layer of each kind: sliding, full.

    tap_norms: whether each tap is normed by itself. window: positions that sliding layers look back. vocabulary: tokens
    it chooses among.
    """

    n_embd: int
    taps: int
    tap_norms: bool
    block: int
    window: int
    sliding_width: int
    full_width: int
    vocabulary: int
    weights: int

    @classmethod
    def of(cls, drafter: DrafterHeader, vocabulary: int) -> "DrafterShape":
        """From a checked header. vocabulary: the target's tokens."""
        tensors = drafter.tensors
        host = {_HOST_ONLY} | ({_EMBEDDING} - {drafter.own_head or ""})
        layers = list(zip(drafter.kv_heads, drafter.sliding, strict=True))
        head = tensors.get(drafter.own_head or "")
        mapped = _F32 * tensors[_HOST_ONLY].shape[0] if _HOST_ONLY in tensors else 0
        return cls(
            n_embd=drafter.n_embd,
            taps=len(drafter.taps),
            tap_norms=any(name.startswith(_TAP_NORM) for name in tensors),
            block=drafter.block,
            window=drafter.window,
            sliding_width=sum(2 * heads * drafter.head_size for heads, sliding in layers if sliding),
            full_width=sum(2 * heads * drafter.head_size for heads, sliding in layers if not sliding),
            vocabulary=head.shape[1] if head is not None else vocabulary,
            weights=sum(info.size for name, info in tensors.items() if name not in host) + mapped,
        )


def ring_size(shape: DrafterShape, context: int) -> int:
    """Bytes of keys and values; context: positions that its full layers look back."""
    header = header_slots(shape.block)
    sliding = Ring(min(max(shape.window - 1, 0), context), header).slots * shape.sliding_width
    full = Ring(context, header).slots * shape.full_width if shape.full_width else 0
    return _F16 * (sliding + full)


def features_size(shape: DrafterShape, ubatch: int) -> int:
    """Bytes of the hidden states that wait to be taken in."""
    return _F32 * shape.n_embd * shape.taps * (ubatch + SPARE_ROWS)


def graphs_size(shape: DrafterShape, ubatch: int) -> int:
    """Bytes of intermediate results once every usual graph has been built, each with memory of its own.

    Graphs that take features in exist for 1, 2, 4 … rows, so together for about twice the largest; so do those that
    draft, and once more when answers are sampled.
    """
    taken = min(LARGEST, ubatch) + SPARE_ROWS
    beside = shape.n_embd * shape.taps if shape.tap_norms else shape.n_embd
    drafted = 2 * 2 * shape.block * shape.vocabulary
    return _F32 * (taken * (shape.n_embd * shape.taps + beside) + drafted)


def drafter_size(shape: DrafterShape, ubatch: int, context: int = DEFAULT_CONTEXT) -> int:
    """All of it."""
    parts = (ring_size(shape, context), features_size(shape, ubatch), graphs_size(shape, ubatch))
    return shape.weights + sum(parts)
