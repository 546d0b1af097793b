"""A drafter's bytes on the device it drafts on: weights, keys and values, the target's features, its graphs."""

from dataclasses import dataclass

from laguna_engine.draft.dflash_cache import graphs_room
from laguna_engine.draft.dflash_inject import SPARE_ROWS
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
    sliding, full = _slots(shape, context)
    return _F16 * (sliding * shape.sliding_width + full * shape.full_width)


def features_size(shape: DrafterShape, ubatch: int) -> int:
    """Bytes of the hidden states that wait to be taken in."""
    return _F32 * shape.n_embd * shape.taps * (ubatch + SPARE_ROWS)


def graphs_size(shape: DrafterShape, ubatch: int, context: int = DEFAULT_CONTEXT) -> int:
    """Bytes of intermediate results: what all graphs together may take."""
    sliding, full = _slots(shape, context)
    return graphs_room(
        shape.n_embd,
        shape.taps,
        ubatch + SPARE_ROWS,
        shape.block,
        shape.vocabulary,
        (sliding if shape.sliding_width else 0) + (full if shape.full_width else 0),
        tap_norms=shape.tap_norms,
    )


def drafter_size(shape: DrafterShape, ubatch: int, context: int = DEFAULT_CONTEXT) -> int:
    """All of it."""
    parts = (ring_size(shape, context), features_size(shape, ubatch), graphs_size(shape, ubatch, context))
    return shape.weights + sum(parts)


def _slots(shape: DrafterShape, context: int) -> tuple[int, int]:
    """Of a sliding and of a full layer's ring."""
    header = header_slots(shape.block)
    return Ring(min(max(shape.window - 1, 0), context), header).slots, Ring(context, header).slots
