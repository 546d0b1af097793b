"""A conversation as the model sees it: one list of tokens that only ever grows, with a label on every stretch.

Nothing can be taken back or changed, which is what keeps the KV cache of a session valid from turn to turn; a different
history is a different `Transcript`. The blocks lie end to end and cover all tokens, so that any position (the first
token that differs from the cache, say) can be named.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import overload


class Role(Enum):
    """Whose words a block holds."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Block:
    """Tokens `start` to `end` (exclusive) of a transcript; `label` says which message or result they are."""

    role: Role
    start: int
    end: int
    label: str


class TokenView(Sequence[int]):
    """The tokens a transcript had at one moment, without a copy: growing the transcript leaves the view as it was."""

    __slots__ = ("_length", "_tokens")

    def __init__(self, tokens: list[int]) -> None:
        self._tokens = tokens
        self._length = len(tokens)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return [self._tokens[position] for position in range(start, stop, step)]
        return self._tokens[range(self._length)[index]]

    def __iter__(self) -> Iterator[int]:
        return islice(self._tokens, self._length)


class Transcript:
    """Append-only tokens in labelled blocks. Not for use from several threads at once."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._blocks: list[Block] = []

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> TokenView:
        """All tokens up to now, as a view that stays valid and unchanged while the transcript grows."""
        return TokenView(self._tokens)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks in order, end to end."""
        return tuple(self._blocks)

    def append(self, role: Role, tokens: Iterable[int], label: str = "") -> Block:
        """Add a block of its own."""
        start = len(self._tokens)
        self._tokens.extend(tokens)
        self._blocks.append(Block(role, start, len(self._tokens), label))
        return self._blocks[-1]

    def extend(self, tokens: Iterable[int]) -> Block:
        """Add to the last block, as an assistant's turn grows by what is generated.

        Raises:
            IndexError: the transcript has no block yet; `append` one first.
        """
        last = self._blocks[-1]
        self._tokens.extend(tokens)
        self._blocks[-1] = replace(last, end=len(self._tokens))
        return self._blocks[-1]

    def block_at(self, index: int) -> Block | None:
        """The block that holds token `index`, or None past the end."""
        if not 0 <= index < len(self._tokens):
            return None
        return self._blocks[bisect_right(self._blocks, index, key=lambda block: block.start) - 1]
