"""A text that a JSON schema accepts, by llguidance: its masks are computed for the whole vocabulary at once, natively.

Blanks around the value and between its parts are limited, because a model that may always write one more line break
need never come to an end.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING

from laguna_engine.constrain.base import Constraint, RowMask, Vocabulary
from laguna_engine.constrain.matcher import MatcherTokens, compiled
from laguna_engine.errors import RequestError

if TYPE_CHECKING:
    from llguidance import LLMatcher

_BLANKS_BETWEEN = r"[ \n\t]{0,24}"
"""Blanks between two parts of a value: a line break, and an indentation of some levels."""

_MAX_MULTIPLE = 10_000
"""llguidance's automaton has a state for each remainder: 10,000 take 0.03 s to build, 1,000,000 half a minute."""

_GRAMMAR = """start: BEFORE json AFTER
BEFORE: /[ \\n]{{0,2}}/
AFTER: /\\n?/
json: {value}
"""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """The whole text from here to the end of the answer is a JSON value that a schema accepts.

    Attributes:
        schema: the schema as JSON text; `checked` makes one from a user's.
    """

    schema: str

    @classmethod
    def checked(cls, schema: object) -> "JsonSchema":
        """Return the constraint of a parsed JSON schema.

        RequestError with the reason if it is invalid or not supported.
        """
        if not isinstance(schema, Mapping | bool):
            raise RequestError("the JSON schema is neither an object nor true or false; give a schema as an object")
        made = cls(json.dumps(schema))
        problem = made._problem()
        if problem:
            raise RequestError(f"the JSON schema cannot be used: {problem}; correct it, or leave that part out")
        return made

    def begin(self, vocabulary: Vocabulary, _prompt: Sequence[int]) -> "SchemaConstraint":
        """Begin with the value, at the start of the answer."""
        try:
            return SchemaConstraint(compiled(vocabulary, self._lark), vocabulary)
        except ValueError as error:
            raise RequestError(f"the JSON schema cannot be used: {_reason(str(error))}; correct it") from error

    @property
    def value(self) -> str:
        """The value alone, as a rule of a Lark grammar."""
        schema = json.loads(self.schema)
        if isinstance(schema, dict):
            schema = {**schema, "x-guidance": {"whitespace_pattern": _BLANKS_BETWEEN}}
        return f"%json {json.dumps(schema)}"

    @property
    def _lark(self) -> str:
        return _GRAMMAR.format(value=self.value)

    def _problem(self) -> str:
        from llguidance import LLMatcher

        large = next((each for each in _multiples(json.loads(self.schema)) if _digits(each) > _MAX_MULTIPLE), None)
        if large is not None:
            return f"multipleOf {large} has too many digits"
        is_error, messages = LLMatcher.validate_grammar_with_warnings(LLMatcher.grammar_from_lark(self._lark))
        return _reason(messages[0]) if is_error and messages else ""


def _multiples(schema: object) -> Iterator[int | float]:
    """Yield the numbers that values in a schema have to be multiples of, or that look like one."""
    if isinstance(schema, dict):
        number = schema.get("multipleOf")
        if isinstance(number, int | float):
            yield number
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from _multiples(each)


def _digits(number: float) -> int:
    """Return the digits of a number as an integer: 25 for 0.25."""
    return abs(int("".join(map(str, Decimal(str(number)).as_tuple().digits)))) if isfinite(number) else 0


def _reason(message: str) -> str:
    """Return llguidance's message without the position in our grammar.

    The pattern and the reason of a regular expression.
    """
    text = message.strip()
    first, *more = (line.strip() for line in text.rpartition("JSON schema: ")[2].splitlines())
    reason = next((line.removeprefix("error: ") for line in more if line.startswith("error: ")), "")
    return f"{first} {more[0]}: {reason}" if reason else first.rstrip(".")


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
        return RowMask(allowed=MatcherTokens(self._matcher, self._vocabulary.size))

    def advance(self, token: int) -> None:
        """Follow `token`; ValueError for one that is not allowed."""
        if not self._matcher.consume_token(token):
            raise ValueError(_reason(self._matcher.get_error() or "the value was left"))
        self.begun = self.begun or not self._vocabulary.piece(token).isspace()

    def fork(self) -> "SchemaConstraint":
        return SchemaConstraint(self._matcher.deep_copy(), self._vocabulary, self.begun)

    def draft(self, most: int) -> list[int]:
        """Return the bytes that must come next, as whole characters."""
        forced = self._matcher.compute_ff_bytes().decode("utf-8", "ignore")
        return self._vocabulary.tokenize(forced, special=False)[:most] if forced else []
