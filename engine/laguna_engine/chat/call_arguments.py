"""Parses the raw arguments of a tool call by the tool's JSON schema.

Laguna writes strings verbatim and everything else as JSON, so only the schema distinguishes the string `12` from the
number. Only the top level is checked: unknown names, required names, and the type of each value.
"""

import ast
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from laguna_engine.chat.messages import ToolSpec

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
MAX_DEPTH = 64
"""Nesting of lists and objects: far above what tools use, far below the recursion limit of a renderer."""
TOO_DEEP = (
    f"The arguments of `{{name}}` are nested too deeply; make the call again with at most {MAX_DEPTH} levels of lists "
    "and objects."
)
_QUOTE_CHARS = 60  # characters of a wrong value quoted back to the model: enough to recognise it


def no_such_tool(name: str, tools: Iterable[str]) -> str:
    """Return what the model reads about a call of a tool that it was not offered; without a full stop."""
    return f"There is no tool {quoted(name)}; the tools are {', '.join(f'`{each}`' for each in tools) or 'none'}"


class BadArguments(ValueError):
    """The arguments do not match the schema; the message is written for the model."""


def parse_arguments(spec: ToolSpec, given: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Parse and type-check the arguments of a call; they keep the order given.

    Args:
        spec: the tool called.
        given: (name, raw value) pairs.

    Raises:
        BadArguments: lists every problem, each with its remedy.
    """
    known = properties(spec)
    arguments: dict[str, object] = {}
    problems: list[str] = []
    for key, raw in given:
        if key not in known:
            takes = ", ".join(f"`{name}`" for name in known) or "none"
            problems.append(f"`{spec.name}` has no argument `{key}`; it takes {takes}")
        elif key in arguments:
            problems.append(f"the argument `{key}` was given twice; give it once")
        else:
            arguments[key] = None
            try:
                arguments[key] = _value(raw, types_of(known[key]))
            except BadArguments as problem:
                problems.append(f"the argument `{key}` {problem}")
    problems += [
        f"`{spec.name}` needs the argument `{name}`; add it" for name in required(spec) if name not in arguments
    ]
    if problems:
        raise BadArguments("; ".join(problems))
    return arguments


def raw_arguments(spec: ToolSpec, given: Mapping[str, object] | Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the arguments of a call as `parse_arguments` takes them: strings verbatim and all else as JSON.

    Args:
        spec: the tool called.
        given: values by name, or pairs of name and raw value, in which no type is certain.
    """
    known = properties(spec)
    typed = isinstance(given, Mapping)
    for key, value in given.items() if isinstance(given, Mapping) else given:
        types = types_of(known.get(key))
        if value is None and types and "null" not in types:
            # As good as not given; for a text it would become the word.
            continue
        if not isinstance(value, str) or (typed and not types):
            raw = json.dumps(value, ensure_ascii=False)
        else:
            raw = _json_of_python(value) if types and "string" not in types else value
        yield _whole_characters(key), _whole_characters(raw)


def _whole_characters(text: str) -> str:
    """Join the halves of characters that escapes may spell, and replace those without another half."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json_of_python(written: str) -> str:
    """Return as JSON what some templates write as Python does; all else as it is."""
    try:
        json.loads(written)
    except (ValueError, RecursionError):
        with suppress(*NO_LITERAL):
            return json.dumps(literal(written), ensure_ascii=False)
    return written


def literal(written: str) -> object:
    """Parse a literal of Python or JSON; one of `NO_LITERAL` is raised for anything else."""
    return ast.literal_eval(_JsonWords().visit(ast.parse(written, mode="eval")))


NO_LITERAL = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)


class _JsonWords(ast.NodeTransformer):
    """Replaces JSON's words for constants."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        words = {"true": True, "false": False, "null": None}
        return ast.Constant(words[node.id]) if node.id in words else node


def properties(spec: ToolSpec) -> Mapping[str, object]:
    """Return the schemas of a tool's arguments by name."""
    return _mapping(spec.parameters.get("properties"))


def required(spec: ToolSpec) -> Sequence[str]:
    """Return the names of the required arguments."""
    names = spec.parameters.get("required")
    return names if isinstance(names, list | tuple) else ()


def types_of(schema: object) -> tuple[str, ...]:
    """Return the JSON types a value may have; empty when the schema gives none."""
    types = _mapping(schema).get("type")
    return (types,) if isinstance(types, str) else tuple(types) if isinstance(types, list | tuple) else ()


def _value(raw: str, types: tuple[str, ...]) -> object:
    """Return a string verbatim, other types from JSON; without a type, JSON if it parses."""
    if "string" in types:
        return None if "null" in types and raw == "null" else raw
    try:
        value = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        if not types:
            return raw
        raise BadArguments(f"must be JSON of type {' or '.join(types)}, not {quoted(raw)}") from None
    if too_deep(value):
        raise BadArguments(f"is nested too deeply; nest at most {MAX_DEPTH} lists and objects")
    if types and not any(_is_a(value, each) for each in types):
        raise BadArguments(f"must be of type {' or '.join(types)}, not {quoted(raw)}")
    return int(value) if "integer" in types and isinstance(value, float) and value.is_integer() else value


def _is_a(value: object, kind: str) -> bool:
    """Return whether a value has a type by JSON schema's rules.

    True is not a number, 3.0 is an integer, 1e999 is neither.
    """
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and kind in ("integer", "number"):
        return value.is_integer() if kind == "integer" else math.isfinite(value)
    return isinstance(value, KINDS.get(kind, (object,)))


def too_deep(value: object) -> bool:
    """Return whether lists and objects are nested more than `MAX_DEPTH` levels deep."""
    level = [value]
    for _ in range(MAX_DEPTH):
        lists = [each for each in level if isinstance(each, list)]
        objects = [each for each in level if isinstance(each, dict)]
        level = [inside for each in lists for inside in each] + [inside for each in objects for inside in each.values()]
    return any(isinstance(each, list | dict) for each in level)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def quoted(raw: str) -> str:
    """Return the model's text in backticks, truncated to fit into a sentence."""
    return f"`{raw}`" if len(raw) <= _QUOTE_CHARS else f"`{raw[:_QUOTE_CHARS]}…`"
