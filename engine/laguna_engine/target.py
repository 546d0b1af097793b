"""The target: the model, its one KV cache, and the mirror that says what is in it. Engine thread only.

Everything that changes the KV cache goes through here, so that cache and mirror cannot disagree. A prompt that goes
back further than the sliding window reaches takes it from a checkpoint; where a doubt is left the prompt is computed
from scratch: slow, never wrong.
"""

from collections.abc import Sequence
from dataclasses import replace

from laguna_engine.cache.checkpoints import Checkpoint, Checkpoints, DrafterState
from laguna_engine.cache.prefix import PrefixCache, Reuse, can_rewind
from laguna_engine.cache.preview import PrefillRate
from laguna_engine.errors import ContextError
from laguna_engine.llama.context import Context, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.readout import LOGITS
from laguna_engine.llama.sampler import SamplerChain


class Target:
    """Owns `model` and `context`. `capacity`, `cache` and `rate` may be read from any thread."""

    def __init__(
        self,
        model: Model,
        context: Context,
        capacity: int,
        *,
        paired: bool = False,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        """`capacity` is the number of tokens to use; the context, whose size llama.cpp rounds up, may hold more.

        paired: never compute one token alone. On the CPU one row takes other kernels than two or more, and rounds
        differently; in pairs an answer is byte for byte the same, however its tokens are batched.
        checkpoints: where to keep those of a sliding window; nowhere if None.
        """
        self.model = model
        self.context = context
        # The partner of the last token needs a place, if only for a moment.
        self.capacity = min(capacity, context.n_ctx - 1) if paired else capacity
        self.cache = PrefixCache(model.n_swa, checkpoints)
        self.rate = PrefillRate()
        self._paired = paired
        self._last_row = -1

    @property
    def room(self) -> int:
        """How many tokens more fit."""
        return self.capacity - len(self.cache)

    @property
    def full(self) -> bool:
        """Whether not one more token fits."""
        return self.room <= 0

    def rows(self, count: int) -> int:
        """How many rows `decode` computes for `count` tokens: one token is paired where none is computed alone."""
        return max(count, 2) if self._paired else count

    def rewind(self, tokens: list[int]) -> Reuse:
        """Cut the KV cache back to what the prompt `tokens` can keep; says how much that is."""
        self.settle()
        return self.rewind_to(self.cache.plan(tokens))

    def rewind_to(self, reuse: Reuse) -> Reuse:
        """Cut the KV cache back as just planned; says what was kept, which is nothing if the plan failed."""
        if reuse.keep == len(self.cache):
            return reuse
        if self._went_back(reuse):
            return reuse
        self.cut(0)
        return replace(reuse, keep=0, reprefill=True, checkpoint=None)

    def save_checkpoint(self, drafter: DrafterState | None) -> None:
        """Make a checkpoint behind what is cached, where `drafter` is remembered; nothing if it would be too large."""
        checkpoints = self.cache.checkpoints
        nbytes = self.context.window_bytes() + (0 if drafter is None else drafter.nbytes)
        if not checkpoints.fits(nbytes):
            return
        gone = checkpoints.make_room(len(self.cache), nbytes)
        window = self.context.save_window(None if gone is None else gone.window)
        if window is not None:
            checkpoints.add(Checkpoint(len(self.cache), window, drafter))

    def decode(self, tokens: Sequence[int], outputs: Outputs = Outputs.LAST) -> DecodeStatus:
        """Compute `tokens` behind what is there; unless all went well the mirror follows what the KV cache kept."""
        start = len(self.cache)
        self.cache.extend(tokens)
        self._last_row = -1
        status = None
        try:
            if self.rows(len(tokens)) > len(tokens):
                status = self._decode_pair(tokens[0], start, outputs)
            else:
                # The last layer and the output matrix are computed for rows with logits only.
                pair = self._paired and outputs is Outputs.LAST
                status = self.context.decode(tokens, start, Outputs.PAIR if pair else outputs)
        finally:
            if status is not DecodeStatus.OK:
                self.settle()
        return status

    def sample(self, chain: SamplerChain) -> int:
        """Let `chain` pick what follows the last token decoded."""
        return self.context.sample(chain, self._last_row)

    def settle(self) -> None:
        """Let the mirror follow the KV cache."""
        self.cache.settle(*self.context.positions())

    def cut(self, length: int) -> None:
        """Forget the tokens from position `length` on."""
        self.context.remove(length)
        self.settle()

    def margin(self, tokens: list[int], expected: int, found: int) -> float:
        """The logit of `found` minus that of `expected` behind `tokens`. Leaves the cache with part of them."""
        self.context.read_out(LOGITS)
        start = self.rewind(tokens).keep
        while start < len(tokens):
            part = tokens[start : start + self.context.n_ubatch]
            if self.decode(part) is not DecodeStatus.OK:
                raise ContextError("the margin could not be computed; the computation was stopped")
            start += len(part)
        logits = self.context.logits(self._last_row)
        return float(logits[found] - logits[expected])

    def clear(self) -> None:
        """Forget everything, and overwrite it."""
        self.context.clear()
        self.settle()

    def _went_back(self, reuse: Reuse) -> bool:
        """Cut the cache as planned, with the window of a checkpoint if need be; whether it answers rightly there."""
        if reuse.checkpoint is not None:
            saved = self.cache.checkpoints.at(reuse.checkpoint)
            if not self.context.load_window(saved.window):
                return False
        self.cut(reuse.keep)
        return len(self.cache) == reuse.keep and can_rewind(reuse.keep, self.context.positions()[0], self.model.n_swa)

    def _decode_pair(self, token: int, start: int, outputs: Outputs) -> DecodeStatus:
        """Compute `token` together with a second one that is thrown away."""
        both = Outputs.NONE if outputs is Outputs.NONE else Outputs.ALL
        status = self.context.decode((token, token), start, both)
        if status is DecodeStatus.OK:
            self.context.remove(start + 1)
            self._last_row = 0
        return status
