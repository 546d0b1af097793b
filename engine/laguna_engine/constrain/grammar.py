"""A grammar of bytes as a constraint of tokens."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.automaton import Enclosed, Parts, after, freed, likely
from laguna_engine.constrain.base import FREE, RowMask, Vocabulary
from laguna_engine.constrain.json_schema import JsonText
from laguna_engine.constrain.text_lookup import TextLookup
from laguna_engine.constrain.texts import NO_TEXT
from laguna_engine.constrain.vocabulary_trie import FEW_VISITS, VocabularyTrie

_MANY = 8
"""Tokens that are tested together in less time than one by one."""


class GrammarState:
    """A state of a grammar, in tokens of a vocabulary. Immutable; `after` returns the next one.

    Attributes:
        parts: the ways to parse what was written; empty once it has left the grammar.
    """

    __slots__ = ("_markers", "_mask", "_vocabulary", "parts")

    def __init__(self, parts: Parts, vocabulary: Vocabulary, markers: Mapping[int, bytes]) -> None:
        """Begin a grammar.

        Args:
            parts: its beginning.
            vocabulary: the model's.
            markers: the special tokens that may stand for their text in it; others are in no text.
        """
        self.parts = parts
        self._vocabulary = vocabulary
        self._markers = markers
        self._mask: RowMask | None = None

    def mask(self) -> RowMask:
        """The mask of the next token; free where any text may follow, and once the grammar was left."""
        if self._mask is None:
            self._mask = self._made_mask()
        return self._mask

    def _made_mask(self) -> RowMask:
        parts = self.parts
        if not parts or any(part.free for part in parts):
            return FREE
        return RowMask(
            allowed=_GrammarTokens(parts, self._vocabulary, self._markers), least=max(part.least for part in parts)
        )

    def after(self, token: int) -> "GrammarState":
        """The state after `token`."""
        piece = _piece(token, self._vocabulary, self._markers)
        return GrammarState(after(self.parts, piece) if piece else (), self._vocabulary, self._markers)

    def freed(self) -> "GrammarState":
        """The state with its values replaced by free text; without parts if no value is written."""
        parts = freed(self.parts) if any(part.least for part in self.parts) else ()
        return GrammarState(parts, self._vocabulary, self._markers)

    def draft(self, most: int) -> list[int]:
        """Up to `most` tokens of what probably comes next."""
        if not self.parts or any(part.free for part in self.parts):
            return []
        text = likely(self.parts).decode("utf-8", "ignore")
        return self._vocabulary.tokenize(text, special=True)[:most] if text else []


def marker(vocabulary: Vocabulary, text: str) -> bytes:
    """The bytes of a tag in a grammar: its text, or bytes that only the vocabulary's special token for it can match.

    The parser of the answer reads the special token as the tag, and the tag spelled out as text.
    """
    return text.encode() if vocabulary.id_of(text) is None else NO_TEXT + text.encode()


def markers_of(vocabulary: Vocabulary, *texts: str) -> dict[int, bytes]:
    """Those of `texts` that are special tokens of the vocabulary, as a grammar writes them."""
    return {token: marker(vocabulary, text) for text in texts if (token := vocabulary.id_of(text)) is not None}


def _piece(token: int, vocabulary: Vocabulary, markers: Mapping[int, bytes]) -> bytes:
    """The bytes of a token in the grammar; empty for a token that cannot occur in it."""
    if (written := markers.get(token)) is not None:
        return written
    piece = b"" if vocabulary.is_control(token) else vocabulary.piece(token)
    return b"" if NO_TEXT in piece else piece


class _GrammarTokens:
    """The tokens that a grammar allows."""

    def __init__(self, parts: Parts, vocabulary: Vocabulary, markers: Mapping[int, bytes]) -> None:
        self._parts = parts
        self._vocabulary = vocabulary
        self._markers = markers

    def passing(self, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        """See `AllowedTokens`."""
        if self._known is not None and len(candidates) > _MANY:
            passing = TextLookup.of(self._vocabulary).passing(self._known, candidates)
            for token in self._marking:
                passing |= candidates == token
            return passing
        return np.array([self._passes(token) for token in candidates.tolist()], np.bool_)

    def few(self) -> NDArray[np.int32] | None:
        """See `AllowedTokens`."""
        return self._few

    def every(self) -> NDArray[np.int32]:
        """See `AllowedTokens`."""
        return self._every

    @cached_property
    def _known(self) -> Enclosed | None:
        """The only part, if it is one of many known texts."""
        part = self._parts[0]
        if len(self._parts) > 1 or not isinstance(part, Enclosed) or part.text.prefix is None:
            return None
        return part if part.is_wide else None

    @cached_property
    def _few(self) -> NDArray[np.int32] | None:
        tokens = None
        if self._known is not None:
            tokens = TextLookup.of(self._vocabulary).few(self._known)
        elif not any(part.is_wide for part in self._parts):
            tokens = VocabularyTrie.of(self._vocabulary).allowed(self._parts, FEW_VISITS)
        return None if tokens is None else np.append(tokens, self._marking)

    @cached_property
    def _every(self) -> NDArray[np.int32]:
        if self._known is not None:
            return np.append(TextLookup.of(self._vocabulary).every(self._known), self._marking)
        part = self._parts[0]
        if len(self._parts) == 1 and isinstance(part, Enclosed) and isinstance(part.text, JsonText):
            closing = TextLookup.of(self._vocabulary).closing(part)
            return np.append(np.union1d(part.text.tokens, closing), self._marking)
        tokens = VocabularyTrie.of(self._vocabulary).allowed(self._parts)
        assert tokens is not None, "the walk has no limit"
        return np.append(tokens, self._marking)

    @cached_property
    def _marking(self) -> NDArray[np.int32]:
        """The special tokens that may stand for their text."""
        return np.array([token for token, text in self._markers.items() if after(self._parts, text)], np.int32)

    def _passes(self, token: int) -> bool:
        piece = _piece(token, self._vocabulary, self._markers)
        return bool(piece) and any(part.allows(piece) for part in self._parts)
