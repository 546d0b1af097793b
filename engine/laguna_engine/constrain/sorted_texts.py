"""Texts in sorted order, and the range of them that begins with what was written: strings, or the parts of a document.

A document is the sorted array of its suffixes (Manber and Myers, "Suffix arrays", 1993): what occurs in it is a prefix
of some suffix, and the size of the range is how often it occurs. Both kinds are narrowed by two binary searches a step,
so a step costs microseconds at any size. Bytes, because a token may end in the middle of a character.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class SortedTexts(Protocol):
    """Byte strings in sorted order."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def part(self, index: int, start: int, stop: int) -> bytes:
        """The bytes `start` to `stop` of a text; fewer where it ends."""
        ...

    def heads(self, low: int, high: int, start: int) -> NDArray[np.uint64]:
        """Of the texts `low` to `high` the next `HEAD` bytes from `start` on, as `heads_of` has them, [high - low]."""
        ...


HEAD = 8
"""Bytes that are compared at once."""


def heads_of(data: bytes) -> NDArray[np.uint64]:
    """The `HEAD` bytes from each place of `data` on as a number that sorts like them, zeros past its end, uint64."""
    padded = np.frombuffer(data + bytes(HEAD), np.uint8).astype(np.uint64)
    heads = np.zeros(len(data) + 1, np.uint64)
    for place in range(HEAD):
        heads = (heads << np.uint64(8)) | padded[place : place + len(heads)]
    return heads


_KEPT = np.array([~0 << 8 * (HEAD - left) & (1 << 64) - 1 for left in range(HEAD + 1)], np.uint64)
"""Masks of a head's first bytes, by their number."""


class Strings:
    """A set of strings."""

    def __init__(self, strings: Iterable[bytes]) -> None:
        self._strings = sorted(set(strings))

    @cached_property
    def _heads(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
        """The heads of all strings in a row, each with a zero behind it; where each begins, and where it ends."""
        sizes = np.array([len(each) for each in self._strings], np.int64)
        ends = np.cumsum(sizes + 1) - 1
        return heads_of(b"\0".join(self._strings) + b"\0"), ends - sizes, ends

    def heads(self, low: int, high: int, start: int) -> NDArray[np.uint64]:
        """See `SortedTexts`."""
        heads, begins, ends = self._heads
        places, ends = begins[low:high] + start, ends[low:high]
        left = np.minimum(np.maximum(ends - places, 0), HEAD)
        # What comes behind the end of a string is no part of it.
        found: NDArray[np.uint64] = heads[np.minimum(places, ends)] & _KEPT[left]
        return found

    def part(self, index: int, start: int, stop: int) -> bytes:
        """See `SortedTexts`."""
        return self._strings[index][start:stop]

    def __len__(self) -> int:
        return len(self._strings)


class Suffixes:
    """The suffixes of a document of up to 2 GB; takes 30 ms and 0.5 MB for 50 KB."""

    def __init__(self, document: bytes) -> None:
        self._document = document
        self._order = _suffix_array(document)
        self._starts: list[int] = self._order.tolist()
        self._heads: NDArray[np.uint64] | None = None
        self._words: dict[bytes, bool] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def part(self, index: int, start: int, stop: int) -> bytes:
        """See `SortedTexts`."""
        begin = self._starts[index]
        return self._document[begin + start : begin + stop]

    def heads(self, low: int, high: int, start: int) -> NDArray[np.uint64]:
        """See `SortedTexts`."""
        if self._heads is None:
            self._heads = heads_of(self._document)
        heads: NDArray[np.uint64] = self._heads[np.minimum(self._order[low:high] + start, len(self._document))]
        return heads

    def has_whole(self, said: bytes) -> bool:
        """Whether `said`, which occurs, also does as a whole word; True for what is no identifier."""
        if said not in self._words:
            word, document = (text.decode("utf-8", "replace") for text in (said, self._document))
            pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
            self._words[said] = not word.isidentifier() or re.search(pattern, document) is not None
        return self._words[said]


def _suffix_array(document: bytes) -> NDArray[np.int64]:
    """Where the suffixes of `document` begin, in sorted order: ranks of prefixes, whose length is doubled each time."""
    size = len(document)
    ranks = np.frombuffer(document, np.uint8).astype(np.int64)
    length = 1
    while True:
        following = np.zeros(size, np.int64)
        following[: max(0, size - length)] = ranks[length:] + 1
        keys = ranks * (size + 257) + following
        order: NDArray[np.int64] = np.argsort(keys, kind="stable")
        changes = np.diff(keys[order]) != 0
        ranks[order] = np.concatenate(([0], np.cumsum(changes)))[:size]
        if size < 2 or ranks[order[-1]] == size - 1:
            return order
        length *= 2


@dataclass(frozen=True, slots=True)
class Prefix:
    """The texts `low` to `high` (excluded), which begin with the same `length` bytes; at least one."""

    texts: SortedTexts
    low: int
    high: int
    length: int = 0

    @classmethod
    def of(cls, texts: SortedTexts) -> "Prefix":
        """All of `texts`, with nothing written yet."""
        return cls(texts, 0, len(texts))

    @property
    def count(self) -> int:
        """How many texts there are; of a document, how often it has what was written."""
        return self.high - self.low

    @property
    def is_whole(self) -> bool:
        """Whether what was written is one of the texts."""
        # The shortest sorts first.
        return not self.texts.part(self.low, self.length, self.length + 1)

    def after(self, piece: bytes) -> "Prefix | None":
        """The texts that go on with `piece`; None if there are none."""
        start, stop, texts = self.length, self.length + len(piece), self.texts
        if self.high - self.low == 1:
            return Prefix(texts, self.low, self.high, stop) if texts.part(self.low, start, stop) == piece else None

        def part(index: int) -> bytes:
            return texts.part(index, start, stop)

        indices = range(self.high)
        low = bisect_left(indices, piece, self.low, self.high, key=part)
        if low == self.high or part(low) != piece:
            return None
        return Prefix(texts, low, bisect_right(indices, piece, low, self.high, key=part), stop)

    def allows(self, piece: bytes) -> bool:
        """Whether some text continues with `piece`."""
        start, stop, texts = self.length, self.length + len(piece), self.texts

        def part(index: int) -> bytes:
            return texts.part(index, start, stop)

        low = bisect_left(range(self.high), piece, self.low, self.high, key=part)
        return low < self.high and part(low) == piece

    def heads(self) -> NDArray[np.uint64]:
        """The next `HEAD` bytes of each of the texts, in sorted order, as `heads_of` has them."""
        return self.texts.heads(self.low, self.high, self.length)

    def children(self) -> "list[tuple[bytes, Prefix]]":
        """The bytes that the texts may go on with, each with the texts that do."""
        found: list[tuple[bytes, Prefix]] = []
        start, stop, texts = self.length, self.length + 1, self.texts

        def part(index: int) -> bytes:
            return texts.part(index, start, stop)

        indices, low = range(self.high), self.low
        while low < self.high:
            byte = part(low)
            one = low + 1 == self.high or part(low + 1) != byte
            high = low + 1 if one else bisect_right(indices, byte, low, self.high, key=part)
            if byte:
                found.append((byte, Prefix(texts, low, high, stop)))
            low = high
        return found

    def common(self, most: int) -> bytes:
        """What all the texts go on with, at most `most` bytes."""
        first = self.texts.part(self.low, self.length, self.length + most)
        last = self.texts.part(self.high - 1, self.length, self.length + most)
        shorter = min(len(first), len(last))
        return first[: next((place for place in range(shorter) if first[place] != last[place]), shorter)]
