"""A drafter's graphs, built when they are first needed and kept while there is room: a few shapes serve all lengths.

Every graph has memory of its own. The room is enough for one answer, drawn or not: the largest graph that takes
features in and all of a round's. Another adapter, or attention that looks further back, needs others, and the graph
that was used longest ago makes room for a new one; building it again takes 1 to 3 ms.
"""

from collections import OrderedDict

from laguna_engine.draft.dflash_block import Block, Shape
from laguna_engine.draft.dflash_graph import Memory
from laguna_engine.draft.dflash_inject import LARGEST, SPARE_ROWS, Injection
from laguna_engine.draft.dflash_weights import TAP_NORMS, DrafterWeights
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.rows import HostRows
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.gguf.drafter import DrafterHeader

_F32, _F16 = 4, 2

_INPUTS, _STATES = 32, 4
"""Bytes of positions and slots a row; vectors of the width of `n_embd` that exist at the same time."""

_Key = Shape | tuple[int, str | None]


def injection_size(rows: int, n_embd: int, taps: int, *, tap_norms: bool) -> int:
    """Bytes of a graph that takes in `rows` positions: their features, and what is made of them next."""
    return rows * (_F32 * n_embd * (taps + (taps if tap_norms else 1)) + _INPUTS)


def block_size(rows: int, n_embd: int, vocabulary: int, slots: int) -> int:
    """Bytes of a graph that drafts: logits of `rows`, a few states, and masks over `slots` of all rings."""
    return rows * (_F32 * (vocabulary + _STATES * n_embd) + _F16 * slots)


def graphs_room(
    n_embd: int, taps: int, feature_rows: int, block: int, vocabulary: int, slots: int, *, tap_norms: bool
) -> int:
    """Bytes that all graphs together may take.

    feature_rows: positions whose features are held. slots: of a sliding and of a full layer's ring together. Graphs
    that draft exist for 1, 2, 4 … rows, so together for twice as many as the largest, once more when answers are drawn.
    """
    taken = power_of_two(min(LARGEST, feature_rows)) + SPARE_ROWS
    drafted = 2 * 2 * power_of_two(block)
    return injection_size(taken, n_embd, taps, tap_norms=tap_norms) + block_size(drafted, n_embd, vocabulary, slots)


class Graphs:
    """The graphs over one set of weights and one memory, within `graphs_room`."""

    def __init__(
        self,
        drafter: DrafterHeader,
        weights: DrafterWeights,
        memory: Memory,
        features: Tensor,
        embedding: HostRows,
        backend: Backend,
    ) -> None:
        self._drafter, self._weights, self._memory = drafter, weights, memory
        self._features, self._embedding, self._backend = features, embedding, backend
        self._limit = graphs_room(
            drafter.n_embd,
            len(drafter.taps),
            features.shape[1],
            drafter.block,
            weights.head.shape[1],
            self._slots,
            tap_norms=TAP_NORMS in weights,
        )
        # The one that was used longest ago comes first.
        self._kept: OrderedDict[_Key, Injection | Block] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes of all graphs that are kept."""
        return sum(graph.nbytes for graph in self._kept.values())

    def injection(self, count: int, adapter: str | None) -> Injection:
        """The graph that takes in `count` positions or a few more; usable until another one is asked for."""
        key = (power_of_two(count), adapter)
        found = self._used(key)
        if not isinstance(found, Injection):
            drafter = self._drafter
            tap_norms = TAP_NORMS in self._weights
            self._make_room(injection_size(key[0], drafter.n_embd, len(drafter.taps), tap_norms=tap_norms))
            found = Injection(key[0], drafter, self._weights, self._memory, self._features, adapter, self._backend)
            self._keep(key, found)
        return found

    def block(self, shape: Shape) -> Block:
        """The graph that drafts; usable until another one is asked for."""
        found = self._used(shape)
        if not isinstance(found, Block):
            self._make_room(block_size(shape.rows, self._drafter.n_embd, self._weights.head.shape[1], self._slots))
            found = Block(shape, self._drafter, self._weights, self._memory, self._embedding, self._backend)
            self._keep(shape, found)
        return found

    def close(self) -> None:
        """Free them; harmless when repeated."""
        for graph in self._kept.values():
            graph.close()
        self._kept.clear()

    @property
    def _slots(self) -> int:
        return sum(ring.slots for ring in self._memory.rings.values())

    def _used(self, key: _Key) -> Injection | Block | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def _keep(self, key: _Key, graph: Injection | Block) -> None:
        self._kept[key] = graph
        self._make_room(0)

    def _make_room(self, needed: int) -> None:
        """Free what was used longest ago until `needed` bytes are left; the newest stays when nothing is needed."""
        least = 0 if needed else 1
        while len(self._kept) > least and self.nbytes + needed > self._limit:
            self._kept.popitem(last=False)[1].close()


def power_of_two(count: int) -> int:
    """The next power of two."""
    return 1 << (count - 1).bit_length()
