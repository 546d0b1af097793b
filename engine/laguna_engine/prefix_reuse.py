"""How a prompt meets the KV cache: which of its tokens stay, and where the cache has to be cut.

Deals in token ids and lengths; `TokenSequence` carries the plan out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from laguna_engine.checkpoints import DrafterSnapshot

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


def plan_reuse(
    held: list[int],
    prompt: list[int],
    *,
    pos_min: int = 0,
    window: int = 0,
    checkpoints: Sequence[int] = (),
    at_most: int | None = None,
) -> Reuse:
    """Plan how much of a KV cache of the tokens `held` a `prompt` can reuse, at most `at_most` tokens.

    `pos_min` and `window` are as for `can_rewind`, `checkpoints` the lengths of the checkpoints.
    """
    shared = common_prefix(held, prompt)
    first_changed = shared if shared < min(len(held), len(prompt)) else None
    wanted = min(shared, len(prompt) - 1, len(prompt) if at_most is None else at_most)
    # Nothing is truncated if the cache ends right there, so whatever it holds is enough.
    if wanted == len(held) or can_rewind(wanted, pos_min, window):
        keep, checkpoint = wanted, None
    else:
        # One at `length` also serves `length - 1`, which is all that a repeated prompt needs.
        checkpoint = max((length for length in checkpoints if length <= wanted + 1), default=None)
        keep = 0 if checkpoint is None else min(checkpoint, wanted)
    lost = keep < wanted and checkpoint is None
    return Reuse(keep, first_changed, lost, checkpoint, boundary=keep if first_changed is None else first_changed)
