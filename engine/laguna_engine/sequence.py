"""The one sequence of an engine: its committed tokens, what of them is in the KV cache, and what a prompt would cost.

`TokenSequence` is the only owner of the committed tokens and of the position up to which they are computed. Everything
that changes either goes through it, on the engine thread, and is reported to its observers. A prompt that goes back
further than the sliding window or a recurrent state reaches takes it from a checkpoint; if that fails, the prompt is
computed from scratch: slow, never wrong. Previews read snapshots, from any thread.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from laguna_engine.checkpoints import Checkpoint, Checkpoints, DrafterSnapshot
from laguna_engine.errors import ContextError
from laguna_engine.llama.context import Context, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import LOGITS, SamplerChain

_RECURRENT_WINDOW = 1
"""In place of a sliding window's positions: the next token needs what the state was after the one before it."""

_TAIL = 16
"""Tokens at a prompt's end among which the last turn's marker is looked for."""

_SLICE = 1024
"""Tokens compared at once: list slices compare in C, so only the slice with the first difference is walked."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """How a prompt meets the cache.

    Attributes:
        keep: tokens that stay; the rest is computed. Always less than the prompt, because the logits after the last
            token are needed.
        first_changed: the first index where prompt and cache differ, None when one only extends the other.
        reprefill: whether a shared prefix is lost: the cells it needs are gone, and no checkpoint has them.
        checkpoint: the length of the one whose sliding-window cells have to be put back first, None when the cache's
            own will do.
        boundary: where the prompt departs from what is cached.
        drafter: what the drafter knew at the last checkpoint up to `keep`, once the sequence was rewound.
    """

    keep: int
    first_changed: int | None
    reprefill: bool
    checkpoint: int | None = None
    boundary: int = field(default=0, compare=False)
    drafter: DrafterSnapshot | None = field(default=None, compare=False, repr=False)


def common_prefix(left: list[int], right: list[int]) -> int:
    """Return the number of leading tokens that `left` and `right` share."""
    shorter = min(len(left), len(right))
    for start in range(0, shorter, _SLICE):
        here, there = left[start : start + _SLICE], right[start : start + _SLICE]
        if here != there:
            pairs = enumerate(zip(here, there, strict=False), start)
            return next((index for index, (a, b) in pairs if a != b), shorter)
    return shorter


def can_rewind(length: int, pos_min: int, window: int) -> bool:
    """Return whether a cache with its oldest sliding-window cell at `pos_min` is still right after `length` tokens.

    The token at position `length` attends to the `window` positions that end with its own, so the cells from
    `length - window + 1` on must be there (llama.cpp keeps them contiguous: `llama_kv_cache::apply_ubatch` purges
    everything older than what it overwrites). A window of 0 means that every layer attends to everything.
    """
    if length == 0:
        return True
    return 0 <= pos_min < length and pos_min <= max(0, length - window + 1)


def plan_reuse(
    held: list[int],
    prompt: list[int],
    *,
    pos_min: int = 0,
    window: int = 0,
    checkpoints: Sequence[int] = (),
    recurrent: bool = False,
    at_most: int | None = None,
) -> Reuse:
    """Plan how much of a KV cache of the tokens `held` a `prompt` can reuse, at most `at_most` tokens.

    `pos_min` and `window` are as for `can_rewind`, `checkpoints` the lengths of the checkpoints. Those of a `recurrent`
    state serve their own length alone.
    """
    shared = common_prefix(held, prompt)
    first_changed = shared if shared < min(len(held), len(prompt)) else None
    wanted = min(shared, len(prompt) - 1, len(prompt) if at_most is None else at_most)
    # Nothing is truncated if the cache ends right there, so whatever it holds is enough.
    if wanted == len(held) or can_rewind(wanted, pos_min, window):
        keep, checkpoint = wanted, None
    else:
        # A window at `length` also serves `length - 1`, which is all that a repeated prompt needs.
        longest = wanted if recurrent else wanted + 1
        checkpoint = max((length for length in checkpoints if length <= longest), default=None)
        keep = 0 if checkpoint is None else min(checkpoint, wanted)
    lost = keep < wanted and checkpoint is None
    return Reuse(keep, first_changed, lost, checkpoint, boundary=keep if first_changed is None else first_changed)


_MEMORY_TOKENS = 8192
"""Half-life of a measurement, in newer tokens: one long file, so that the rate follows the depth."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The estimated cost of a prompt.

    Attributes:
        cached: tokens that are reused.
        new: tokens to prefill; those between a checkpoint that is restored and the change count as new.
        first_changed: position where the prompt diverges from the cache, None if it only extends it.
        reprefill: whether a shared prefix must be prefilled again, for lack of its sliding window and of a checkpoint.
        seconds: estimated prefill time, None before anything was measured.
        fits: whether the prompt and one more token fit into the context.
    """

    cached: int
    new: int
    first_changed: int | None
    reprefill: bool
    seconds: float | None
    fits: bool


class PrefillRate:
    """Measured prefill time per token, weighted by tokens, so that a prompt of three hardly counts. Thread-safe."""

    def __init__(self) -> None:
        self._tokens = 0.0
        self._seconds = 0.0
        self._lock = threading.Lock()

    def record(self, tokens: int, seconds: float) -> None:
        """Record that the prefill of `tokens` took `seconds`."""
        fade = 0.5 ** (tokens / _MEMORY_TOKENS)
        with self._lock:
            self._tokens = self._tokens * fade + tokens
            self._seconds = self._seconds * fade + seconds

    def seconds_for(self, tokens: int) -> float | None:
        """Return the estimated prefill time of `tokens` in seconds, or None before anything was measured."""
        with self._lock:
            return tokens * self._seconds / self._tokens if self._tokens else None


def prefill_preview(reuse: Reuse, rate: PrefillRate, length: int, capacity: int) -> Preview:
    """Return the cost of a prompt of `length` tokens with the given `reuse`, in a context of `capacity` tokens."""
    new = length - reuse.keep
    return Preview(
        cached=reuse.keep,
        new=new,
        first_changed=reuse.first_changed,
        reprefill=reuse.reprefill,
        seconds=rate.seconds_for(new),
        fits=length < capacity,
    )


class SequenceObserver:
    """Follows a `TokenSequence`, on the engine thread. Must not raise. A subclass overrides what concerns it."""

    def committed(self, tokens: Sequence[int]) -> None:
        """Follow the commit of `tokens`; most of them are decoded later."""

    def truncated(self, length: int) -> None:
        """Follow a cut: positions from `length` on left the KV cache, and tokens from there on are not committed.

        After a rejected draft `length` is more than what is committed: the accepted part of the draft comes next.
        """

    def writing(self, rows: int) -> None:
        """Prepare for the hidden states of the next `rows` positions."""

    def written(self, start: int, count: int, rows: int) -> None:
        """Follow a computation of `count` positions from `start` on, which wrote the hidden states of `rows`.

        Rows beyond `count` are invalid: the second half of a pair, or a stopped decode.
        """


class TokenSequence:
    """The committed tokens and the part of them that is in the KV cache of `context`.

    Engine thread only, except `capacity`, `rate`, `position`, `plan` and `preview`.

    Attributes:
        position: positions in the KV cache. All committed tokens but the newest are computed in the end; while a draft
            is verified, `position` is beyond them.
        capacity: tokens that fit.
        checkpoints: of the sliding window or the recurrent state.
        window: positions that the next token needs of what cannot be cut as a cache can, 0 if it needs none.
        rate: how long prompts take.
        observers: who follows, in the order of the reports; `attach` adds one.
    """

    def __init__(
        self,
        model: Model,
        context: Context,
        capacity: int,
        *,
        paired: bool = False,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        """Start with nothing; `context` must be empty.

        capacity: tokens to use; the context, whose size llama.cpp rounds up, may hold more.
        paired: never compute one token alone. On the CPU one row takes other kernels than two or more, and rounds
        differently; in pairs an answer is byte for byte the same, however its tokens are batched.
        checkpoints: where to keep those of a sliding window or recurrent state; nowhere if None.
        """
        self.model = model
        self.context = context
        # The partner of the last token needs a place, if only for a moment.
        self.capacity = min(capacity, context.n_ctx - 1) if paired else capacity
        self.checkpoints = checkpoints or Checkpoints(0, 0)
        self.window = _RECURRENT_WINDOW if context.recurrent else model.n_swa
        self.rate = PrefillRate()
        self.observers: list[SequenceObserver] = []
        self.position = 0
        self._tokens: list[int] = []
        self._pos_min = -1
        self._paired = paired
        self._last_row = -1
        self._lock = threading.Lock()

    @property
    def tokens(self) -> Sequence[int]:
        """The committed tokens; always the same list object, which changes."""
        return self._tokens

    @property
    def room(self) -> int:
        """Number of tokens that still fit."""
        return self.capacity - self.position

    def attach(self, observer: SequenceObserver) -> None:
        """Add `observer`; the tokens already committed are reported to it first."""
        self.observers.append(observer)
        if self._tokens:
            observer.committed(self._tokens)

    def plan(self, prompt: list[int], at_most: int | None = None) -> Reuse:
        """Plan the reuse of the cache for `prompt`, keeping at most `at_most` tokens. Thread-safe."""
        with self._lock:
            held, pos_min, checkpoints = self._tokens[: self.position], self._pos_min, self.checkpoints.lengths
        return plan_reuse(
            held,
            prompt,
            pos_min=pos_min,
            window=self.window,
            checkpoints=checkpoints,
            recurrent=self.context.recurrent,
            at_most=at_most,
        )

    def last_checkpoint(self, prompt: Sequence[int]) -> int:
        """Return the position of `prompt` where its last checkpoint serves most of what may come next.

        A window's serves the same prompt again. A recurrent state serves its own position alone, and what follows a
        turn's opening may change: the answer loses its reasoning, or is written anew. So it is the last turn's opening.
        """
        if not self.context.recurrent:
            return len(prompt)
        start = max(0, len(prompt) - _TAIL)
        control = self.model.vocab.is_control
        marked = (place for place in range(start, len(prompt)) if control(prompt[place]))
        return next(marked, len(prompt) - 1)

    def preview(self, prompt: list[int]) -> Preview:
        """Estimate the cost of `prompt`. Thread-safe."""
        return prefill_preview(self.plan(prompt), self.rate, len(prompt), self.capacity)

    def holds(self, prompt: list[int]) -> bool:
        return len(prompt) <= self.position and self._tokens[: len(prompt)] == prompt

    def rewind(self, prompt: list[int], at_most: int | None = None) -> Reuse:
        """Make `prompt` the committed tokens, and truncate the KV cache to what can be reused, up to `at_most` tokens.

        Returns what was reused, which is nothing if the plan failed.
        """
        self.settle()
        reuse = self.plan(prompt, at_most)
        length = reuse.checkpoint or self.checkpoints.before(reuse.keep)
        drafter = self.checkpoints.at(length).drafter if length in self.checkpoints.lengths else None
        if self._went_back(reuse):
            reuse = replace(reuse, drafter=drafter)
        else:
            self.context.remove(0)
            reuse = replace(reuse, keep=0, reprefill=True, checkpoint=None)
        self._forget(reuse.keep)
        self._append(prompt[reuse.keep :])
        return reuse

    def take_back(self, before: list[int], cached: int) -> None:
        """Make the tokens `before`, whose first `cached` are in the KV cache, the committed ones again.

        Nothing is cut off that cannot be: then the next `rewind` loses no more than this would.
        """
        if self.plan(before).keep == cached:
            self.rewind(before, cached)

    def commit(self, tokens: Sequence[int]) -> None:
        """Append `tokens`: all but the last were verified just now, or there is only one.

        The rest of what was drafted is cut out of the KV cache.
        """
        computed = len(self._tokens) - 1 + len(tokens)
        if computed < self.position:
            self.context.remove(computed)
            self._forget(computed)
        self._append(tokens)

    def decode(self, count: int, outputs: Outputs = Outputs.LAST) -> DecodeStatus:
        """Decode the next `count` committed tokens."""
        return self._compute(self._tokens[self.position : self.position + count], outputs)

    def verify(self, draft: Sequence[int]) -> DecodeStatus:
        """Decode the newest token and `draft` after it, all with logits; `commit` then adds the accepted part."""
        return self._compute([*self._tokens[self.position :], *draft], Outputs.ALL)

    def sample(self, chain: SamplerChain) -> int:
        """Sample the token after the last one decoded."""
        return self.context.sample(chain, self._last_row)

    def settle(self) -> None:
        """Read the positions in the KV cache from llama.cpp."""
        pos_min, pos_max = self.context.positions()
        with self._lock:
            self._pos_min, self.position = pos_min, pos_max + 1
            # Checked after every round, and hardly ever true.
            if self.checkpoints.lengths and self.checkpoints.lengths[-1] > self.position:
                self.checkpoints.cut(self.position)

    def clear(self, *, wipe: bool = True) -> None:
        """Remove all tokens, and overwrite the cache unless `wipe` is False."""
        self.context.clear(wipe=wipe)
        self._forget(0)

    def restored(self, tokens: Sequence[int]) -> bool:
        """Adopt `tokens` after the KV cache was filled from outside; return whether it is valid for them.

        If so, they are the committed ones, all of them computed; if not, clear the cache.
        """
        pos_min, pos_max = self.context.positions()
        if pos_max + 1 != len(tokens) or not can_rewind(len(tokens), pos_min, self.window):
            return False
        self._append(tokens)
        self.settle()
        return True

    def timed_checkpoint(self, snapshot: Callable[[], DrafterSnapshot | None]) -> float:
        """Create a checkpoint at `position` with the drafter's `snapshot`; returns the seconds that took."""
        # Pending work of the device is not part of the copy's cost.
        self.context.synchronize()
        began = time.perf_counter()
        # A checkpoint only speeds up a later request, so its failure must not end this one.
        with suppress(MemoryError):
            self.save_checkpoint(snapshot())
        return time.perf_counter() - began

    def save_checkpoint(self, drafter: DrafterSnapshot | None) -> None:
        """Create a checkpoint at `position` with the snapshot `drafter`, unless it would be too large."""
        nbytes = self.context.window_bytes() + (0 if drafter is None else drafter.nbytes)
        if not self.checkpoints.fits(nbytes):
            return
        unused = self.checkpoints.make_room(self.position, nbytes)
        window = self.context.save_window(None if unused is None else unused.window)
        if window is not None:
            self.checkpoints.add(Checkpoint(self.position, window, drafter))

    def margin(self, tokens: list[int], expected: int, found: int) -> float:
        """Return the logit of `found` minus that of `expected` after `tokens`. Leaves part of them in the cache."""
        self.context.read_out(LOGITS)
        self.rewind(tokens)
        while self.position < len(tokens):
            if self.decode(self.context.n_ubatch) is not DecodeStatus.OK:
                raise ContextError("the margin could not be computed; the computation was stopped")
        logits = self.context.logits(self._last_row)
        return float(logits[found] - logits[expected])

    def _went_back(self, reuse: Reuse) -> bool:
        """Cut the KV cache as planned, with the window of a checkpoint if need be; whether it answers rightly there."""
        if reuse.keep == self.position:
            return True
        if reuse.checkpoint is not None:
            saved = self.checkpoints.at(reuse.checkpoint)
            if not self.context.load_window(saved.window):
                return False
        try:
            self.context.remove(reuse.keep)
        except ContextError:
            return False
        pos_min, pos_max = self.context.positions()
        return pos_max + 1 == reuse.keep and can_rewind(reuse.keep, pos_min, self.window)

    def _forget(self, length: int) -> None:
        """Drop the tokens from `length` on, which were cut out of the KV cache."""
        with self._lock:
            del self._tokens[length:]
        self.settle()
        for observer in self.observers:
            observer.truncated(length)

    def _append(self, tokens: Sequence[int]) -> None:
        # Once a token, and atomic by itself; the lock only keeps what is read together from changing in between.
        self._tokens.extend(tokens)
        for observer in self.observers:
            observer.committed(tokens)

    def _compute(self, tokens: Sequence[int], outputs: Outputs) -> DecodeStatus:
        """Compute `tokens` after what is in the KV cache; on a failure `position` is what is still cached."""
        start, count = self.position, len(tokens)
        rows = max(count, 2) if self._paired else count
        for observer in self.observers:
            observer.writing(rows)
        self._last_row = -1
        status = None
        try:
            if rows > count:
                status = self._decode_pair(tokens[0], start, outputs)
            else:
                # The last layer and the output matrix are computed for rows with logits only.
                pair = self._paired and outputs is Outputs.LAST
                status = self.context.decode(tokens, start, Outputs.PAIR if pair else outputs)
        finally:
            if status is DecodeStatus.OK:
                self.position = start + count
            elif self.context.lost:
                self._recover(start)
            else:
                # A draft that was not verified is not committed.
                self.context.remove(len(self._tokens))
                self.settle()
            for observer in self.observers:
                observer.written(start, max(0, self.position - start), rows)
        return status

    def _recover(self, length: int) -> None:
        """Go back to the newest checkpoint up to `length`, or to nothing, after a recurrent state was lost."""
        kept = self.checkpoints.before(length)
        if not kept or not self.context.load_window(self.checkpoints.at(kept).window):
            kept = 0
        self.context.remove(kept)
        self._forget(kept)

    def _decode_pair(self, token: int, start: int, outputs: Outputs) -> DecodeStatus:
        """Compute `token` together with a second one that is dropped."""
        both = Outputs.NONE if outputs is Outputs.NONE else Outputs.ALL
        status = self.context.decode((token, token), start, both)
        if status is DecodeStatus.OK:
            self.context.remove(start + 1)
            self._last_row = 0
        return status
