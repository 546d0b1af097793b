"""Tool calls in Laguna's format: names that exist, arguments that the tool has, values that it accepts.

A call is `<tool_call>NAME`, then `<arg_key>KEY</arg_key>` and `<arg_value>VALUE</arg_value>` for each argument, then
`</tool_call>`; blanks between the tags vary. What is outside of calls is free, and so is a value of which
nothing is known. Values are as the template writes them: turn markers escaped, line breaks as line feeds.

All calls are one grammar (`call_grammar`), in which values are free unless their schema says what they are. Beside it
runs a second matcher while a value is written of which `ValueRules` know more, such as that it occurs in a file.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from laguna_engine.chat.call_grammar import (
    CLOSING,
    KEY,
    OPENING,
    call_grammar,
    check_strict,
    quoted,
    value_grammar,
    written,
)
from laguna_engine.chat.encoding import unescape
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.constrain import matcher
from laguna_engine.constrain.base import FREE, Constraint, RowMask, Vocabulary
from laguna_engine.constrain.matcher import MatcherTokens, compiled, compiled_once
from laguna_engine.gguf.laguna import END_TOOL_CALL, TOOL_CALL

if TYPE_CHECKING:
    from llguidance import LLMatcher

LEAST_SHARE = 0.05
"""Share of the probability that known values must hold. Below it the model means something else: forced into the
nearest text it would edit another place, where a miss is answered with what it needs to try again."""

_FEW = 512
"""Candidates that are tested one by one (4 µs each); for more all allowed tokens are listed (up to 20 ms)."""

_MOST_FORCED = 8
"""Stretches of forced text, with a choice of blanks between them, that one draft looks ahead."""

_CHUNK = re.compile(r"\w+|\W")
"""An excerpt begins at a word, a blank or a sign, and ends anywhere."""

_CLOSING = CLOSING.encode()
_OPENING = OPENING.encode()
_KEY = re.compile(rb"(?s)<arg_key>([^<]*)</arg_key>[ \n]*<arg_value>$")
_NAME = re.compile(rb"([^\n<]*)[\n<]")
_SPECIAL = re.compile(rb"\xff\[(\d+)\]")
"""llguidance's name of a special token."""


@dataclass(frozen=True, slots=True)
class Choices:
    """A value is one of these strings, unless the model means another one.

    Attributes:
        strings: as the template writes them, sorted.
        least: share of the probability below which the model means another one; 0 for never.
    """

    strings: tuple[str, ...]
    least: float = LEAST_SHARE

    @classmethod
    def of(cls, strings: Iterable[str], least: float = LEAST_SHARE) -> "Choices | None":
        """Return the choice between `strings`; None without any, which leaves the value free."""
        found = tuple(sorted({written(each) for each in strings}))
        return cls(found, least) if found else None

    @property
    def lark(self) -> str:
        """The value as a grammar."""
        return f"start: VALUE\nVALUE: {' | '.join(map(quoted, self.strings))}\n"

    def is_whole(self, text: str) -> bool:
        """Return whether the value may end after `text`."""
        place = bisect_left(self.strings, text)
        return self.strings[place : place + 1] == (text,)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A value is a text that occurs in a document, exactly `once` or more often, unless the model means another one.

    Attributes:
        document: as the template writes it.
    """

    document: str
    once: bool
    least = LEAST_SHARE

    @property
    def lark(self) -> str:
        """The value as a grammar."""
        return value_grammar(_CHUNK.findall(self.document))

    def is_whole(self, text: str) -> bool:
        """Return whether the value may end after `text`: not inside a word where it is replaced everywhere."""
        if not text.strip():
            return False
        first = self.document.find(text)
        if self.once:
            return first >= 0 and self.document.find(text, first + 1) < 0
        return not text.isidentifier() or re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.document) is not None


class ValueRules(Protocol):
    """What is known of the values of arguments, beyond their schema. Called on the engine thread; must be quick."""

    def rule(self, tool: str, key: str, given: Mapping[str, str]) -> Choices | Excerpt | None:
        """Return what the value of an argument may be, with those `given` before it; None for anything."""
        ...


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Every tool call of the answer is one that can run, as far as that is known while it is written.

    The values of a strict tool are what its schema accepts.

    Attributes:
        tools: those that may be called.
        rules: what is known of values beyond their schemas; None for nothing.
        only_strict: leave the arguments of tools free that are not strict.
    """

    tools: tuple[ToolSpec, ...]
    rules: ValueRules | None = None
    only_strict: bool = False
    _begun: "WeakKeyDictionary[Vocabulary, _Calls]" = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    @classmethod
    def strict(cls, tools: Iterable[ToolSpec]) -> "ToolCalls | None":
        """Return the calls of some tools, held to the schemas of the strict ones; None if none is strict.

        RequestError for a schema that cannot be used.
        """
        offered = tuple(tools)
        if not any(tool.strict for tool in offered):
            return None
        check_strict(offered)
        return cls(offered, only_strict=True)

    def begin(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> "CallConstraint":
        """Begin in free text. Has no effect on a vocabulary that has no token for `<tool_call>`."""
        if vocabulary not in self._begun:
            self._begun[vocabulary] = _Calls(self, vocabulary)
        return CallConstraint(self._begun[vocabulary])


class CallConstraint(Constraint):
    """Free text, and calls in it."""

    def __init__(self, calls: "_Calls", call: "_Call | None" = None) -> None:
        """Start outside of a call, or in one."""
        self._calls = calls
        self._call = call

    def mask(self) -> RowMask:
        return FREE if self._call is None else self._call.mask()

    def advance(self, token: int) -> None:
        if token == self._calls.opens:
            self._call = self._calls.begin()
        elif self._call is not None and not self._call.advance(token):
            self._call = None

    def relax(self) -> None:
        """Leave the open value free, or the rest of the call where no known value is open."""
        if self._call is not None and not self._call.free_value():
            self._call = None

    def fork(self) -> "CallConstraint":
        return CallConstraint(self._calls, None if self._call is None else self._call.copy())

    def draft(self, most: int) -> list[int]:
        text = b"" if self._call is None else self._call.forced()
        return self._calls.vocabulary.tokenize(text.decode("utf-8", "ignore"), special=True)[:most] if text else []


class _Calls:
    """The grammar of a `ToolCalls` in one vocabulary.

    Attributes:
        opens: the token that opens a call; None where there is none, or no tool.
        closes_value: the token that ends a value; None where that is text.
        held: the arguments whose values the grammar says, by the names of tool and argument.
    """

    def __init__(self, spec: ToolCalls, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.tools = {tool.name: tool for tool in spec.tools}
        self.rules, self.only_strict = spec.rules, spec.only_strict
        self.opens = vocabulary.id_of(TOOL_CALL) if spec.tools else None
        self.closes_value = vocabulary.id_of(CLOSING)
        grammar = call_grammar(spec.tools, vocabulary.id_of, only_strict=spec.only_strict)
        self._first = compiled(vocabulary, grammar.lark) if spec.tools else None
        self.held = grammar.held

    def begin(self) -> "_Call":
        """Return a call of which nothing is written."""
        assert self._first is not None, "there are tools"
        return _Call(self, self._first.deep_copy())

    def value(self, tool: str, key: str, given: Mapping[str, str]) -> "_Value | None":
        """Return what is known of a value beyond the grammar."""
        rule = None if self.rules is None or (tool, key) in self.held else self.rules.rule(tool, key, given)
        return None if rule is None else _Value(rule, compiled_once(self.vocabulary, rule, lambda: rule.lark))

    def closers(self, written: int) -> list[int]:
        """Return the tokens that may end a value; `written` bytes of the tag that does are written already."""
        if self.closes_value is not None:
            return [self.closes_value]
        return self._closers[bool(written)]

    @cached_property
    def _closers(self) -> tuple[list[int], list[int]]:
        """The tokens that may begin the closing tag, which is text, and those that may continue it."""
        pieces = list(enumerate(self.vocabulary.pieces))
        return (
            [token for token, piece in pieces if any(_tails(piece))],
            [token for token, piece in pieces if piece and (piece in _CLOSING[1:] or _CLOSING[-1:] in piece)],
        )


def _tails(piece: bytes) -> Iterator[bytes]:
    """Yield each end of a piece of text that may begin the closing tag."""
    place = piece.find(_CLOSING[:1])
    while place >= 0:
        tail = piece[place:]
        if _CLOSING.startswith(tail) or tail.startswith(_CLOSING):
            yield tail
        place = piece.find(_CLOSING[:1], place + 1)


@dataclass(frozen=True, slots=True)
class _Value:
    """A known value that is being written.

    Attributes:
        rule: what it is.
        text: what it continues with; None where only the closing tag is possible.
        said: what is written.
        closing: how many bytes of the closing tag, which is text, are written; 0 for none.
    """

    rule: Choices | Excerpt
    text: "LLMatcher | None"
    said: bytes = b""
    closing: int = 0

    def closed(self, piece: bytes) -> int:
        """Return how many bytes of the closing tag, and of what follows it, are written after `piece`; 0 for none."""
        rest = _CLOSING[self.closing :]
        if self.closing and (rest.startswith(piece) or piece.startswith(rest)):
            return self.closing + len(piece)
        whole = (tail for tail in _tails(piece) if self.text is not None and self.is_whole(piece.removesuffix(tail)))
        return len(next(whole, b""))

    def is_whole(self, head: bytes = b"") -> bool:
        """Return whether the value may end after `head`, which continues it."""
        try:
            return self.rule.is_whole((self.said + head).decode())
        except UnicodeDecodeError:
            return False


@dataclass(slots=True)
class _Argument:
    """An argument whose value is being written.

    Attributes:
        starts: where the value starts in the text of the call.
        held: whether the grammar says what the value is.
        value: what is known of it beyond the grammar; None for nothing.
    """

    key: str
    starts: int
    held: bool
    value: _Value | None


class _Call:
    """A call that is being written."""

    def __init__(self, calls: _Calls, grammar: "LLMatcher") -> None:
        self._calls = calls
        self._grammar = grammar
        self._tool: ToolSpec | None = None
        self._given: dict[str, str] = {}
        self._argument: _Argument | None = None
        # Of the arguments that may come next: their rules read files.
        self._values: dict[str, _Value | None] = {}
        # Written since the call began, or since the last value ended.
        self._text = b""

    def copy(self) -> "_Call":
        new = _Call(self._calls, self._grammar.deep_copy())
        new._tool, new._given, new._text = self._tool, dict(self._given), self._text
        new._argument = None if self._argument is None else replace(self._argument)
        new._values = dict(self._values)
        return new

    def mask(self) -> RowMask:
        open_value = self._argument
        if open_value is None or open_value.held:
            return RowMask(allowed=_CallTokens(self))
        if (value := open_value.value) is not None:
            return RowMask(allowed=_CallTokens(self), least=value.rule.least)
        # Only the call of a strict tool has to end as a call: any other may be given up in a value.
        assert self._tool is not None, "an argument has a tool"
        return RowMask(allowed=_CallTokens(self), wide=True) if self._tool.strict else FREE

    def advance(self, token: int) -> bool:
        """Write `token`; False where the call has ended, was left or is free from now on."""
        if self._grammar.try_consume_tokens([token]) != 1:
            return False
        piece = self._calls.vocabulary.piece(token)
        self._text += piece
        if self._argument is None:
            if not self._read_name():
                return False
            self._open_value()
        else:
            self._continue_value(token, piece)
        return not self._grammar.is_stopped() and not self._grammar.is_accepting()

    def free_value(self) -> bool:
        """Leave the open value free; False if none is open of which something is known."""
        if self._argument is None or self._argument.value is None:
            return False
        self._argument.value = None
        return True

    def _read_name(self) -> bool:
        """Read the tool's name; False if its arguments are free."""
        if self._tool is None and (named := _NAME.match(self._text)) is not None:
            self._tool = self._calls.tools[named[1].decode()]
            return self._tool.strict or not self._calls.only_strict
        return True

    def _open_value(self) -> None:
        """Begin the value whose opening tag is written."""
        found = self._opened(self._text)
        if found is None or self._tool is None:
            return
        key, starts = found
        value, rest = self._value(self._tool, key), self._text[starts:]
        if value is not None and rest:
            value = self._after(value, rest)
        self._argument = _Argument(key, starts, (self._tool.name, key) in self._calls.held, value)

    def _continue_value(self, token: int, piece: bytes) -> None:
        assert self._argument is not None, "a value is open"
        closes = self._calls.closes_value
        ends = self._text.find(_CLOSING, self._argument.starts) if closes is None or token == closes else -1
        if ends >= 0:
            if closes is not None:
                ends = len(self._text) - len(piece)
            said = self._text[self._argument.starts : ends].decode("utf-8", "replace")
            self._given[self._argument.key] = unescape(said)
            self._text, self._argument, self._values = self._text[ends + len(_CLOSING) :], None, {}
            self._open_value()
        elif self._argument.value is not None:
            self._argument.value = self._after(self._argument.value, piece)

    def _value(self, tool: ToolSpec, key: str) -> _Value | None:
        """Return what is known of the value of an argument that comes next."""
        if key not in self._values:
            self._values[key] = self._calls.value(tool.name, key, self._given)
        return self._values[key]

    def _opened(self, text: bytes) -> tuple[str, int] | None:
        """Return the key of the value that is open after `text`, and where the value starts."""
        at = text.find(_OPENING)
        key = _KEY.search(text[: at + len(_OPENING)]) if at >= 0 else None
        return None if key is None else (key[1].decode(), at + len(_OPENING))

    def _steps(self, value: _Value, piece: bytes) -> tuple[bool, int]:
        """Return whether a value's text continues with `piece`, and `_Value.closed`."""
        vocabulary = self._calls.vocabulary
        continues = value.text is not None and matcher.allows(value.text, vocabulary, piece)
        return continues, value.closed(piece) if self._calls.closes_value is None else 0

    def _after(self, value: _Value, piece: bytes) -> _Value | None:
        """Return the value after `piece`; None where it was left."""
        continues, closing = self._steps(value, piece)
        if not continues and not closing:
            return None
        text = (
            matcher.after(value.text, self._calls.vocabulary, piece) if continues and value.text is not None else None
        )
        return _Value(value.rule, text, value.said + piece, closing)

    def allows(self, token: int) -> bool:
        """Return whether `token` may come next."""
        argument, text = self._argument, self._calls.vocabulary.pieces[token]
        value = None if argument is None else argument.value
        if value is not None and text and not value.closing and _CLOSING[:1] not in text:
            # Most candidates: text inside of a value, which the grammar of the call does not look into.
            return value.text is not None and value.text.validate_tokens([token]) == 1
        if self._grammar.validate_tokens([token]) != 1:
            return False
        piece = self._calls.vocabulary.piece(token)
        if argument is not None:
            if value is None:
                return True
            return value.is_whole() if token == self._calls.closes_value else any(self._steps(value, piece))
        found = self._opened(self._text + piece) if b">" in piece else None
        if found is None or self._tool is None:
            return True
        key, starts = found
        rest = (self._text + piece)[starts:]
        value = self._value(self._tool, key) if rest else None
        return value is None or any(self._steps(value, rest))

    def every(self) -> NDArray[np.int32]:
        size = self._calls.vocabulary.size
        value = None if self._argument is None else self._argument.value
        if value is None:
            tokens = MatcherTokens(self._grammar, size).every()
            piece, may_open = self._calls.vocabulary.piece, self._argument is None
            crossing = (
                token for token in tokens.tolist() if not (may_open and b">" in piece(token)) or self.allows(token)
            )
            return np.fromiter(crossing, np.int32)
        closers = np.array([token for token in self._calls.closers(value.closing) if self.allows(token)], np.int32)
        if value.text is None:
            return closers
        pieces = self._calls.vocabulary.pieces
        inside = [token for token in MatcherTokens(value.text, size).every().tolist() if pieces[token]]
        return np.union1d(np.array(inside, np.int32), closers)

    def forced(self) -> bytes:
        """Return the text that comes next, where the only choice is in the blanks."""
        argument = self._argument
        if argument is not None and argument.value is not None:
            return self._forced_value(argument.value)
        if argument is not None and not argument.held:
            return b""
        text, ahead = "", self._grammar
        for _ in range(_MOST_FORCED):
            more = self._spelled(ahead.compute_ff_bytes())
            if not more and not text.endswith(("\n", OPENING)) and self._behind(ahead, "\n") is not None:
                more = "\n"
            if not more:
                tags = [tag for tag in (KEY, OPENING, END_TOOL_CALL) if self._behind(ahead, tag) is not None]
                more = tags[0] if len(tags) == 1 else ""
            following = self._behind(ahead, more) if more else None
            if following is None:
                break
            text, ahead = text + more, following
        return text.encode()

    def _spelled(self, forced: bytes) -> str:
        """Replace llguidance's names of special tokens in the bytes that come next by their texts."""
        piece = self._calls.vocabulary.piece
        return _SPECIAL.sub(lambda found: piece(int(found[1])), forced).decode("utf-8", "ignore")

    def _behind(self, grammar: "LLMatcher", text: str) -> "LLMatcher | None":
        """Return the grammar after `text`, tags included; None where it does not allow it."""
        tokens = self._calls.vocabulary.tokenize(text, special=True)
        ahead: LLMatcher = grammar.deep_copy()
        return ahead if ahead.try_consume_tokens(tokens) == len(tokens) else None

    def _forced_value(self, value: _Value) -> bytes:
        if value.text is None or value.closing:
            return _CLOSING[value.closing :]
        text: bytes = value.text.compute_ff_bytes()
        ahead = matcher.after(value.text, self._calls.vocabulary, text)
        return text + _CLOSING if ahead is not None and ahead.is_stopped() else text


class _CallTokens:
    """The tokens that a call allows next (`AllowedTokens`)."""

    def __init__(self, call: _Call) -> None:
        self._call = call

    def passing(self, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        if len(candidates) > _FEW:
            return np.isin(candidates, self._every)
        return np.array([self._call.allows(token) for token in candidates.tolist()], np.bool_)

    def every(self) -> NDArray[np.int32]:
        return self._every

    @cached_property
    def _every(self) -> NDArray[np.int32]:
        return self._call.every()
