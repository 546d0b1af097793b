"""Notices a model that writes the same words again and again.

Laguna is known for loops shorter than its sliding window (512 tokens) that it never leaves by itself.
"""

from collections.abc import Sequence
from typing import NamedTuple

# The longest loop that is looked for, in tokens: Laguna's sliding window.
LOOP_TOKENS = 512
# A loop must have gone round this often, and for this many tokens; lists and tables repeat less exactly.
LOOP_ROUNDS = 3
LOOP_MIN_TOKENS = 160
# Looking costs a fraction of a millisecond, so not at every token.
_LOOK_EVERY = 32
# A ban on fewer tokens than these would forbid what is no loop: a ruler of dashes, a table's empty columns.
MIN_STRETCH = 16
# Equal tokens at the end that make a length worth comparing in full.
_GLIMPSE = 16


class Loop(NamedTuple):
    """A stretch of tokens that repeats at the end of a list.

    Attributes:
        stretch: one round of it; several, where a round is shorter than `MIN_STRETCH`.
        ends: length of the list up to the end of the first such stretch.
    """

    stretch: tuple[int, ...]
    ends: int


def find_loop(tokens: Sequence[int]) -> Loop | None:
    """The loop at the end of a growing list of tokens, None if there is none; looks only now and then."""
    if len(tokens) < LOOP_MIN_TOKENS or len(tokens) % _LOOK_EVERY:
        return None
    tail = list(tokens[-LOOP_TOKENS * LOOP_ROUNDS :])
    longest = min(LOOP_TOKENS, len(tail) // LOOP_ROUNDS)
    length = next((length for length in range(1, longest + 1) if _repeats(tail, length)), 0)
    return _loop(tokens, length) if length else None


def _loop(tokens: Sequence[int], length: int) -> Loop:
    """The loop with rounds of `length` tokens."""
    begins = len(tokens) - length
    while begins > 0 and tokens[begins - 1] == tokens[begins - 1 + length]:
        begins -= 1
    ends = begins + length * -(-MIN_STRETCH // length)
    return Loop(tuple(tokens[begins:ends]), ends)


def _repeats(tail: list[int], length: int) -> bool:
    """Whether the end of the list repeats its last `length` tokens often enough."""
    if tail[-_GLIMPSE:] != tail[-_GLIMPSE - length : -length]:
        return False
    span = max(LOOP_MIN_TOKENS, length * LOOP_ROUNDS)
    return tail[len(tail) - span + length :] == tail[len(tail) - span : -length]
