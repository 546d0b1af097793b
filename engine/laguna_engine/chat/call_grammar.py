"""The grammar of all calls of some tools, in llguidance's Lark dialect.

Up to `_ANY_ORDER` arguments come in any order, each once, the required ones before the end. Of a tool with more, a
strict call has them in the schema's order, because each set of those that are left is a rule; another call has any of
them in any order.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from laguna_engine.chat.encoding import escape
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.constrain.json_schema import JsonSchema
from laguna_engine.errors import RequestError
from laguna_engine.gguf.laguna import END_TOOL_CALL

KEY, END_KEY, OPENING, CLOSING = "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"
"""The tags around the name of an argument and its value."""

_ANY_ORDER = 6
_MOST_REFERENCES = 8
"""Schemas that refer to one another, at most, before one that says what it is."""

_BLANKS = r"BLANKS: /[ \n]{0,4}/"
_FREE = "/(?s:.*)/"
_UNHELD = {"not", "if", "allOf"}
"""Keywords that no regular expression of a text is made of."""

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
        held: the arguments whose values it says, by the names of tool and argument; others are any text.
    """

    lark: str
    held: frozenset[tuple[str, str]]


def written(text: str) -> str:
    """Return `text` as the template writes it, which is what a model copies."""
    return escape(text.replace("\r\n", "\n").replace("\r", "\n")).encode("utf-8", "replace").decode()


def quoted(text: str) -> str:
    """Return a text as a literal of a grammar."""
    return json.dumps(text, ensure_ascii=False)


def value_grammar(chunks: Sequence[str]) -> str:
    """Return the grammar of a text that consists of some of `chunks` in a row, the last perhaps cut."""
    return f"start: VALUE\nVALUE: %regex {json.dumps({'substring_chunks': chunks})}\n"


def call_grammar(
    tools: Sequence[ToolSpec], id_of: Callable[[str], int | None] = lambda text: None, *, only_strict: bool = False
) -> CallGrammar:
    """Return the grammar of what follows `<tool_call>`, up to the tag that ends the call.

    Args:
        tools: those that may be called.
        id_of: the special token of a tag; None where the tag is text.
        only_strict: leave what follows the name of a tool free that is not strict.

    Raises:
        RequestError: the schema of a strict tool cannot be held.
    """
    tags = _Tags(id_of)
    rules = [f"start: {' | '.join(f't{number}' for number in range(len(tools)))}", _BLANKS]
    held = set()
    for number, tool in enumerate(tools):
        name = f"t{number}"
        if only_strict and not tool.strict:
            rules.append(f'{name}: {quoted(tool.name)} ("\\n" | {tags.key}) /(?s:.*)/')
            continue
        rules.append(f'{name}: {quoted(tool.name)} ("\\n" BLANKS {name}_0 | {name}_0)')
        for place, key in enumerate(_properties(tool)):
            if ways := _ways(tool, key):
                held.add((tool.name, key))
            rules += tags.value(f"{name}v{place}", ways)
        rules += _arguments(name, tool, tags)
    return CallGrammar("\n".join(rules) + "\n", frozenset(held))


def check_strict(tools: Sequence[ToolSpec]) -> None:
    """Check that the schemas of strict tools can be held; RequestError says why one cannot."""
    from llguidance import LLMatcher

    grammar = LLMatcher.grammar_from_lark(call_grammar(tools, only_strict=True).lark)
    is_error, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    if is_error and messages:
        reason = messages[0].strip().splitlines()[0]
        raise RequestError(f"the schema of a strict tool cannot be used: {reason}; correct it, or leave that part out")


class _Tags:
    """The tags of a call in a grammar: special tokens or text."""

    def __init__(self, id_of: Callable[[str], int | None]) -> None:
        def tag(text: str) -> str:
            token = id_of(text)
            return quoted(text) if token is None else f"<[{token}]>"

        self.key, self.end_key, self.opening = map(tag, (KEY, END_KEY, OPENING))
        self.closing, self.end = tag(CLOSING), tag(END_TOOL_CALL)
        self._closes_by_text = id_of(CLOSING) is None

    def argument(self, key: str, value: str) -> str:
        """Return an argument with the blanks after it; `value` is the name of its rule."""
        return f"{self.key} {quoted(key)} {self.end_key} BLANKS {self.opening} {value} BLANKS"

    def value(self, name: str, ways: "Sequence[str | _Text]") -> Iterator[str]:
        """Yield the rules of a value and the tag that ends it; `ways` are what it may be, empty for any text."""
        for number, way in enumerate(ways or [_Text(_FREE)]):
            rule = f"{name}w{number}"
            if isinstance(way, str):
                yield f"{rule}: ({way}) {self.closing}"
            elif self._closes_by_text:
                yield f"{rule}[suffix={quoted(CLOSING)}]: {way.regex}"
            else:
                yield f"{rule}: {rule.upper()} {self.closing}"
                yield f"{rule.upper()}: {way.regex}"
        yield f"{name}: {' | '.join(f'{name}w{number}' for number in range(max(1, len(ways))))}"


@dataclass(frozen=True, slots=True)
class _Text:
    """Plain text. regex: of it, in Lark's notation."""

    regex: str


def _arguments(name: str, tool: ToolSpec, tags: _Tags) -> Iterator[str]:
    """Yield the rules of the arguments that follow the name, and of the end."""
    keys = list(_properties(tool))
    needed = {key for key in _required(tool) if key in keys}
    each = [tags.argument(key, f"{name}v{place}") for place, key in enumerate(keys)]
    if len(keys) <= _ANY_ORDER:
        for given in range(1 << len(keys)):
            left = [place for place in range(len(keys)) if not given >> place & 1]
            ways = [f"{each[place]} {name}_{given | 1 << place}" for place in left]
            if not any(keys[place] in needed for place in left):
                ways.append(tags.end)
            yield f"{name}_{given}: {' | '.join(ways)}"
    elif tool.strict:
        in_order = (each[place] if key in needed else f"({each[place]})?" for place, key in enumerate(keys))
        yield f"{name}_0: {' '.join(in_order)} {tags.end}"
    else:
        yield f"{name}_0: ({' | '.join(each)})* {tags.end}"


def _ways(tool: ToolSpec, key: str) -> list[str | _Text]:
    """Return what the value of an argument may be; empty for any text.

    Raises:
        RequestError: the schema of a strict tool cannot be held.
    """
    schema = _properties(tool)[key]
    if not tool.strict or (isinstance(schema, Mapping) and _choices(schema)):
        choices = _choices(schema) if isinstance(schema, Mapping) else []
        return [_one_of(choices)] if choices else []
    shared = {name: tool.parameters[name] for name in ("$defs", "definitions") if name in tool.parameters}
    ways: list[str | _Text] = []
    for each in _alternatives(schema, tool.parameters):
        if choices := _choices(each):
            ways.append(_one_of(choices))
        elif each.get("type", "string") != "string":
            ways.append(JsonSchema.checked({**each, **shared}).value)
        elif regex := _regex(each, key):
            ways.append(_Text(regex))
        else:
            return []
    return ways


def _alternatives(
    schema: object, root: Mapping[str, object], left: int = _MOST_REFERENCES
) -> Iterator[Mapping[str, object]]:
    """Yield schemas of one type each; a value has to satisfy one of them."""
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


def _regex(schema: Mapping[str, object], key: str) -> str:
    """Return what a schema says of a text, in Lark's notation; empty for any text.

    Raises:
        RequestError: it cannot be held.
    """
    found = []
    if unknown := _UNHELD & schema.keys():
        raise _unheld(key, ", ".join(sorted(unknown)))
    JsonSchema.checked(schema)
    if (pattern := schema.get("pattern")) is not None:
        found.append(_whole(str(pattern), key))
    least, most = schema.get("minLength", 0), schema.get("maxLength", "")
    if least or most != "":
        found.append(f"(?s:.{{{least},{most}}})")
    if (form := schema.get("format")) is not None:
        if form not in _FORMATS:
            raise _unheld(key, f"format {form!r}")
        found.append(_FORMATS[form])
    return " & ".join("/" + each.replace("/", r"\/") + "/" for each in found)


def _whole(pattern: str, key: str) -> str:
    """Turn a pattern that a text contains into one of the whole text."""
    begins, ends = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith(r"\$")
    inner = pattern[begins : len(pattern) - ends]
    # Without what is escaped or in a class.
    plain = re.sub(r"\\.|\[(?:\\.|[^\]])*\]", "", inner)
    outermost = plain
    while (without := re.sub(r"\([^()]*\)", "", outermost)) != outermost:
        outermost = without
    if re.search(r"[\^$]", plain) or ("|" in outermost and (begins or ends)):
        raise _unheld(key, f"pattern {pattern!r}")
    return f"{'' if begins else '(?s:.*)'}({inner}){'' if ends else '(?s:.*)'}"


def _unheld(key: str, what: str) -> RequestError:
    return RequestError(f"the schema of {key!r} cannot be used: {what} cannot be held; leave that part out")


def _properties(tool: ToolSpec) -> Mapping[str, object]:
    found = tool.parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(tool: ToolSpec) -> Iterable[str]:
    found = tool.parameters.get("required")
    return found if isinstance(found, list | tuple) else ()


def _one_of(values: Iterable[str]) -> str:
    return " | ".join(quoted(written(each)) for each in values)


def _choices(schema: Mapping[str, object]) -> list[str]:
    """Return the only values that a schema allows, as they are written; empty where there are too many to list."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list | tuple):
        return [value if isinstance(value, str) else json.dumps(value) for value in values]
    return ["true", "false"] if schema.get("type") == "boolean" else []
