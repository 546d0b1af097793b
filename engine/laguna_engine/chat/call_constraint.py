"""Restricts tool calls to tools that exist, arguments that they have, and values that they accept.

Text outside of calls is free. A call follows a grammar (`call_grammar`), in which a value is free unless its schema
restricts it. While a value is generated for which `ValueRules` has a rule, such as that it occurs in a file, a second
matcher runs beside that grammar.
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

from laguna_engine.chat.call_form import FormKind
from laguna_engine.chat.call_grammar import call_grammar, check_strict, quoted, value_grammar
from laguna_engine.chat.call_writing import CallWriting, OpenValue, brackets, normalized
from laguna_engine.chat.known_markup import LAGUNA_TURN, TurnMarkup
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.constrain import matcher
from laguna_engine.constrain.base import FREE, Constraint, RowMask, Vocabulary
from laguna_engine.constrain.matcher import MatcherTokens, compiled, compiled_once

if TYPE_CHECKING:
    from llguidance import LLMatcher

LEAST_SHARE = 0.05
"""Share of the probability that the allowed values must have. Below it the model means something else: forced into the
nearest text it would edit another place, whereas after a failed edit it is shown what it needs to try again."""

_FEW = 512
"""Most candidates to test one by one (4 µs each); for more, all allowed tokens are listed (up to 20 ms)."""

_MOST_FORCED = 8
"""Pieces of forced text, separated by optional blanks, that one draft may have."""

_LINE_BYTES = 400
"""Bytes at the end of an answer in which the beginning of a call is searched."""

_SPECIAL = re.compile(rb"\xff\[(\d+)\]")
"""llguidance's name of a special token."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Allows one of some strings, unless the model means another one.

    Attributes:
        strings: sorted.
        least: share of the probability below which the model means another one; 0 for never.
    """

    strings: tuple[str, ...]
    least: float = LEAST_SHARE

    @classmethod
    def of(cls, strings: Iterable[str], least: float = LEAST_SHARE) -> "Choices | None":
        """Return a choice between `strings`; None if there are none, which leaves the value free."""
        found = tuple(sorted({normalized(each) for each in strings}))
        return cls(found, least) if found else None

    def lark(self, writing: CallWriting, closes: bytes) -> str:
        """Return the value as a grammar."""
        return f"start: VALUE\nVALUE: {' | '.join(quoted(writing.written(each, closes)) for each in self.strings)}\n"

    def is_whole(self, text: str) -> bool:
        """Return whether the value may end after `text`."""
        place = bisect_left(self.strings, text)
        return self.strings[place : place + 1] == (text,)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Allows text that occurs in a document, exactly `once` or more often, unless the model means another one."""

    document: str
    once: bool
    least = LEAST_SHARE

    @classmethod
    def of(cls, document: str, *, once: bool) -> "Excerpt":
        return cls(normalized(document), once)

    def lark(self, writing: CallWriting, closes: bytes) -> str:
        """Return the value as a grammar: it begins at a word, blank or sign, and ends anywhere."""
        return value_grammar(writing.words(self.document, closes))

    def is_whole(self, text: str) -> bool:
        """Return whether the value may end after `text`: not within a word if it is replaced everywhere."""
        if not text.strip():
            return False
        first = self.document.find(text)
        if self.once:
            return first >= 0 and self.document.find(text, first + 1) < 0
        return not text.isidentifier() or re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.document) is not None


class ValueRules(Protocol):
    """Rules for the values of arguments beyond their schema. Called on the engine thread; must be quick."""

    def rule(self, tool: str, key: str, given: Mapping[str, str]) -> Choices | Excerpt | None:
        """Return the rule for an argument after the `given` ones; None for any value."""
        ...


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Restricts the calls of an answer to those that can run, as far as that is known while they are generated.

    Attributes:
        tools: the tools that may be called.
        rules: rules for values beyond their schemas; None for none.
        only_strict: allow any arguments for tools that are not strict.
        markup: the forms of calls.
    """

    tools: tuple[ToolSpec, ...]
    rules: ValueRules | None = None
    only_strict: bool = False
    markup: TurnMarkup = LAGUNA_TURN
    _begun: "WeakKeyDictionary[Vocabulary, list[_FormGrammar]]" = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    @classmethod
    def strict(cls, tools: Iterable[ToolSpec], markup: TurnMarkup = LAGUNA_TURN) -> "ToolCalls | None":
        """Return the calls of some tools by the schemas of the strict ones; None if none is strict.

        RequestError for a schema that cannot be enforced.
        """
        offered = tuple(tools)
        if not any(tool.strict for tool in offered):
            return None
        for form in markup.forms:
            check_strict(offered, CallWriting(form, markup.dropped))
        return cls(offered, only_strict=True, markup=markup)

    def begin(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> "CallConstraint":
        """Begin outside of a call."""
        if vocabulary not in self._begun:
            forms, shared = self.markup.forms if self.tools else (), self.markup.dropped
            self._begun[vocabulary] = [_FormGrammar(self, CallWriting(form, shared), vocabulary) for form in forms]
        return CallConstraint(self._begun[vocabulary])


class CallConstraint(Constraint):
    """Free text, and calls in it."""

    def __init__(self, calls: "Sequence[_FormGrammar]", call: "_Call | None" = None, line: bytes = b"") -> None:
        """Start outside of a call, or in one.

        Args:
            calls: the grammar of each form.
            call: the open call.
            line: the end of the answer so far.
        """
        self._calls, self._call, self._line = calls, call, line

    def mask(self) -> RowMask:
        return FREE if self._call is None else self._call.mask()

    def advance(self, token: int) -> None:
        if self._call is not None:
            if not self._call.advance(token):
                self._call, self._line = None, b"\n"
            return
        for calls in self._calls:
            if calls.opens == token:
                self._call = calls.begin()
                return
        self._watch(token)

    def _watch(self, token: int) -> None:
        """Find a call whose opening is text."""
        texts = [calls for calls in self._calls if calls.opens is None]
        if not texts:
            return
        self._line += texts[0].vocabulary.piece(token)
        for calls in texts:
            found = calls.writing.begins.search(self._line)
            if found is not None:
                call = calls.begin()
                if call.write(self._line[found.start("call") :]):
                    self._call = call
                self._line = b"\n"
                return
        if len(self._line) > _LINE_BYTES:
            # The rest begins neither a line nor the answer.
            self._line = b"-" + self._line[-_LINE_BYTES // 2 :]

    def relax(self) -> None:
        """Free the open value if it has a rule, otherwise the rest of the call."""
        if self._call is not None and not self._call.free_value():
            self._call = None

    def fork(self) -> "CallConstraint":
        return CallConstraint(self._calls, None if self._call is None else self._call.copy(), self._line)

    def draft(self, most: int) -> list[int]:
        if self._call is None:
            return []
        text = self._call.forced()
        return self._call.vocabulary.tokenize(text.decode("utf-8", "ignore"), special=True)[:most] if text else []


class _FormGrammar:
    """The grammar of a `ToolCalls` in one form and one vocabulary.

    Attributes:
        writing: follows calls of the form.
        opens: the token that begins a call; None if text does.
        closes_value: the token that ends a value; None if text does.
        fixed: names of tool and argument whose values the grammar restricts.
    """

    def __init__(self, spec: ToolCalls, writing: CallWriting, vocabulary: Vocabulary) -> None:
        self.vocabulary, self.writing = vocabulary, writing
        self.tools = {tool.name: tool for tool in spec.tools}
        self.rules, self.only_strict = spec.rules, spec.only_strict
        self.opens = vocabulary.id_of(writing.opens)
        self.closes_value = vocabulary.id_of(writing.closes.strip())
        self.closing = b"" if self.closes_value is None else vocabulary.piece(self.closes_value)
        self.name = writing.name_pattern(self.tools)
        grammar = call_grammar(spec.tools, vocabulary.id_of, writing, only_strict=spec.only_strict)
        self._first = compiled(vocabulary, grammar.lark)
        self.fixed = grammar.fixed
        self._closers: dict[tuple[bytes, bool], list[int]] = {}

    def begin(self) -> "_Call":
        """Return a call at its beginning."""
        return _Call(self, self._first.deep_copy())

    def value(self, tool: str, value: OpenValue, given: Mapping[str, str]) -> "_Value | None":
        """Return a value with its rule; None if it has none."""
        if self.rules is None or not value.key or (tool, value.key) in self.fixed:
            return None
        rule = self.rules.rule(tool, value.key, given)
        if rule is None:
            return None
        key = rule, self.writing.form.kind, value.closes
        text = compiled_once(self.vocabulary, key, lambda: rule.lark(self.writing, value.closes))
        return _Value(rule, self.writing, value.closes.removesuffix(self.closing), text)

    def closers(self, closes: bytes, written: int) -> list[int]:
        """Return the tokens that may end a value, after `written` bytes of what closes it."""
        if not closes:
            return []
        key = closes, bool(written)
        if key not in self._closers:
            pieces = enumerate(self.vocabulary.pieces)
            self._closers[key] = (
                [token for token, piece in pieces if piece and (piece in closes[1:] or closes[-1:] in piece)]
                if written
                else [token for token, piece in pieces if any(_tails(piece, closes))]
            )
        return self._closers[key]


def _tails(piece: bytes, closes: bytes) -> Iterator[bytes]:
    """Yield the suffixes of a piece that may begin what closes a value."""
    place = piece.find(closes[:1])
    while place >= 0:
        tail = piece[place:]
        if closes.startswith(tail) or tail.startswith(closes):
            yield tail
        place = piece.find(closes[:1], place + 1)


@dataclass(frozen=True, slots=True)
class _Value:
    """An open value with a rule.

    Attributes:
        rule: the rule.
        writing: follows calls of the form.
        closes: the text that ends it, without a special token.
        text: the matcher of its text; None if only what closes it may follow.
        written: the value so far.
        closing: bytes of `closes` written so far.
    """

    rule: Choices | Excerpt
    writing: CallWriting
    closes: bytes
    text: "LLMatcher | None"
    written: bytes = b""
    closing: int = 0

    def closed(self, piece: bytes) -> int:
        """Return the bytes of what closes it, and of what follows, after `piece`; 0 for none."""
        if not self.closes:
            return 0
        rest = self.closes[self.closing :]
        if self.closing and rest and (rest.startswith(piece) or piece.startswith(rest)):
            return self.closing + len(piece)
        tails = _tails(piece, self.closes)
        whole = (tail for tail in tails if self.text is not None and self.is_whole(piece.removesuffix(tail)))
        return len(next(whole, b""))

    def is_whole(self, head: bytes = b"") -> bool:
        """Return whether the value may end after `head`, which continues it."""
        try:
            return self.rule.is_whole(self.writing.read((self.written + head).decode(), self.closes))
        except ValueError:
            # In the middle of a character.
            return False


@dataclass(slots=True)
class _Argument:
    """The argument whose value is open.

    Attributes:
        opened: where the value starts, and what ends it.
        fixed: whether the grammar restricts the value.
        value: the value with its rule; None for no rule.
        scanned: the offset up to which its end has been searched.
    """

    opened: OpenValue
    fixed: bool
    value: _Value | None
    scanned: int


class _Call:
    """An open call."""

    def __init__(self, form: _FormGrammar, grammar: "LLMatcher") -> None:
        self._form, self.vocabulary, self._writing = form, form.vocabulary, form.writing
        self._grammar = grammar
        self._tool: ToolSpec | None = None
        self._given: dict[str, str] = {}
        self._argument: _Argument | None = None
        # Cached for the arguments that may come next, because rules read files.
        self._values: dict[str, _Value | None] = {}
        # The call since it or its arguments began, or since the last value.
        self._text = b""
        # Depth of brackets before that text.
        self._level = 0
        # Whether the end of the last value may be part of that value.
        self._uncertain_end = False

    def copy(self) -> "_Call":
        new = _Call(self._form, self._grammar.deep_copy())
        new._tool, new._given, new._text = self._tool, dict(self._given), self._text
        new._argument = None if self._argument is None else replace(self._argument)
        new._values, new._level, new._uncertain_end = dict(self._values), self._level, self._uncertain_end
        return new

    def mask(self) -> RowMask:
        argument = self._argument
        if argument is None or argument.fixed:
            return RowMask(allowed=_CallTokens(self), least=LEAST_SHARE if self._uncertain_end else 0.0)
        if (value := argument.value) is not None:
            return RowMask(allowed=_CallTokens(self), least=value.rule.least)
        if self._writing.form.kind not in (FormKind.TAGGED, FormKind.QUOTED):
            return RowMask(allowed=MatcherTokens(self._grammar, self.vocabulary.size), wide=True)
        # Only the call of a strict tool has to be finished; another may be given up within a value.
        assert self._tool is not None, "an argument has a tool"
        return RowMask(allowed=_CallTokens(self), wide=True) if self._tool.strict else FREE

    def advance(self, token: int) -> bool:
        """Follow `token`; return False if the call has ended, was left, or is free from now on."""
        return self._write([token], self.vocabulary.piece(token), token)

    def write(self, text: bytes) -> bool:
        """Follow text, as `advance` does."""
        tokens = matcher.bytes_of(self.vocabulary, text)
        return tokens is not None and self._write(tokens, text, None)

    def _write(self, tokens: list[int], piece: bytes, token: int | None) -> bool:
        if self._grammar.try_consume_tokens(tokens) != len(tokens):
            return False
        self._text += piece
        self._uncertain_end = False
        if self._argument is None:
            self._end_call()
            if not self._read_name():
                return False
            self._open_value()
        else:
            self._continue_value(token, piece)
        return not self._grammar.is_stopped() and not self._grammar.is_accepting()

    def free_value(self) -> bool:
        """Drop the rule of the open value; return False if there is none."""
        if self._argument is None or self._argument.value is None:
            return False
        self._argument.value = None
        return True

    def _read_name(self) -> bool:
        """Read the tool's name; return False if its arguments are free."""
        if self._tool is None and (named := self._form.name.search(self._text)) is not None:
            self._tool = self._form.tools[named[1].decode()]
            self._text, self._level = self._text[named.end() :], int(self._writing.form.kind is FormKind.JSON)
            return self._tool.strict or not self._form.only_strict
        return True

    def _end_call(self) -> None:
        """Prepare for the next call of a list."""
        if self._tool is None or not self._writing.is_list:
            return
        sign = b"}" if self._writing.is_json else b")"
        if sign in self._text and (not self._writing.is_json or self._level + brackets(self._text) <= 0):
            self._tool, self._given, self._text = None, {}, self._text[self._text.rfind(sign) + 1 :]

    def _drop(self, end: int) -> None:
        """Drop the text up to an offset."""
        before, self._text = self._text[:end], self._text[end:]
        if self._writing.is_json:
            self._level += brackets(before)

    def _open_value(self) -> None:
        """Begin the value that the text opens, if any."""
        opened = None if self._tool is None else self._writing.open_value(self._text, self._level)
        if opened is None or self._tool is None:
            return
        value, rest = self._value(self._tool, opened), self._text[opened.starts :]
        if value is not None and rest:
            value = self._after(value, rest)
        self._argument = _Argument(opened, (self._tool.name, opened.key) in self._form.fixed, value, opened.starts)
        if rest:
            self._close_value(None)

    def _continue_value(self, token: int | None, piece: bytes) -> None:
        assert self._argument is not None, "a value is open"
        if not self._close_value(token) and self._argument is not None and self._argument.value is not None:
            self._argument.value = self._after(self._argument.value, piece)

    def _close_value(self, token: int | None) -> bool:
        """End the open value if it is closed; return whether it is."""
        assert self._argument is not None, "a value is open"
        opened, closes = self._argument.opened, self._form.closes_value
        if closes is not None and token is not None and token != closes:
            return False
        ends, behind = self._writing.end_of_value(self._text, opened, self._argument.scanned)
        if behind is None:
            self._argument.scanned = ends
            return False
        try:
            value = self._writing.read(self._text[opened.starts : ends].decode("utf-8", "replace"), opened.closes)
        except ValueError:
            value = ""
        self._given[opened.key] = value
        self._drop(behind)
        self._argument, self._values = None, {}
        form = self._writing.form
        self._uncertain_end = closes is None and form.kind is FormKind.TAGGED and not form.escaped
        self._open_value()
        return True

    def _value(self, tool: ToolSpec, opened: OpenValue) -> _Value | None:
        """Return the value of the next argument with its rule; None for no rule."""
        if opened.key not in self._values:
            given = {**self._given, **self._writing.scalars(self._text[: opened.starts])}
            self._given = given
            self._values[opened.key] = self._form.value(tool.name, opened, given)
        return self._values[opened.key]

    def _steps(self, value: _Value, piece: bytes) -> tuple[bool, int]:
        """Return whether a value's text continues with `piece`, and `_Value.closed`."""
        continues = value.text is not None and matcher.allows(value.text, self.vocabulary, piece)
        return continues, value.closed(piece)

    def _after(self, value: _Value, piece: bytes) -> _Value | None:
        """Return the value after `piece`; None if the rule was broken."""
        continues, closing = self._steps(value, piece)
        if not continues and not closing:
            return None
        text = matcher.after(value.text, self.vocabulary, piece) if continues and value.text is not None else None
        return replace(value, text=text, written=value.written + piece, closing=closing)

    def allows(self, token: int) -> bool:
        """Return whether `token` may come next."""
        argument, text = self._argument, self.vocabulary.pieces[token]
        value = None if argument is None else argument.value
        if value is not None and text and not value.closing and not (value.closes and value.closes[:1] in text):
            # The most frequent case: text within a value, which the grammar does not restrict.
            return value.text is not None and value.text.validate_tokens([token]) == 1
        if self._grammar.validate_tokens([token]) != 1:
            return False
        piece = self.vocabulary.piece(token)
        if argument is not None:
            if value is None:
                return True
            if token == self._form.closes_value:
                return bool(value.closing) or value.is_whole()
            return any(self._steps(value, piece))
        if self._tool is None or not self._may_open(piece):
            return True
        opened = self._writing.open_value(self._text + piece, self._level)
        rest = b"" if opened is None else (self._text + piece)[opened.starts :]
        value = self._value(self._tool, opened) if opened is not None and rest else None
        return value is None or any(self._steps(value, rest))

    def _may_open(self, piece: bytes) -> bool:
        """Return whether a value may begin within a piece of text."""
        return any(sign in piece for sign in (b">", b'"', b"'"))

    def every(self) -> NDArray[np.int32]:
        argument, size = self._argument, self.vocabulary.size
        value = None if argument is None else argument.value
        if argument is None or value is None:
            tokens = MatcherTokens(self._grammar, size).every()
            if argument is not None or self._tool is None:
                return tokens
            piece = self.vocabulary.piece
            allowed = (token for token in tokens.tolist() if not self._may_open(piece(token)) or self.allows(token))
            return np.fromiter(allowed, np.int32)
        token = self._form.closes_value
        closers = [*([] if token is None else [token]), *self._form.closers(value.closes, value.closing)]
        ends = np.array([token for token in closers if self.allows(token)], np.int32)
        if value.text is None:
            return ends
        pieces = self.vocabulary.pieces
        inside = [token for token in MatcherTokens(value.text, size).every().tolist() if pieces[token]]
        return np.union1d(np.array(inside, np.int32), ends)

    def forced(self) -> bytes:
        """Return the text that must come next, up to a choice of blanks."""
        argument = self._argument
        if argument is not None and argument.value is not None:
            return self._forced_value(argument.value)
        if argument is not None and not argument.fixed:
            return b""
        text, ahead, form = "", self._grammar, self._writing.form
        tagged, opening = form.kind is FormKind.TAGGED, form.key_closes[0].rstrip().rpartition("\n")[2]
        steps = [part for each in (form.key_opens, form.key_closes[0], form.call_closes) for part in each.split()]
        for _ in range(_MOST_FORCED):
            more = self._spelled(ahead.compute_ff_bytes())
            if not more and tagged and not text.endswith(("\n", opening)) and self._behind(ahead, "\n") is not None:
                more = "\n"
            if not more and tagged:
                tags = [tag for tag in steps if self._behind(ahead, tag) is not None]
                more = tags[0] if len(tags) == 1 else ""
            following = self._behind(ahead, more) if more else None
            if following is None:
                break
            text, ahead = text + more, following
        return text.encode()

    def _spelled(self, forced: bytes) -> str:
        """Replace llguidance's names of special tokens by their texts."""
        piece = self.vocabulary.piece
        return _SPECIAL.sub(lambda found: piece(int(found[1])), forced).decode("utf-8", "ignore")

    def _behind(self, grammar: "LLMatcher", text: str) -> "LLMatcher | None":
        """Return the grammar after `text` with its special tokens; None if it is not allowed."""
        tokens = self.vocabulary.tokenize(text, special=True)
        ahead: LLMatcher = grammar.deep_copy()
        return ahead if ahead.try_consume_tokens(tokens) == len(tokens) else None

    def _forced_value(self, value: _Value) -> bytes:
        closes = value.closes + self._form.closing
        if value.text is None or value.closing:
            return closes[value.closing :]
        text: bytes = value.text.compute_ff_bytes()
        ahead = matcher.after(value.text, self.vocabulary, text)
        return text + closes if ahead is not None and ahead.is_stopped() else text


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
