"""The one sequence of an engine: its tokens, what of them is in the KV cache, and what a new prompt would cost.

Everything that changes the KV cache goes through `TokenSequence`, on the engine thread, so that the cache and its
record cannot disagree. A prompt that goes back further than the sliding window reaches takes it from a checkpoint; if
that fails, the prompt is computed from scratch: slow, never wrong. Previews read snapshots, from any thread.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from laguna_engine.checkpoints import Checkpoint, Checkpoints, DrafterSnapshot
from laguna_engine.errors import ContextError
from laguna_engine.llama.context import Context, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import LOGITS, SamplerChain

_SLICE = 1024
"""Tokens compared at once: list slices compare in C, so only the slice with the first difference is walked."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """How a prompt meets the cache.

    `keep` tokens stay and the rest is computed; it is always less than the prompt, because the logits after the last
    token are needed. `first_changed` is the first index where prompt and cache differ, None when one only extends the
    other. `checkpoint` is the length of the one whose sliding-window cells have to be put back first, None when the
    cache's own will do. `reprefill` says that a shared prefix is lost: the cells it needs are gone, and no checkpoint
    has them.
    """

    keep: int
    first_changed: int | None
    reprefill: bool
    checkpoint: int | None = None

    @property
    def boundary(self) -> int:
        """Where the prompt departs from what is cached."""
        return self.keep if self.first_changed is None else self.first_changed


def common_prefix(left: list[int], right: list[int]) -> int:
    """The number of leading tokens that `left` and `right` share."""
    shorter = min(len(left), len(right))
    for start in range(0, shorter, _SLICE):
        here, there = left[start : start + _SLICE], right[start : start + _SLICE]
        if here != there:
            pairs = enumerate(zip(here, there, strict=False), start)
            return next((index for index, (a, b) in pairs if a != b), shorter)
    return shorter


def can_rewind(length: int, pos_min: int, window: int) -> bool:
    """Whether a cache whose oldest sliding-window cell is at `pos_min` still answers rightly after `length` tokens.

    The token at position `length` attends to the `window` positions that end with its own, so the cells from
    `length - window + 1` on must be there (llama.cpp keeps them contiguous: `llama_kv_cache::apply_ubatch` purges
    everything older than what it overwrites). A window of 0 means that every layer attends to everything.
    """
    if length == 0:
        return True
    return 0 <= pos_min < length and pos_min <= max(0, length - window + 1)


class PrefixCache:
    """A mirror of the one sequence in the KV cache, and its checkpoints. Engine thread; anybody may read."""

    def __init__(self, window: int, checkpoints: Checkpoints | None = None) -> None:
        """`window` is the model's sliding window in tokens (`Model.n_swa`), 0 if it has none."""
        self.checkpoints = checkpoints or Checkpoints(0, 0)
        self._window = window
        self._tokens: list[int] = []
        self._pos_min = -1
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """`tokens` were decoded behind what was there."""
        # Once a token, and atomic by itself; the lock only keeps tokens and `_pos_min` together.
        self._tokens.extend(tokens)

    def settle(self, pos_min: int, pos_max: int) -> None:
        """Take over what the KV cache itself says it holds: the positions `pos_min` to `pos_max`, or -1 and -1."""
        with self._lock:
            del self._tokens[pos_max + 1 :]
            self._pos_min = pos_min
            # Asked after every round, and hardly ever so.
            if self.checkpoints.lengths and self.checkpoints.lengths[-1] > len(self._tokens):
                self.checkpoints.cut(len(self._tokens))

    def begins_with(self, tokens: list[int]) -> bool:
        """Whether all of `tokens` is held, at the start."""
        with self._lock:
            return self._tokens[: len(tokens)] == tokens

    def plan(self, tokens: list[int], at_most: int | None = None) -> Reuse:
        """What the cache is worth to the prompt `tokens`, when no more than `at_most` of it is to be kept."""
        with self._lock:
            held, pos_min, checkpoints = self._tokens.copy(), self._pos_min, self.checkpoints.lengths
        shared = common_prefix(held, tokens)
        first_changed = shared if shared < min(len(held), len(tokens)) else None
        wanted = min(shared, len(tokens) - 1, len(tokens) if at_most is None else at_most)
        # Nothing is taken away when the cache ends right there, so whatever it holds is enough.
        if wanted == len(held) or can_rewind(wanted, pos_min, self._window):
            return Reuse(wanted, first_changed, reprefill=False)
        # One at `length` also serves a token less, which is all that is wanted when a prompt comes again as it was.
        checkpoint = max((length for length in checkpoints if length <= wanted + 1), default=None)
        if checkpoint is None:
            return Reuse(0, first_changed, reprefill=True)
        return Reuse(min(checkpoint, wanted), first_changed, reprefill=False, checkpoint=checkpoint)


_MEMORY_TOKENS = 8192
"""A measurement counts half after this many newer tokens: one long file, so that the rate follows the depth."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The cost of a prompt: `cached` tokens are kept, `new` ones are computed, in about `seconds`.

    first_changed: where the prompt departs from what is cached, None if it only extends it. reprefill: a shared prefix
    has to be computed again, because the sliding-window part of it is gone and no checkpoint has it; where one does,
    what lies between it and the change counts as new. seconds: None before anything was measured.
    fits: whether the prompt and one more token fit in the context.
    """

    cached: int
    new: int
    first_changed: int | None
    reprefill: bool
    seconds: float | None
    fits: bool


class PrefillRate:
    """Seconds a prompt token takes here, weighted by tokens, so that a prompt of three hardly counts. Thread-safe."""

    def __init__(self) -> None:
        self._tokens = 0.0
        self._seconds = 0.0
        self._lock = threading.Lock()

    def record(self, tokens: int, seconds: float) -> None:
        """`tokens` of a prompt took `seconds`."""
        fade = 0.5 ** (tokens / _MEMORY_TOKENS)
        with self._lock:
            self._tokens = self._tokens * fade + tokens
            self._seconds = self._seconds * fade + seconds

    def seconds_for(self, tokens: int) -> float | None:
        """What `tokens` will probably take, or None before anything was measured."""
        with self._lock:
            return tokens * self._seconds / self._tokens if self._tokens else None


def preview(cache: PrefixCache, rate: PrefillRate, tokens: list[int], capacity: int) -> Preview:
    """The cost of `tokens` in a context of `capacity`. Reads snapshots only, so any thread may ask at any time."""
    reuse = cache.plan(tokens)
    new = len(tokens) - reuse.keep
    return Preview(
        cached=reuse.keep,
        new=new,
        first_changed=reuse.first_changed,
        reprefill=reuse.reprefill,
        seconds=rate.seconds_for(new),
        fits=len(tokens) < capacity,
    )


class TokenSequence:
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

    def timed_checkpoint(self, snapshot: Callable[[], DrafterSnapshot | None]) -> float:
        """Make a checkpoint behind what is cached, with the drafter's `snapshot`; the seconds that took."""
        # What the device is still computing is not the copy's cost.
        self.context.synchronize()
        began = time.perf_counter()
        # Only a request to come would be quicker for it, so this one shall not fail over it.
        with suppress(MemoryError):
            self.save_checkpoint(snapshot())
        return time.perf_counter() - began

    def save_checkpoint(self, drafter: DrafterSnapshot | None) -> None:
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
