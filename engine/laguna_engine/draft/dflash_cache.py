"""A drafter's graphs, built when they are first needed and kept: a few shapes serve all lengths."""

from laguna_engine.draft.dflash_block import Block, Shape
from laguna_engine.draft.dflash_graph import Memory
from laguna_engine.draft.dflash_inject import Injection
from laguna_engine.draft.dflash_weights import DrafterWeights
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.rows import HostRows
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.gguf.drafter import DrafterHeader


class Graphs:
    """All graphs over one set of weights and one memory; building one takes 1 to 3 ms."""

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
        self._injections: dict[tuple[int, str | None], Injection] = {}
        self._blocks: dict[Shape, Block] = {}

    def injection(self, count: int, adapter: str | None) -> Injection:
        """The graph that takes in `count` positions or a few more."""
        key = (power_of_two(count), adapter)
        found = self._injections.get(key)
        if found is None:
            found = self._injections[key] = Injection(
                key[0], self._drafter, self._weights, self._memory, self._features, adapter, self._backend
            )
        return found

    def block(self, shape: Shape) -> Block:
        """The graph that drafts."""
        found = self._blocks.get(shape)
        if found is None:
            found = self._blocks[shape] = Block(
                shape, self._drafter, self._weights, self._memory, self._embedding, self._backend
            )
        return found

    def close(self) -> None:
        """Free them; harmless when repeated."""
        for injection in self._injections.values():
            injection.close()
        for block in self._blocks.values():
            block.close()


def power_of_two(count: int) -> int:
    """The next power of two."""
    return 1 << (count - 1).bit_length()
