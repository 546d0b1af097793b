"""llguidance: what a grammar allows next, in tokens of a model's vocabulary.

A matcher's whole mask is computed natively, for all tokens at once; a few candidates are cheaper to test one by one.
"""

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.base import Vocabulary

if TYPE_CHECKING:
    from llguidance import LLMatcher

_FEW = 64
"""Candidates that are tested one by one (3 µs each); for more the whole mask is computed (0.1 to 10 ms)."""

_COMPILED = 3
"""Compiled values cached per vocabulary: the texts of two files (10 MB for 200 KB) and a list of paths."""

_LEXER_FUEL, _LEXER_STATES = 50_000_000, 1_000_000
"""llguidance's own limits refuse the text of a file of 100 KB."""

_EVERY_TOKENIZATION = '%llguidance {"no_forcing": true}\n'
"""Otherwise a mask of text that must come next holds one token: the one that the tokenizer would write."""


def compiled(vocabulary: Vocabulary, lark: str) -> "LLMatcher":
    """Return the matcher of a grammar in llguidance's Lark dialect, at its beginning.

    Raises:
        ValueError: llguidance refuses the grammar.
    """
    from llguidance import LLMatcher, LLParserLimits

    limits = LLParserLimits(initial_lexer_fuel=_LEXER_FUEL, max_lexer_states=_LEXER_STATES)
    grammar = LLMatcher.grammar_from_lark(_EVERY_TOKENIZATION + lark)
    matcher = LLMatcher(_view(vocabulary).tokenizer, grammar, log_level=0, limits=limits)
    if matcher.is_error():
        raise ValueError(matcher.get_error())
    return matcher


def compiled_once(vocabulary: Vocabulary, value: Hashable, lark: Callable[[], str]) -> "LLMatcher":
    """Return a copy of the matcher of a value's grammar, which is compiled if it is not one of the last few values."""
    known = _view(vocabulary).compiled
    if value not in known:
        known[value] = compiled(vocabulary, lark())
    known.move_to_end(value)
    while len(known) > _COMPILED:
        known.popitem(last=False)
    return known[value].deep_copy()


def bytes_of(vocabulary: Vocabulary, piece: bytes) -> list[int] | None:
    """Return the tokens of single bytes that spell `piece`; None where the vocabulary lacks one."""
    return _view(vocabulary).bytes_of(piece)


def allows(matcher: "LLMatcher", vocabulary: Vocabulary, piece: bytes) -> bool:
    """Return whether a matcher continues with these bytes."""
    tokens = _view(vocabulary).bytes_of(piece)
    return tokens is not None and matcher.validate_tokens(tokens) == len(tokens)


def after(matcher: "LLMatcher", vocabulary: Vocabulary, piece: bytes) -> "LLMatcher | None":
    """Return the matcher after these bytes; None where it does not allow them. `matcher` stays as it is."""
    tokens = _view(vocabulary).bytes_of(piece)
    ahead: LLMatcher = matcher.deep_copy()
    return ahead if tokens is not None and ahead.try_consume_tokens(tokens) == len(tokens) else None


def prepare(vocabulary: Vocabulary) -> None:
    """Do now what the first matcher of a vocabulary would need."""
    _view(vocabulary)


class _View:
    """llguidance's view of an open vocabulary, made once. Engine thread only.

    Takes 0.5 s for 152,000 tokens and 1.1 s for 262,000. llguidance holds the GIL for half of that.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        from llguidance import LLTokenizer, TokenizerWrapper

        self.tokenizer: LLTokenizer = LLTokenizer(
            TokenizerWrapper(_Wrapped(vocabulary)),
            n_vocab=vocabulary.size,
            eos_token=sorted(vocabulary.eog),
            # The last is that of any text in a JSON string; masks are as fast with it alone, and a third is saved.
            slices=LLTokenizer.general_slices()[-1:],
        )
        self.compiled: OrderedDict[Hashable, LLMatcher] = OrderedDict()
        self._bytes = {piece[0]: token for token, piece in enumerate(vocabulary.pieces) if len(piece) == 1}

    def bytes_of(self, piece: bytes) -> list[int] | None:
        """Return the tokens of single bytes that spell `piece`; None where the vocabulary lacks one."""
        tokens = [self._bytes.get(byte, -1) for byte in piece]
        return None if -1 in tokens else tokens


_VIEWS: "WeakKeyDictionary[Vocabulary, _View]" = WeakKeyDictionary()


def _view(vocabulary: Vocabulary) -> _View:
    if vocabulary not in _VIEWS:
        _VIEWS[vocabulary] = _View(vocabulary)
    return _VIEWS[vocabulary]


class _Wrapped:
    """A vocabulary as llguidance asks for it."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        pieces = vocabulary.pieces
        # Special tokens that llguidance cannot tell apart would be allowed together.
        self.tokens = [piece or vocabulary.piece(token) or b"unused %d" % token for token, piece in enumerate(pieces)]
        self.special_token_ids = [token for token, piece in enumerate(pieces) if not piece]
        self.eos_token_id = min(vocabulary.eog, default=0)
        # Weak, because the view lives as long as its vocabulary, and refers to this object.
        self._vocabulary = weakref.ref(vocabulary)

    def __call__(self, text: bytes | str) -> list[int]:
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        vocabulary = self._vocabulary()
        return [] if vocabulary is None else vocabulary.tokenize(text, special=False)


class MatcherTokens:
    """The tokens that a matcher accepts next (`AllowedTokens`)."""

    def __init__(self, matcher: "LLMatcher", size: int) -> None:
        self._matcher = matcher
        self._size = size

    def passing(self, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        if len(candidates) <= _FEW:
            validate = self._matcher.validate_tokens
            return np.array([validate([token]) == 1 for token in candidates.tolist()], np.bool_)
        passing: NDArray[np.bool_] = self._mask[candidates] == 1
        return passing

    def every(self) -> NDArray[np.int32]:
        return np.flatnonzero(self._mask).astype(np.int32)

    @cached_property
    def _mask(self) -> NDArray[np.uint8]:
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        return np.unpackbits(bits, bitorder="little")[: self._size]
