"""A text that a JSON schema accepts, by llguidance: its masks are computed for the whole vocabulary at once, natively.

Blanks around the value and between its parts are limited, because a model that may always write one more line break
need never come to an end.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.base import Constraint, RowMask, Vocabulary
from laguna_engine.constrain.texts import Text
from laguna_engine.errors import RequestError

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

_BLANKS_BETWEEN = r"[ \n\t]{0,24}"
"""Blanks between two parts of a value: a line break, and an indentation of some levels."""

_GRAMMAR = """start: BEFORE json AFTER
BEFORE: /[ \\n]{{0,2}}/
AFTER: /\\n?/
json: %json {schema}
"""

_VALUE = """start: json
json: %json {schema}
"""

_FEW = 4096
"""Tokens that are listed rather than tested one by one."""

_TOKENIZERS: "WeakKeyDictionary[Vocabulary, LLTokenizer]" = WeakKeyDictionary()
"""llguidance's view of each open vocabulary: 0.2 s for 100,000 tokens, once a model. Engine thread only."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """The whole text from here to the end of the answer is a JSON value that a schema accepts.

    Attributes:
        schema: the schema as JSON text; `checked` makes one from a user's.
    """

    schema: str

    @classmethod
    def checked(cls, schema: object) -> "JsonSchema":
        """The constraint of a parsed JSON schema; RequestError with the reason if it is none or cannot be held."""
        if not isinstance(schema, Mapping | bool):
            raise RequestError("the JSON schema is neither an object nor true or false; give a schema as an object")
        made = cls(json.dumps(schema))
        problem = made._problem()
        if problem:
            raise RequestError(f"the JSON schema cannot be used: {problem}; correct it, or leave that part out")
        return made

    def begin(self, vocabulary: Vocabulary, _prompt: Sequence[int]) -> "SchemaConstraint":
        """See `ConstraintSpec`; the answer begins with the value."""
        return SchemaConstraint(self._matcher(vocabulary, _GRAMMAR), vocabulary)

    def value(self, vocabulary: Vocabulary) -> "JsonText":
        """The value alone, as a text within another grammar; RequestError for a schema that cannot be used."""
        return JsonText(self._matcher(vocabulary, _VALUE), vocabulary)

    def _matcher(self, vocabulary: Vocabulary, grammar: str) -> "LLMatcher":
        from llguidance import LLMatcher

        matcher = LLMatcher(_tokenizer(vocabulary), self._grammar(grammar), log_level=0)
        if matcher.is_error():
            raise RequestError(f"the JSON schema cannot be used: {_reason(matcher.get_error())}; correct it")
        return matcher

    def _grammar(self, grammar: str) -> str:
        from llguidance import LLMatcher

        schema = json.loads(self.schema)
        if isinstance(schema, dict):
            schema = {**schema, "x-guidance": {"whitespace_pattern": _BLANKS_BETWEEN}}
        return LLMatcher.grammar_from_lark(grammar.format(schema=json.dumps(schema)))

    def _problem(self) -> str:
        from llguidance import LLMatcher

        is_error, messages = LLMatcher.validate_grammar_with_warnings(self._grammar(_GRAMMAR))
        return _reason(messages[0]) if is_error and messages else ""


def _reason(message: str) -> str:
    """llguidance's message without the place in our grammar; the pattern and the reason of a regular expression."""
    text = message.strip()
    first, *more = (line.strip() for line in text.rpartition("JSON schema: ")[2].splitlines())
    reason = next((line.removeprefix("error: ") for line in more if line.startswith("error: ")), "")
    return f"{first} {more[0]}: {reason}" if reason else first.rstrip(".")


def _tokenizer(vocabulary: Vocabulary) -> "LLTokenizer":
    known = _TOKENIZERS.get(vocabulary)
    if known is None:
        from llguidance import LLTokenizer, TokenizerWrapper

        wrapped = TokenizerWrapper(_Wrapped(vocabulary))
        known = LLTokenizer(wrapped, n_vocab=vocabulary.size, eos_token=sorted(vocabulary.eog))
        _TOKENIZERS[vocabulary] = known
    return known


class _Wrapped:
    """What llguidance asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = vocabulary.pieces
        self.special_token_ids = [token for token, piece in enumerate(self.tokens) if not piece]
        self.eos_token_id = min(vocabulary.eog, default=0)
        self._tokenize = vocabulary.tokenize

    def __call__(self, text: bytes | str) -> list[int]:
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return self._tokenize(text, special=False)


class SchemaConstraint(Constraint):
    """The rest of a JSON value, then the end of the answer.

    Attributes:
        begun: whether more than blanks was written.
    """

    def __init__(self, matcher: "LLMatcher", vocabulary: Vocabulary, begun: bool = False) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self.begun = begun

    def mask(self) -> RowMask:
        """See `Constraint`."""
        return RowMask(allowed=_MatcherTokens(self._matcher, self._vocabulary.size))

    def advance(self, token: int) -> None:
        """See `Constraint`; raises ValueError for a token that is not allowed."""
        if not self._matcher.consume_token(token):
            raise ValueError(_reason(self._matcher.get_error() or "the value was left"))
        self.begun = self.begun or not self._vocabulary.piece(token).isspace()

    def fork(self) -> "SchemaConstraint":
        """See `Constraint`."""
        return SchemaConstraint(self._matcher.deep_copy(), self._vocabulary, self.begun)

    def draft(self, most: int) -> list[int]:
        """See `Constraint`: the bytes that must come next, as whole characters."""
        forced = self._matcher.compute_ff_bytes().decode("utf-8", "ignore")
        return self._vocabulary.tokenize(forced, special=False)[:most] if forced else []


class JsonText:
    """The rest of a JSON value: a `Text` (see `texts`). It is read byte by byte, by the tokens of single bytes."""

    free = False
    least = 0.0
    is_wide = True
    prefix = None
    once = False

    def __init__(self, matcher: "LLMatcher", vocabulary: Vocabulary) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._byte_tokens = _byte_tokens(vocabulary)

    def after(self, piece: bytes) -> "JsonText | None":
        """See `Text`."""
        if not self.allows(piece):
            return None
        ahead = self._matcher.deep_copy()
        ahead.consume_tokens([self._byte_tokens[byte] for byte in piece])
        return JsonText(ahead, self._vocabulary)

    def allows(self, piece: bytes) -> bool:
        """See `Text`."""
        if any(byte not in self._byte_tokens for byte in piece):
            return False
        return self._matcher.validate_tokens([self._byte_tokens[byte] for byte in piece]) == len(piece)

    def children(self) -> list[tuple[bytes, Text]]:
        """See `Text`."""
        following = ((bytes((byte,)), self.after(bytes((byte,)))) for byte in self._byte_tokens)
        return [(byte, text) for byte, text in following if text is not None]

    def common(self, most: int) -> bytes:
        """See `Text`."""
        return self._matcher.compute_ff_bytes()[:most]

    @property
    def may_end(self) -> bool:
        """See `Text`."""
        return self._matcher.is_accepting()

    @property
    def tokens(self) -> NDArray[np.int32]:
        """The tokens of text that it continues with."""
        tokens = _MatcherTokens(self._matcher, self._vocabulary.size).every()
        pieces = self._vocabulary.pieces
        return np.array([token for token in tokens.tolist() if pieces[token]], np.int32)


_BYTE_TOKENS: "WeakKeyDictionary[Vocabulary, dict[int, int]]" = WeakKeyDictionary()


def _byte_tokens(vocabulary: Vocabulary) -> dict[int, int]:
    """The tokens of single bytes, looked up once a model."""
    known = _BYTE_TOKENS.get(vocabulary)
    if known is None:
        known = {piece[0]: token for token, piece in enumerate(vocabulary.pieces) if len(piece) == 1}
        _BYTE_TOKENS[vocabulary] = known
    return known


class _MatcherTokens:
    """The tokens that a matcher accepts next; computed once, when first asked for."""

    def __init__(self, matcher: "LLMatcher", size: int) -> None:
        self._matcher = matcher
        self._size = size

    @cached_property
    def _mask(self) -> NDArray[np.uint8]:
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        return np.unpackbits(bits, bitorder="little")[: self._size]

    @cached_property
    def _tokens(self) -> NDArray[np.int32]:
        return np.flatnonzero(self._mask).astype(np.int32)

    def passing(self, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        """See `AllowedTokens`."""
        if len(candidates) == 1:
            return np.array([self._matcher.validate_tokens([int(candidates[0])]) == 1])
        passing: NDArray[np.bool_] = self._mask[candidates] == 1
        return passing

    def few(self) -> NDArray[np.int32] | None:
        """See `AllowedTokens`."""
        return self._tokens if np.count_nonzero(self._mask) <= _FEW else None

    def every(self) -> NDArray[np.int32]:
        """See `AllowedTokens`."""
        return self._tokens
