"""The target: the model, its one KV cache, and the mirror that says what is in it. Engine thread only.

Everything that changes the KV cache goes through here, so that cache and mirror cannot disagree. Where the sliding
window leaves a doubt the prompt is computed from scratch: slow, never wrong.
"""

from collections.abc import Sequence
from dataclasses import replace

from laguna_engine.cache.prefix import PrefixCache, Reuse, can_rewind
from laguna_engine.cache.preview import PrefillRate
from laguna_engine.llama.context import Context, DecodeStatus, Outputs
from laguna_engine.llama.model import Model


class Target:
    """Owns `model` and `context`. `capacity`, `cache` and `rate` may be read from any thread."""

    def __init__(self, model: Model, context: Context, capacity: int) -> None:
        """`capacity` is the number of tokens to use; the context, whose size llama.cpp rounds up, may hold more."""
        self.model = model
        self.context = context
        self.capacity = capacity
        self.cache = PrefixCache(model.n_swa)
        self.rate = PrefillRate()

    @property
    def full(self) -> bool:
        """Whether not one more token fits."""
        return len(self.cache) >= self.capacity

    def rewind(self, tokens: list[int]) -> Reuse:
        """Cut the KV cache back to what the prompt `tokens` can keep, and say how much that is."""
        self.settle()
        reuse = self.cache.plan(tokens)
        if reuse.keep == len(self.cache):
            return reuse
        self._cut(reuse.keep)
        if len(self.cache) == reuse.keep and can_rewind(reuse.keep, self.context.positions()[0], self.model.n_swa):
            return reuse
        self._cut(0)
        return replace(reuse, keep=0, reprefill=True)

    def decode(self, tokens: Sequence[int], outputs: Outputs = Outputs.LAST) -> DecodeStatus:
        """Compute `tokens` behind what is there; unless all went well the mirror follows what the KV cache kept."""
        start = len(self.cache)
        self.cache.extend(tokens)
        status = None
        try:
            status = self.context.decode(tokens, start, outputs)
        finally:
            if status is not DecodeStatus.OK:
                self.settle()
        return status

    def settle(self) -> None:
        """Let the mirror follow the KV cache."""
        self.cache.settle(*self.context.positions())

    def clear(self) -> None:
        """Forget everything, and overwrite it."""
        self.context.clear()
        self.settle()

    def close(self) -> None:
        """Free the context, then the model; harmless when repeated."""
        self.context.close()
        self.model.close()

    def _cut(self, length: int) -> None:
        self.context.remove(length)
        self.settle()
