"""The grammar of the calls of some tools in one form, in llguidance's Lark dialect.

Up to `_ANY_ORDER` tagged arguments may come in any order, each once, and the required ones must come. A tool with more
takes them in the schema's order if it is strict, because each subset would need a rule, and otherwise in any order and
number. In JSON and in forms with commas arguments have the schema's order.
"""

import json
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from laguna_engine.chat.call_arguments import KINDS, properties, required, types_of
from laguna_engine.chat.call_form import LAGUNA, QUOTE, VARIABLE, FormKind, common_start
from laguna_engine.chat.call_writing import TAG, CallWriting, normalized
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.constrain.json_schema import JsonSchema
from laguna_engine.errors import RequestError

_ANY_ORDER = 6
_MOST_REFERENCES = 8
"""Longest chain of references between schemas that is followed."""

_FREE = "/(?s:.*)/"
_FIXED = r"""
BLANKS: /[ \n]{0,16}/
VARIABLE: /[\w.\-]{0,64}/
EXTRA: /"(id|tool_call_id|call_id|type)"[ ]?:[ ]?("[\w\-]*"|0|[1-9][0-9]{0,8})/
NUMBER: /-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,19})?([eE][+\-]?[0-9]{1,3})?/
INTEGER: /-?(0|[1-9][0-9]{0,18})/
KEY: /[\w\-]{1,64}/
PYTHON: /'([^'\\]|\\(?s:.))*'|"([^"\\]|\\(?s:.))*"/
"""
_UNSUPPORTED = {"not", "if", "allOf"}
"""Keywords that cannot be turned into a regular expression."""

_FORMATS = {
    "date": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    "time": r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)",
    "uuid": r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "ipv4": r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)",
}
"""Regular expressions of RFC 3339 (without leap seconds), RFC 4122 and dotted addresses."""


@dataclass(frozen=True, slots=True)
class CallGrammar:
    """A grammar.

    Attributes:
        fixed: names of tool and argument whose values the grammar restricts; others are any text.
    """

    lark: str
    fixed: frozenset[tuple[str, str]]


def quoted(text: str) -> str:
    """Return a text as a literal of a grammar."""
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)


def value_grammar(chunks: Sequence[str]) -> str:
    """Return the grammar of a text that is a run of consecutive `chunks`; the last may be cut."""
    return f"start: VALUE\nVALUE: %regex {json.dumps({'substring_chunks': chunks})}\n"


def call_grammar(
    tools: Sequence[ToolSpec],
    id_of: Callable[[str], int | None] = lambda text: None,
    writing: CallWriting | None = None,
    *,
    only_strict: bool = False,
) -> CallGrammar:
    """Return the grammar of a call after its opening text, up to its end.

    Args:
        tools: the tools that may be called.
        id_of: returns the special token of a text, or None.
        writing: the form of the calls; None for Laguna's.
        only_strict: allow any arguments for tools that are not strict.

    Raises:
        RequestError: the schema of a strict tool cannot be enforced.
    """
    writing = writing or CallWriting(LAGUNA)
    calls = _WRITERS[writing.form.kind](writing, id_of)
    rules = [f"start: {calls.start()}", f"call: {' | '.join(f't{number}' for number in range(len(tools)))}", _FIXED]
    fixed: set[tuple[str, str]] = set()
    for number, tool in enumerate(tools):
        if only_strict and not tool.strict:
            rules.append(calls.free(f"t{number}", tool))
            continue
        ways = {key: _ways(tool, key, writing) for key in properties(tool)}
        fixed.update((tool.name, key) for key, each in ways.items() if each)
        rules += calls.rules(f"t{number}", tool, ways)
    return CallGrammar("\n".join(rules) + "\n", frozenset(fixed))


def check_strict(tools: Sequence[ToolSpec], writing: CallWriting | None = None) -> None:
    """Check that the schemas of strict tools can be enforced; RequestError with the reason if not."""
    from llguidance import LLMatcher

    grammar = LLMatcher.grammar_from_lark(call_grammar(tools, writing=writing, only_strict=True).lark)
    is_error, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    if is_error and messages:
        reason = messages[0].strip().splitlines()[0]
        raise RequestError(f"the schema of a strict tool cannot be used: {reason}; correct it, or leave that part out")


@dataclass(frozen=True, slots=True)
class _Text:
    """Plain text. regex: of it, in Lark's notation."""

    regex: str


@dataclass(frozen=True, slots=True)
class _Choices:
    """One of some texts, as literals of a grammar."""

    texts: str


@dataclass(frozen=True, slots=True)
class _Json:
    """A value other than a text, as a rule of a grammar."""

    rule: str


_Ways = Sequence[_Text | _Choices | _Json]
"""Alternatives for a value; empty for any value of its type."""


class _CallGrammar:
    """The grammar of one form; each kind has a class of its own."""

    def __init__(self, writing: CallWriting, id_of: Callable[[str], int | None]) -> None:
        self.form, self._writing, self._id_of = writing.form, writing, id_of

    def start(self) -> str:
        """Return the start rule: everything after the text that begins a call."""
        first, last = self.literal(self._writing.after_opening), self.literal(self._writing.end)
        if self._writing.is_list:
            return f"{first} call ({self.literal(self.form.between)} call)* {last}"
        # The text after the only call of a turn may be the end of the turn.
        return f"{first} call {self.literal(self.form.call_closes) if self.form.between else ''}"

    def free(self, name: str, tool: ToolSpec) -> str:
        """Return the rule of a call whose arguments are free."""
        return self.call(name, tool, '%json {"type": "object"}')

    def rules(self, name: str, tool: ToolSpec, ways: Mapping[str, _Ways]) -> Iterator[str]:
        """Yield the rules of a call; `ways` are the alternatives for its values."""
        raise NotImplementedError

    def call(self, name: str, tool: ToolSpec, arguments: str) -> str:
        """Return the rule of a call with these arguments."""
        raise NotImplementedError

    def literal(self, text: str) -> str:
        """Return a text of the form as a rule, with special tokens, flexible blanks and `VARIABLE` parts."""
        parts: list[str] = []
        at = 0
        for found in TAG.finditer(text):
            if (token := self._id_of(found[0])) is not None:
                parts += [*self._plain(text[at : found.start()]), f"<[{token}]>"]
                at = found.end()
        return " ".join([*parts, *self._plain(text[at:])])

    def _plain(self, text: str) -> Iterator[str]:
        for part in re.findall(rf"\s+|{VARIABLE}|[^\s{VARIABLE}]+", text):
            yield "BLANKS" if part.isspace() else "VARIABLE" if part == VARIABLE else quoted(part)


class _JsonGrammar(_CallGrammar):
    def rules(self, name: str, tool: ToolSpec, ways: Mapping[str, _Ways]) -> Iterator[str]:
        yield self.call(name, tool, JsonSchema.checked(_whole_schema(tool)).value)

    def call(self, name: str, tool: ToolSpec, arguments: str) -> str:
        if self.form.kind is FormKind.NAMED_JSON:
            return f"{name}: {quoted(tool.name)} {self.literal(self.form.after_name)} BLANKS ({arguments})"
        named, given = (f'{quoted(json.dumps(key))} BLANKS ":" BLANKS' for key in self.form.keys)
        return (
            f'{name}: "{{" BLANKS (EXTRA BLANKS "," BLANKS)? {named} {quoted(json.dumps(tool.name))} BLANKS "," BLANKS '
            f'(EXTRA BLANKS "," BLANKS)? {given} ({arguments}) BLANKS ("," BLANKS EXTRA BLANKS)? "}}"'
        )


class _CommaGrammar(_CallGrammar):
    """`N(K=V, …)` in Python, and `N{K:<|"|>V<|"|>, …}`."""

    def free(self, name: str, tool: ToolSpec) -> str:
        return f"{name}: {quoted(tool.name)} {quoted('(' if self.form.kind is FormKind.PYTHON else '{')} {_FREE}"

    def start(self) -> str:
        return f"{super().start()}\n{self._any()}"

    def _any(self) -> str:
        many = '"[" BLANKS (any (BLANKS "," BLANKS any)*)? BLANKS "]"'
        pairs = (
            '"{{" BLANKS ({key} BLANKS ":" BLANKS any (BLANKS "," BLANKS {key} BLANKS ":" BLANKS any)*)? BLANKS "}}"'
        )
        words = ["NUMBER", *map(quoted, ("true", "false", "null", "True", "False", "None"))]
        key = "PYTHON" if self.form.kind is FormKind.PYTHON else "KEY"
        return "\n".join(self._value("string", [_Text(_FREE)])) + (
            f"\nany: string | {' | '.join(words)} | {many} | {pairs.format(key=key)}"
        )

    def _value(self, name: str, ways: _Ways) -> Iterator[str]:
        """Yield the rules of a value with these alternatives."""
        quote = self.literal(QUOTE)
        for number, way in enumerate(ways):
            rule = f"{name}w{number}"
            match way:
                case _Json():
                    yield f"{rule}: {way.rule}"
                case _Choices() if self.form.kind is FormKind.PYTHON:
                    yield f'{rule}: "\'" ({way.texts}) "\'" | "\\"" ({way.texts}) "\\""'
                case _Choices():
                    yield f"{rule}: {quote} ({way.texts}) {quote}"
                case _Text(regex) if self.form.kind is FormKind.PYTHON and regex == _FREE:
                    yield f"{rule}: PYTHON"
                case _Text() if self.form.kind is FormKind.PYTHON:
                    yield f'{rule}: "\'" {rule.upper()} "\'" | "\\"" {rule.upper()} "\\""'
                    yield f"{rule.upper()}: {way.regex}"
                case _Text() if self._id_of(QUOTE) is None:
                    yield f"{rule}: {quote} {rule}t"
                    yield f"{rule}t[suffix={quoted(QUOTE)}]: {way.regex}"
                case _Text():
                    yield f"{rule}: {quote} {rule.upper()} {quote}"
                    yield f"{rule.upper()}: {way.regex}"
        yield f"{name}: {' | '.join(f'{name}w{number}' for number in range(len(ways)))}"

    def rules(self, name: str, tool: ToolSpec, ways: Mapping[str, _Ways]) -> Iterator[str]:
        opens, closes, sets = ("(", ")", "=") if self.form.kind is FormKind.PYTHON else ("{", "}", ":")
        keys, needed = list(ways), required(tool)
        if self.form.kind is FormKind.QUOTED:
            # Gemma's template sorts them.
            keys.sort()
        for place, key in enumerate(keys):
            value = f"{name}v{place}"
            if ways[key]:
                yield from self._value(value, ways[key])
            else:
                kind = _type(properties(tool)[key])
                yield f"{value}: {({'string': 'string', 'integer': 'INTEGER', 'number': 'NUMBER'}).get(kind, 'any')}"
        yield f"{name}: {quoted(tool.name)} {quoted(opens)} BLANKS {name}_0"
        for place in range(len(keys) + 1):
            following = []
            for other in range(place, len(keys)):
                comma = 'BLANKS "," BLANKS' if place else ""
                argument = f'{quoted(keys[other])} BLANKS "{sets}" BLANKS {name}v{other}'
                following.append(f"{comma} {argument} {name}_{other + 1}")
                if keys[other] in needed:
                    break
            else:
                following.append(f"BLANKS {quoted(closes)}")
            yield f"{name}_{place}: {' | '.join(following)}"


class _TaggedGrammar(_CallGrammar):
    """`<function=N><parameter=K>V</parameter>…</function>`."""

    def __init__(self, writing: CallWriting, id_of: Callable[[str], int | None]) -> None:
        super().__init__(writing, id_of)
        self._closing = writing.closes.strip()
        layout = writing.closes.removesuffix(self._closing)
        self._layout = f"{quoted(layout)}?" if layout else ""
        self._after_name = self.literal(self.form.after_name.strip())

    def start(self) -> str:
        return f"{self.literal(self._writing.after_opening)} call"

    def free(self, name: str, tool: ToolSpec) -> str:
        after = self._after_name or f'("\\n" | {self.literal(self.form.key_opens)})'
        return f"{name}: {quoted(tool.name)} {after} {_FREE}"

    def rules(self, name: str, tool: ToolSpec, ways: Mapping[str, _Ways]) -> Iterator[str]:
        begun = f"{self._after_name} BLANKS {name}_0" if self._after_name else f'("\\n" BLANKS {name}_0 | {name}_0)'
        yield f"{name}: {quoted(tool.name)} {begun}"
        for place, key in enumerate(ways):
            yield from self._value(f"{name}v{place}", ways[key])
        yield from self._arguments(name, tool)

    def _argument(self, key: str, value: str, kind: str) -> str:
        """Return an argument and the blanks after it. value: the name of its rule."""
        one, other = (each.rstrip() for each in self.form.key_closes)
        closes = self.literal(one)
        if one != other and kind != "string":
            # The tags name the value's type.
            start = common_start(one, other)
            end = common_start(one[len(start) :][::-1], other[len(start) :][::-1])[::-1]
            closes = f"{self.literal(start)} VARIABLE {self.literal(end.lstrip(string.ascii_letters))}"
        layout = self.form.key_closes[0][len(self.form.key_closes[0].rstrip()) :]
        before = quoted(layout) if layout else ""
        return f"{self.literal(self.form.key_opens)} {quoted(key)} {closes} {before} {value} BLANKS"

    def _value(self, name: str, ways: _Ways) -> Iterator[str]:
        """Yield the rules of a value and its closing tag."""
        closing = self.literal(self._closing)
        for number, way in enumerate(ways or [_Text(_FREE)]):
            rule = f"{name}w{number}"
            if not isinstance(way, _Text):
                yield f"{rule}: ({way.texts if isinstance(way, _Choices) else way.rule}) {self._layout} {closing}"
            elif self._id_of(self._closing) is None:
                yield f"{rule}[suffix={quoted(self._closing)}]: {way.regex}"
            else:
                yield f"{rule}: {rule.upper()} {closing}"
                yield f"{rule.upper()}: {way.regex}"
        yield f"{name}: {' | '.join(f'{name}w{number}' for number in range(max(1, len(ways))))}"

    def _arguments(self, name: str, tool: ToolSpec) -> Iterator[str]:
        """Yield the rules of the arguments after the name, and of the end of the call."""
        keys, needed, end = list(properties(tool)), required(tool), self.literal(self.form.call_closes)
        each = [self._argument(key, f"{name}v{place}", _type(properties(tool)[key])) for place, key in enumerate(keys)]
        if len(keys) <= _ANY_ORDER:
            for given in range(1 << len(keys)):
                left = [place for place in range(len(keys)) if not given >> place & 1]
                ways = [f"{each[place]} {name}_{given | 1 << place}" for place in left]
                if not any(keys[place] in needed for place in left):
                    ways.append(end)
                yield f"{name}_{given}: {' | '.join(ways)}"
        elif tool.strict:
            in_order = (each[place] if key in needed else f"({each[place]})?" for place, key in enumerate(keys))
            yield f"{name}_0: {' '.join(in_order)} {end}"
        else:
            yield f"{name}_0: ({' | '.join(each)})* {end}"


_WRITERS: Mapping[FormKind, type[_CallGrammar]] = {
    FormKind.JSON: _JsonGrammar,
    FormKind.NAMED_JSON: _JsonGrammar,
    FormKind.PYTHON: _CommaGrammar,
    FormKind.QUOTED: _CommaGrammar,
    FormKind.TAGGED: _TaggedGrammar,
}


def _whole_schema(tool: ToolSpec) -> Mapping[str, object]:
    """Return the schema of a call's arguments; for a tool that is not strict, only what is checked afterwards."""
    if tool.strict:
        return tool.parameters
    checked: dict[str, object] = {}
    for key, schema in properties(tool).items():
        choices = schema.get("enum") if isinstance(schema, Mapping) else None
        if isinstance(choices, list | tuple) and choices:
            checked[key] = {"enum": list(choices)}
        else:
            checked[key] = {"type": kind} if (kind := _type(schema)) else {}
    needed = [key for key in checked if key in required(tool)]
    return {"type": "object", "properties": checked, "required": needed, "additionalProperties": False}


def _type(schema: object) -> str:
    """Return the only type of a value; empty if it may have several."""
    types = types_of(schema)
    return types[0] if len(types) == 1 and types[0] in KINDS else ""


def _ways(tool: ToolSpec, key: str, writing: CallWriting) -> _Ways:
    """Return the alternatives for the value of an argument; empty for any value of its type.

    Raises:
        RequestError: the schema of a strict tool cannot be enforced.
    """
    schema, ways = properties(tool)[key], list[_Text | _Choices | _Json]()
    if writing.is_json:
        return _choice_ways(schema, writing)
    if not tool.strict or (isinstance(schema, Mapping) and _choices(schema)):
        if choices := _choice_ways(schema, writing):
            return choices
        # Laguna writes numbers without help.
        kind = "" if writing.form.escaped or writing.form.kind is not FormKind.TAGGED else _type(schema)
        return [_Json(kind.upper())] if kind in ("integer", "number") else []
    shared = {name: tool.parameters[name] for name in ("$defs", "definitions") if name in tool.parameters}
    for each in _alternatives(schema, tool.parameters):
        if choices := _choice_ways(each, writing):
            ways += choices
        elif each.get("type", "string") != "string":
            ways.append(_Json(JsonSchema.checked({**each, **shared}).value))
        elif regex := _regex(each, key, escaped=writing.form.kind is FormKind.PYTHON):
            ways.append(_Text(regex))
        elif writing.form.kind is FormKind.TAGGED:
            # In tags, any text is also any other value.
            return []
        else:
            ways.append(_Text(_FREE))
    return ways


def _alternatives(
    schema: object, root: Mapping[str, object], left: int = _MOST_REFERENCES
) -> Iterator[Mapping[str, object]]:
    """Split a schema into alternatives of one type each."""
    if not isinstance(schema, Mapping) or not left:
        yield {}
        return
    rest = dict(schema)
    parts: list[object] = [rest]
    if isinstance(reference := rest.pop("$ref", None), str):
        parts = [_resolved(reference, root)]
    elif isinstance(several := rest.pop("anyOf", None) or rest.pop("oneOf", None), list | tuple):
        parts = list(several)
    elif isinstance(every := rest.get("allOf"), list | tuple) and len(every) == 1:
        del rest["allOf"]
        parts = list(every)
    elif isinstance(types := rest.get("type"), list | tuple):
        parts = [{"type": each} for each in types]
    else:
        yield rest
        return
    for part in parts:
        yield from _alternatives({**rest, **part} if isinstance(part, Mapping) else part, root, left - 1)


def _resolved(reference: str, root: Mapping[str, object]) -> object:
    found: object = root
    for name in reference.removeprefix("#/").split("/"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _regex(schema: Mapping[str, object], key: str, *, escaped: bool) -> str:
    """Return a string schema as a regular expression in Lark's notation; empty for any text.

    Args:
        schema: the schema.
        key: the argument, for errors.
        escaped: whether the text is a literal of Python; one with a pattern then contains no escapes.

    Raises:
        RequestError: the schema cannot be enforced.
    """
    found = []
    if unknown := _UNSUPPORTED & schema.keys():
        raise _unsupported(key, ", ".join(sorted(unknown)))
    JsonSchema.checked(schema)
    if (pattern := schema.get("pattern")) is not None:
        found.append(_whole(str(pattern), key))
    if (form := schema.get("format")) is not None:
        if form not in _FORMATS:
            raise _unsupported(key, f"format {form!r}")
        found.append(_FORMATS[form])
    if escaped and found:
        found.append(r"""[^'"\\\n]*""")
    least, most = schema.get("minLength", 0), schema.get("maxLength", "")
    if least or most != "":
        character = r"""([^'"\\\n]|\\['"\\nrt])""" if escaped else "(?s:.)"
        found.append(f"{character}{{{least},{most}}}")
    return " & ".join("/" + each.replace("/", r"\/") + "/" for each in found)


def _whole(pattern: str, key: str) -> str:
    """Turn a pattern that a text must contain into one that matches the whole text."""
    begins, ends = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith(r"\$")
    inner = pattern[begins : len(pattern) - ends]
    # Without escapes and classes.
    plain = re.sub(r"\\.|\[(?:\\.|[^\]])*\]", "", inner)
    outermost = plain
    while (without := re.sub(r"\([^()]*\)", "", outermost)) != outermost:
        outermost = without
    if re.search(r"[\^$]", plain) or ("|" in outermost and (begins or ends)):
        raise _unsupported(key, f"pattern {pattern!r}")
    return f"{'' if begins else '(?s:.*)'}({inner}){'' if ends else '(?s:.*)'}"


def _unsupported(key: str, what: str) -> RequestError:
    return RequestError(f"the schema of {key!r} cannot be used: {what} cannot be enforced; leave that part out")


def _choice_ways(schema: object, writing: CallWriting) -> _Ways:
    """Return the only values that a schema allows; empty where there are too many to list."""
    choices = _choices(schema) if isinstance(schema, Mapping) else []
    if writing.form.kind is FormKind.TAGGED:
        choices = [each if isinstance(each, str) else json.dumps(each) for each in choices]
    written = [writing.written(normalized(each), b"'") for each in choices if isinstance(each, str)]
    # In Python it may stand between quotes of either kind.
    python = writing.form.kind is FormKind.PYTHON
    texts = [quoted(each.replace('"', r"\"") if python else each) for each in written]
    others = [quoted(word) for each in choices if not isinstance(each, str) for word in _words(each, writing)]
    return [
        *([_Choices(" | ".join(texts))] if texts else []),
        *([_Json(" | ".join(dict.fromkeys(others)))] if others else []),
    ]


def _words(value: object, writing: CallWriting) -> Sequence[str]:
    """Return how a value other than a text may be written."""
    return (json.dumps(value), repr(value)) if writing.form.kind is FormKind.PYTHON else (json.dumps(value),)


def _choices(schema: Mapping[str, object]) -> list[object]:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list | tuple):
        return list(values)
    return [True, False] if schema.get("type") == "boolean" else []
