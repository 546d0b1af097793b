"""A conversation as the model sees it: one append-only list of tokens in labelled blocks.

Tokens are never removed or changed, so a session's KV cache stays valid from turn to turn; a different history is a
different `Transcript`. Blocks are contiguous and cover all tokens, so every position (for example the first token that
differs from the cache) has a label.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import overload


class Role(Enum):
    """Author of a block."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Block:
    """A labelled range of a transcript's tokens.

    Attributes:
        role: author of the tokens.
        start: first token.
        end: past the last token.
        label: which message or tool result the tokens are.
    """

    role: Role
    start: int
    end: int
    label: str


class TokenView(Sequence[int]):
    """A view of a transcript's tokens without a copy; it does not change when the transcript grows."""

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
    """Append-only tokens in labelled blocks. Not thread-safe."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._blocks: list[Block] = []

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> TokenView:
        """All tokens so far, as a view that stays valid and unchanged while the transcript grows."""
        return TokenView(self._tokens)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks in order; they are contiguous."""
        return tuple(self._blocks)

    def append(self, role: Role, tokens: Iterable[int], label: str = "") -> Block:
        """Append a new block."""
        start = len(self._tokens)
        self._tokens.extend(tokens)
        self._blocks.append(Block(role, start, len(self._tokens), label))
        return self._blocks[-1]

    def extend(self, tokens: Iterable[int]) -> Block:
        """Extend the last block, for example an assistant turn by its generated tokens.

        Raises:
            IndexError: the transcript has no block; `append` one first.
        """
        last = self._blocks[-1]
        self._tokens.extend(tokens)
        self._blocks[-1] = replace(last, end=len(self._tokens))
        return self._blocks[-1]

    def block_at(self, index: int) -> Block | None:
        """The block that contains token `index`, or None past the end."""
        if not 0 <= index < len(self._tokens):
            return None
        return self._blocks[bisect_right(self._blocks, index, key=lambda block: block.start) - 1]
