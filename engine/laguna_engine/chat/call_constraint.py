"""Tool calls in Laguna's format: names that exist, arguments that the tool has, values that it accepts.

A call is `<tool_call>NAME`, then `<arg_key>KEY</arg_key>` and `<arg_value>VALUE</arg_value>` for each argument, then
`</tool_call>`; blanks between the tags vary. What is outside of calls is free, and so is a value that nobody knows
anything about. Values are as the template writes them: turn markers escaped, line breaks as line feeds.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from weakref import WeakKeyDictionary

from laguna_engine.chat.encoding import escape, unescape
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.constrain.automaton import Blanks, Enclosed, End, Literal, Parts
from laguna_engine.constrain.base import FREE, Constraint, RowMask, Vocabulary
from laguna_engine.constrain.grammar import GrammarState, marker, markers_of
from laguna_engine.constrain.json_schema import JsonSchema
from laguna_engine.constrain.sorted_texts import Prefix, Strings, Suffixes
from laguna_engine.constrain.texts import AnyText, Occurring, OneOf, Text
from laguna_engine.gguf.laguna import END_TOOL_CALL, TOOL_CALL

LEAST_SHARE = 0.05
"""Share of the probability that known values must hold. Below it the model means something else: forced into the
nearest text it would edit another place, where a miss is answered with what it needs to try again."""

_BLANKS = 4
"""Most blanks between two tags."""

_MOST_REFERENCES = 8
"""Schemas that refer to one another, at most, before one that says what it is."""

_TAGS = "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", END_TOOL_CALL


@dataclass(frozen=True, slots=True)
class Choices:
    """A value is one of these strings, unless the model means another one.

    Attributes:
        strings: as the template writes them.
        least: share of the probability below which the model means another one; 0 for never.
    """

    strings: Strings
    least: float = LEAST_SHARE

    @classmethod
    def of(cls, strings: Iterable[str], least: float = LEAST_SHARE) -> "Choices | None":
        """The choice between `strings`; None without any, which leaves the value free."""
        found = Strings(written(each) for each in strings)
        return cls(found, least) if len(found) else None

    def text(self) -> Text:
        """The value before anything of it was written."""
        return OneOf(Prefix.of(self.strings), self.least)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A value is a text that occurs in a document, exactly `once` or more often, unless the model means another one."""

    document: Suffixes
    once: bool

    def text(self) -> Text:
        """The value before anything of it was written."""
        return Occurring(self.document, Prefix.of(self.document), self.once, LEAST_SHARE)


class ValueRules(Protocol):
    """What is known of the values of arguments, beyond their schema. Called on the engine thread; must be quick."""

    def rule(self, tool: str, key: str, given: Mapping[str, str]) -> Choices | Excerpt | None:
        """What the value of an argument may be, with those `given` before it; None for anything."""
        ...


class NoRules:
    """Nothing is known but the schema."""

    def rule(self, _tool: str, _key: str, _given: Mapping[str, str]) -> None:
        """See `ValueRules`."""
        return


def written(text: str) -> bytes:
    """`text` as the template writes it: the bytes that a model copies."""
    return escape(text.replace("\r\n", "\n").replace("\r", "\n")).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Every tool call of the answer is one that can run, as far as that is known while it is written.

    The values of a strict tool are JSON that their schema accepts, but for texts.

    Attributes:
        tools: those that may be called.
        rules: what is known of values.
        only_strict: leave the arguments of tools free that are not strict.
    """

    tools: tuple[ToolSpec, ...]
    rules: ValueRules = field(default_factory=NoRules)
    only_strict: bool = False
    _begun: "WeakKeyDictionary[Vocabulary, tuple[_Grammar, GrammarState]]" = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    @classmethod
    def strict(cls, tools: Iterable[ToolSpec]) -> "ToolCalls | None":
        """Calls of some tools, held to the schemas of those that are strict; None if none is.

        RequestError for a schema that cannot be used.
        """
        offered = tuple(tools)
        for tool in offered:
            for schema in (_json_schema(tool, key) for key in _properties(tool) if tool.strict):
                if schema is not None:
                    JsonSchema.checked(schema)
        return cls(offered, only_strict=True) if any(tool.strict for tool in offered) else None

    def begin(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> "CallConstraint":
        """See `ConstraintSpec`. Without effect on a vocabulary that has no token for `<tool_call>`."""
        grammar, first = self._begun.get(vocabulary) or self._prepared(vocabulary)
        # Files may have changed since the last generation.
        grammar.forget()
        return CallConstraint(first, vocabulary.id_of(TOOL_CALL))

    def _prepared(self, vocabulary: Vocabulary) -> "tuple[_Grammar, GrammarState]":
        """The grammar and its first state, which is kept, as what it allows is always the same."""
        grammar = _Grammar(self, vocabulary)
        self._begun[vocabulary] = grammar, GrammarState(grammar.call(), vocabulary, markers_of(vocabulary, *_TAGS))
        return self._begun[vocabulary]


class CallConstraint(Constraint):
    """Free text, and calls in it."""

    def __init__(self, first: GrammarState, opens: int | None, call: GrammarState | None = None) -> None:
        """Start outside of a call, or in one.

        Args:
            first: the state right behind the token that opens a call.
            opens: that token, None where there is none.
            call: where the call stands that is being written; None for none.
        """
        self._first = first
        self._opens = opens
        self._call = call

    def mask(self) -> RowMask:
        """See `Constraint`."""
        return FREE if self._call is None else self._call.mask()

    def advance(self, token: int) -> None:
        """See `Constraint`."""
        if token == self._opens:
            self._call = self._first
        elif self._call is not None:
            following = self._call.after(token)
            self._call = following if following.parts else None

    def let_go(self) -> None:
        """See `Constraint`: the value is free, or if it is none that does not fit, the rest of the call."""
        if self._call is not None:
            freed = self._call.freed()
            self._call = freed if freed.parts else None

    def fork(self) -> "CallConstraint":
        """See `Constraint`."""
        return CallConstraint(self._first, self._opens, self._call)

    def draft(self, most: int) -> list[int]:
        """See `Constraint`."""
        return [] if self._call is None else self._call.draft(most)


class _Grammar:
    """The parts of a call."""

    def __init__(self, calls: ToolCalls, vocabulary: Vocabulary) -> None:
        tags = [marker(vocabulary, tag) for tag in _TAGS]
        self._key, self._end_key, self._value_tag, self._end_value, self._end_call = tags
        self._tools = {tool.name: tool for tool in calls.tools}
        self._names = Strings(name.encode() for name in self._tools)
        self._rules = calls.rules
        self._only_strict = calls.only_strict
        self._vocabulary = vocabulary
        self._known: dict[tuple[str, str, tuple[tuple[str, str], ...]], Text] = {}

    def forget(self) -> None:
        """Ask for the values of arguments anew."""
        self._known.clear()

    def call(self) -> Parts:
        """What follows `<tool_call>`: nothing is known if there are no tools."""
        if not self._tools:
            return ()
        closings: list[tuple[bytes, Callable[[bytes], Parts]]] = [
            (b"\n", lambda name: self._named(name, self._arguments)),
            (self._key, lambda name: self._named(name, self._keys)),
        ]
        return (Enclosed(OneOf(Prefix.of(self._names)), closings),)

    def _named(self, name: bytes, then: Callable[[ToolSpec, Mapping[str, str]], Parts]) -> Parts:
        tool = self._tools[name.decode()]
        return (End(),) if self._only_strict and not tool.strict else then(tool, {})

    def _arguments(self, tool: ToolSpec, given: Mapping[str, str]) -> Parts:
        """The next argument, or the end of the call."""
        return (Blanks(_BLANKS, b"", lambda: self._next_tag(tool, given)),)

    def _next_tag(self, tool: ToolSpec, given: Mapping[str, str]) -> Parts:
        keys, ends = self._keys(tool, given), not _missing(tool, given)
        parts: Parts = (Literal(self._key, lambda: keys),) if keys else ()
        return (*parts, Literal(self._end_call, lambda: (End(),))) if ends or not keys else parts

    def _keys(self, tool: ToolSpec, given: Mapping[str, str]) -> Parts:
        left = [key for key in _properties(tool) if key not in given]
        if not left:
            return ()
        keys = OneOf(Prefix.of(Strings(key.encode() for key in left)))
        return (
            Enclosed(keys, [(self._end_key, lambda key: self._before_value(tool, given, key.decode()))], settles=True),
        )

    def _before_value(self, tool: ToolSpec, given: Mapping[str, str], key: str) -> Parts:
        return (Blanks(_BLANKS, b"\n", lambda: (Literal(self._value_tag, lambda: self._value(tool, given, key)),)),)

    def _value(self, tool: ToolSpec, given: Mapping[str, str], key: str) -> Parts:
        def then(said: bytes) -> Parts:
            return self._arguments(tool, {**given, key: unescape(said.decode("utf-8", "replace"))})

        return (Enclosed(self._text(tool, given, key), [(self._end_value, then)]),)

    def _text(self, tool: ToolSpec, given: Mapping[str, str], key: str) -> Text:
        strings = _choices(_properties(tool)[key])
        if strings:
            return OneOf(Prefix.of(Strings(map(written, strings))))
        # A grammar is asked what follows more often than once.
        asked = tool.name, key, tuple(given.items())
        if asked not in self._known:
            rule = self._rules.rule(tool.name, key, given)
            schema = _json_schema(tool, key) if tool.strict else None
            if schema is not None:
                self._known[asked] = JsonSchema.checked(schema).value(self._vocabulary)
            else:
                self._known[asked] = AnyText() if rule is None else rule.text()
        return self._known[asked]


def _properties(tool: ToolSpec) -> Mapping[str, object]:
    found = tool.parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def _missing(tool: ToolSpec, given: Mapping[str, str]) -> bool:
    required = tool.parameters.get("required")
    return isinstance(required, list | tuple) and any(name not in given for name in required)


def _json_schema(tool: ToolSpec, key: str) -> Mapping[str, object] | None:
    """The schema of an argument that is written as JSON, on its own; None for one that is, or may be, plain text."""
    schema: object = _properties(tool)[key]
    shared = {name: tool.parameters[name] for name in ("$defs", "definitions") if name in tool.parameters}
    resolved = schema
    for _ in range(_MOST_REFERENCES):
        reference = resolved.get("$ref") if isinstance(resolved, Mapping) else None
        if not isinstance(reference, str):
            break
        resolved = tool.parameters
        for name in reference.removeprefix("#/").split("/"):
            resolved = resolved.get(name) if isinstance(resolved, Mapping) else None
    kinds = resolved.get("type") if isinstance(resolved, Mapping) else None
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(schema, Mapping) or not isinstance(kinds, list | tuple) or not kinds or "string" in kinds:
        return None
    return {**schema, **shared}


def _choices(schema: object) -> list[str]:
    """The only values that a schema allows, as they are written; empty where there are too many to list."""
    if not isinstance(schema, Mapping):
        return []
    if isinstance(values := schema.get("enum"), list | tuple):
        return [value if isinstance(value, str) else json.dumps(value) for value in values]
    return ["true", "false"] if schema.get("type") == "boolean" else []
