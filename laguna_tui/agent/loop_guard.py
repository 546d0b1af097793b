"""Notices a model that has stopped getting anywhere: the same tool call, or the same words, again and again.

Laguna is known for loops shorter than its sliding window (512 tokens) that it never leaves by itself.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from laguna_engine.chat.messages import ToolCall

# Twice can be an honest second look; the answer to a third would be the same again.
SAME_CALLS_ALLOWED = 2
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


class _Seen(NamedTuple):
    """The newest result of a call, how often in a row it was the same, and whether the call made an edit."""

    output: str
    times: int
    edited: bool


class LoopGuard:
    """Judges the calls of one turn by what they bring: the same call with the same result is no progress.

    An edit changes what other calls may say, so they count from nothing again. Edits themselves do not: a file that is
    changed to and fro is a loop too.

    Attributes:
        gave_up: whether a call was made again after an objection to it.
    """

    def __init__(self) -> None:
        self.gave_up = False
        self._seen: dict[str, _Seen] = {}
        self._objected: set[str] = set()

    def objection(self, call: ToolCall) -> str | None:
        """A sentence for the model when this call, about to be made, had the same result often enough, else None."""
        seen = self._seen.get(call_key(call))
        if seen is None or seen.times < SAME_CALLS_ALLOWED:
            return None
        key = call_key(call)
        self.gave_up = self.gave_up or key in self._objected
        self._objected.add(key)
        return (
            f"this same call was made {SAME_CALLS_ALLOWED} times already and its answer is above;"
            " use it, try something else, or answer the user"
        )

    def record(self, call: ToolCall, output: str, *, edited: bool) -> None:
        """Count a call that ran. output: its result; edited: whether it changed a file."""
        key = call_key(call)
        before = self._seen.get(key)
        if edited:
            self._seen = {other: seen for other, seen in self._seen.items() if seen.edited}
        times = before.times + 1 if before is not None and before.output == output else 1
        self._seen[key] = _Seen(output, times, edited)


def call_key(call: ToolCall) -> str:
    """The same text for calls that ask for the same."""
    return json.dumps([call.name, call.arguments], sort_keys=True)


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
