"""The tokens that a grammar of bytes allows: the vocabulary's pieces in sorted order, walked along with the grammar.

A node of the trie is the range of sorted pieces with the same beginning; only the bytes that the grammar may go on with
are followed, so the walk visits what both have in common and never the vocabulary.
"""

from bisect import bisect_left
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.automaton import Parts, settled
from laguna_engine.constrain.base import Vocabulary
from laguna_engine.constrain.texts import NO_TEXT

FEW_VISITS = 96
"""Nodes of a walk that is cheaper than to test the likeliest tokens one by one: 0.3 ms."""

_TRIES: "WeakKeyDictionary[Vocabulary, VocabularyTrie]" = WeakKeyDictionary()
"""0.1 s and 2 MB for 100,000 tokens, once a model. Engine thread only."""


class VocabularyTrie:
    """The pieces of a vocabulary."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        """`pieces` by token id; tokens with an empty one are in no text."""
        self._ids = sorted((token for token, piece in enumerate(pieces) if piece), key=lambda token: pieces[token])
        self._pieces = [pieces[token] for token in self._ids]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "VocabularyTrie":
        """The trie of an open vocabulary, made once."""
        known = _TRIES.get(vocabulary)
        if known is None:
            known = _TRIES[vocabulary] = cls([b"" if NO_TEXT in piece else piece for piece in vocabulary.pieces])
        return known

    def allowed(self, parts: Parts, visits: int | None = None) -> NDArray[np.int32] | None:
        """The tokens that `parts` allow next, none of which is free; None if that takes more than `visits` nodes."""
        found: list[int] = []
        open_nodes = [(parts, b"", 0, len(self._ids))]
        visited = 0
        while open_nodes:
            parts, prefix, low, high = open_nodes.pop()
            for byte, following in _children(parts).items():
                visited += 1
                if visits is not None and visited > visits:
                    return None
                node = self._child(prefix, byte, low, high)
                if node is None or not following:
                    continue
                longer, first, last = node
                while first < last and self._pieces[first] == longer:
                    found.append(self._ids[first])
                    first += 1
                if first < last:
                    open_nodes.append((settled(following), longer, first, last))
        return np.array(found, np.int32)

    def _child(self, prefix: bytes, byte: bytes, low: int, high: int) -> tuple[bytes, int, int] | None:
        """The pieces from `low` to `high` that go on with `byte` after `prefix`; None if there are none."""
        longer = prefix + byte
        first = bisect_left(self._pieces, longer, low, high)
        if first == high or not self._pieces[first].startswith(longer):
            return None
        last = high if byte == _LAST else bisect_left(self._pieces, prefix + bytes((byte[0] + 1,)), first, high)
        return longer, first, last


_LAST = b"\xff"


def _children(parts: Parts) -> dict[bytes, Parts]:
    """What a grammar becomes after each byte that it may go on with."""
    joined: dict[bytes, Parts] = {}
    for part in parts:
        for byte, following in part.children():
            joined[byte] = joined.get(byte, ()) + following
    return joined
