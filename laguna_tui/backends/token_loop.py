"""Detects a model that repeats itself.

Laguna is known for loops shorter than its sliding window (512 tokens) that it never leaves by itself.
"""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

# The longest loop detected, in tokens: Laguna's sliding window.
LOOP_TOKENS = 512
# Rounds and tokens that make a loop; lists and tables repeat less exactly.
LOOP_ROUNDS = 3
LOOP_MIN_TOKENS = 160
# A check costs a fraction of a millisecond.
_CHECK_EVERY = 32
# A ban on fewer tokens would forbid what is not a loop: a ruler of dashes, a table's empty columns.
MIN_STRETCH = 16
# Equal tokens at the end that make a length worth comparing in full.
_PROBE = 16


class Loop(NamedTuple, Generic[T]):
    """A stretch of tokens that repeats at the end of a list.

    Attributes:
        stretch: One round of it; several if a round is shorter than `MIN_STRETCH`.
        ends: Length of the list up to the end of the first such stretch.
    """

    stretch: tuple[T, ...]
    ends: int


def find_loop(tokens: Sequence[T]) -> Loop[T] | None:
    """Return the loop at the end of a growing list of tokens; None if there is none. Checks only every 32 tokens."""
    if len(tokens) < LOOP_MIN_TOKENS or len(tokens) % _CHECK_EVERY:
        return None
    tail = list(tokens[-LOOP_TOKENS * LOOP_ROUNDS :])
    longest = min(LOOP_TOKENS, len(tail) // LOOP_ROUNDS)
    length = next((length for length in range(1, longest + 1) if _repeats(tail, length)), 0)
    return _loop(tokens, length) if length else None


def _loop(tokens: Sequence[T], length: int) -> Loop[T]:
    begins = len(tokens) - length
    while begins > 0 and tokens[begins - 1] == tokens[begins - 1 + length]:
        begins -= 1
    ends = begins + length * -(-MIN_STRETCH // length)
    return Loop(tuple(tokens[begins:ends]), ends)


def _repeats(tail: list[T], length: int) -> bool:
    """Return whether the end of the list repeats its last `length` tokens often enough."""
    if tail[-_PROBE:] != tail[-_PROBE - length : -length]:
        return False
    span = max(LOOP_MIN_TOKENS, length * LOOP_ROUNDS)
    return tail[len(tail) - span + length :] == tail[len(tail) - span : -length]
