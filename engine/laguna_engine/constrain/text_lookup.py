"""Which tokens continue one of many known texts, by numpy: for states with too many texts to walk them.

The next eight bytes of each text, and those of each token, are numbers that sort like them (`heads_of`). A token of up
to eight bytes is the beginning of some text exactly if a text's number is in the token's range. Longer tokens, and
those in which the closing behind a text begins, are tested one by one where their first bytes fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.automaton import Enclosed
from laguna_engine.constrain.base import Vocabulary
from laguna_engine.constrain.sorted_texts import HEAD, SortedTexts
from laguna_engine.constrain.texts import NO_TEXT

_LOOKUPS: "WeakKeyDictionary[Vocabulary, TextLookup]" = WeakKeyDictionary()
"""0.2 s and 4 MB for 100,000 tokens, once a model. Engine thread only."""

_Closings = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Pieces, and the numbers of texts that begin with each, or with its first bytes.

    Attributes:
        low, high: the range, uint64 [n]; empty for an empty piece.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> "_Ranges":
        """The ranges of some pieces."""
        low = np.frombuffer(b"".join(piece[:HEAD].ljust(HEAD, b"\0") for piece in pieces), ">u8").astype(np.uint64)
        high = np.frombuffer(b"".join(piece[:HEAD].ljust(HEAD, b"\xff") for piece in pieces), ">u8").astype(np.uint64)
        empty = np.array([not piece for piece in pieces], np.bool_)
        return cls(np.where(empty, np.uint64(1), low), np.where(empty, np.uint64(0), high))

    def meet(self, heads: NDArray[np.uint64], which: NDArray[np.int32] | slice) -> NDArray[np.bool_]:
        """Whether one of the sorted `heads` is in the range of each of some pieces."""
        at = np.searchsorted(heads, self.low[which])
        inside: NDArray[np.bool_] = heads[np.minimum(at, len(heads) - 1)] <= self.high[which]
        return inside & (at < len(heads))


@dataclass(frozen=True, slots=True)
class _Closers:
    """The tokens in which a closing begins, once for each place where it does.

    Attributes:
        before: the ranges of what they have before it.
        at_once: whether that is nothing.
        is_one: of every token of the vocabulary, whether it is one of them.
    """

    tokens: NDArray[np.int32]
    before: _Ranges
    at_once: NDArray[np.bool_]
    is_one: NDArray[np.bool_]


class TextLookup:
    """The pieces of a vocabulary."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        """`pieces` by token id; tokens with an empty one are in no text."""
        self._pieces = pieces
        self._closers: dict[_Closings, _Closers] = {}
        self._at_start: WeakKeyDictionary[SortedTexts, dict[tuple[bool, _Closings], NDArray[np.int32]]] = (
            WeakKeyDictionary()
        )
        self._last: tuple[Enclosed, NDArray[np.uint64]] | None = None

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "TextLookup":
        """The lookup of an open vocabulary, made once."""
        known = _LOOKUPS.get(vocabulary)
        if known is None:
            known = _LOOKUPS[vocabulary] = cls([b"" if NO_TEXT in piece else piece for piece in vocabulary.pieces])
        return known

    def passing(self, part: Enclosed, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether `part`, whose texts are known, continues with each of `candidates`."""
        passing = self._ranges.meet(self._heads(part), candidates)
        unsure = (passing & ~self._is_sure[candidates]) | self._closing(part).is_one[candidates]
        for place in np.flatnonzero(unsure).tolist():
            passing[place] = part.allows(self._pieces[candidates[place]])
        return passing

    def few(self, part: Enclosed) -> NDArray[np.int32] | None:
        """The tokens that `part`, whose texts are known, begins with; None behind its beginning, where texts are many.

        What it begins with is kept, whatever it takes: 7 ms for a file of 15 KB and 26 ms for one of 200 KB, once.
        """
        prefix = part.text.prefix
        assert prefix is not None, "the texts are known"
        if prefix.length:
            return None
        kept = self._at_start.setdefault(prefix.texts, {})
        key = part.text.once, tuple(closing for closing, _ in part.closings)
        if key not in kept:
            kept[key] = self.every(part)
        return kept[key]

    def every(self, part: Enclosed) -> NDArray[np.int32]:
        """The tokens that `part`, whose texts are known, continues with."""
        heads = self._heads(part)
        found = self._beginnings(part, heads)
        closers = self._closing(part)
        fit = closers.before.meet(heads, slice(None)) | (closers.at_once & part.text.may_end)
        closing = [token for token in closers.tokens[fit].tolist() if part.allows(self._pieces[token])]
        return np.union1d(found, np.array(closing, np.int32)) if closing else found

    def closing(self, part: Enclosed) -> NDArray[np.int32]:
        """The tokens of text that end `part`, at once or after more of its text."""
        tokens = np.unique(self._closing(part).tokens)
        return tokens[[part.allows(self._pieces[token]) for token in tokens.tolist()]]

    def _beginnings(self, part: Enclosed, heads: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The tokens that texts with these heads begin with: of each level of a trie the nodes that both share."""
        tokens, sizes, known = self._sorted
        found = []
        for size in range(1, HEAD + 1):
            below = np.uint64((1 << 8 * (HEAD - size)) - 1)
            begins = heads & ~below
            is_other = _is_other(begins)
            nodes = begins[is_other]
            at = np.searchsorted(known, nodes)
            # Not those that are found already, where a text ends before.
            found.append(at[(known[at] == nodes) & (sizes[at] >= size)])
            heads = heads[(known[at] <= nodes | below)[np.cumsum(is_other) - 1]]
            if not len(heads):
                break
        first = np.concatenate(found)
        counts = np.searchsorted(known, known[first], "right") - first
        at = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        listed = tokens[at]
        sure = self._is_sure[listed]
        unsure = [token for token in listed[~sure].tolist() if part.text.allows(self._pieces[token])]
        return np.concatenate((listed[sure], np.array(unsure, np.int32)))

    def _heads(self, part: Enclosed) -> NDArray[np.uint64]:
        """The next bytes of the texts, each once, sorted."""
        if self._last is None or self._last[0] is not part:
            prefix = part.text.prefix
            assert prefix is not None, "the texts are known"
            heads = prefix.heads()
            heads = heads[_is_other(heads)]
            if not prefix.length:
                # No text begins in the middle of a character.
                heads = heads[heads >> np.uint64(62) != np.uint64(0b10)]
            self._last = part, heads
        return self._last[1]

    def _closing(self, part: Enclosed) -> _Closers:
        """The tokens in which a closing of `part` begins."""
        closings = tuple(closing for closing, _ in part.closings)
        known = self._closers.get(closings)
        if known is None:
            found = [
                (token, piece[:place])
                for token, piece in enumerate(self._pieces)
                for place in _closings_in(piece, closings)
            ]
            before = [piece for _, piece in found]
            at_once = np.array([not piece for piece in before], np.bool_)
            tokens = np.array([token for token, _ in found], np.int32)
            is_one = np.zeros(len(self._pieces), np.bool_)
            is_one[tokens] = True
            known = self._closers[closings] = _Closers(tokens, _Ranges.of(before), at_once, is_one)
        return known

    @cached_property
    def _ranges(self) -> _Ranges:
        return _Ranges.of(self._pieces)

    @cached_property
    def _is_sure(self) -> NDArray[np.bool_]:
        """Whether a token's range says everything: a zero in a longer piece would look like the end of a text."""
        return np.array([0 < len(piece) <= HEAD and b"\0" not in piece for piece in self._pieces], np.bool_)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint64]]:
        """Tokens in the order of their pieces, the sizes of these with a zero at the end, and their heads with the
        largest number."""
        order = sorted(
            (token for token, piece in enumerate(self._pieces) if piece and b"\0" not in piece),
            key=lambda token: self._pieces[token],
        )
        tokens = np.array(order, np.int32)
        sizes = np.array([*(len(self._pieces[token]) for token in order), 0])
        return tokens, sizes, np.append(self._ranges.low[tokens], ~np.uint64(0))


def _closings_in(piece: bytes, closings: _Closings) -> list[int]:
    """Where in `piece` one of `closings` begins, with all of it that there is room for."""
    if not any(closing[:1] in piece for closing in closings):
        return []
    tails = [piece[place:] for place in range(len(piece))]
    return [
        place
        for place, tail in enumerate(tails)
        if any(closing.startswith(tail) or tail.startswith(closing) for closing in closings)
    ]


def _is_other(ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Of numbers in ascending order, whether each is another one than that before it."""
    is_other = np.empty(len(ordered), np.bool_)
    is_other[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_other[1:])
    return is_other
