"""What is already in the KV cache, and how much of it a new prompt can keep.

This file deals only in token ids and positions; it never touches native code. The engine thread tells it what was
decoded and where the sliding-window cells begin; any thread may ask for a plan. Checkpoints of those cells let a prompt
go back further than they reach.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from laguna_engine.cache.checkpoints import Checkpoints

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
