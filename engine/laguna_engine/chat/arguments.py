"""The raw text of a call's arguments, given the types of the tool's schema.

Laguna writes strings as they are and everything else as JSON, so only the schema can tell the string `12` from the
number. Only the top level is checked: names, required ones, and the type of each value.
"""

import json
import math
from collections.abc import Iterable, Mapping

from laguna_engine.chat.messages import ToolSpec

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_DEEPEST = 64
"""Lists and objects inside each other: far above what a tool takes, far below what a renderer's recursion survives."""
_QUOTED = 60  # characters of a wrong value that are quoted back: enough to recognise it


class BadArguments(ValueError):
    """The arguments do not fit the schema; the message is for the model."""


def typed(spec: ToolSpec, given: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Arguments by name, in the order given.

    Args:
        spec: the tool called.
        given: names and raw values.

    Raises:
        BadArguments: names every problem, each with what to do.
    """
    known = _mapping(spec.parameters.get("properties"))
    arguments: dict[str, object] = {}
    problems: list[str] = []
    for key, raw in given:
        if key not in known:
            problems.append(f"`{spec.name}` has no argument `{key}`; it takes {_listed(known)}")
        elif key in arguments:
            problems.append(f"the argument `{key}` was given twice; give it once")
        else:
            arguments[key] = _collected(key, raw, known[key], problems)
    problems += _missing(spec, arguments)
    if problems:
        raise BadArguments("; ".join(problems))
    return arguments


def _collected(key: str, raw: str, schema: object, problems: list[str]) -> object:
    try:
        return _value(raw, _types(schema))
    except BadArguments as problem:
        problems.append(f"the argument `{key}` {problem}")
        return None


def _missing(spec: ToolSpec, arguments: Mapping[str, object]) -> list[str]:
    required = spec.parameters.get("required")
    names = required if isinstance(required, list | tuple) else ()
    return [f"`{spec.name}` needs the argument `{name}`; add it" for name in names if name not in arguments]


def _types(schema: object) -> tuple[str, ...]:
    """The JSON types a value may have; empty when the schema does not say."""
    types = _mapping(schema).get("type")
    return (types,) if isinstance(types, str) else tuple(types) if isinstance(types, list | tuple) else ()


def _value(raw: str, types: tuple[str, ...]) -> object:
    """A string as it is; other types from JSON; without a type, JSON if it is JSON."""
    if "string" in types:
        return None if "null" in types and raw == "null" else raw
    try:
        value = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        if not types:
            return raw
        raise BadArguments(f"must be JSON of type {' or '.join(types)}, not {quoted(raw)}") from None
    if _too_deep(value):
        raise BadArguments(f"is nested too deeply; nest at most {_DEEPEST} lists and objects")
    if types and not any(_is_a(value, each) for each in types):
        raise BadArguments(f"must be of type {' or '.join(types)}, not {quoted(raw)}")
    return int(value) if "integer" in types and isinstance(value, float) and value.is_integer() else value


def _is_a(value: object, kind: str) -> bool:
    """JSON schema's types: true is no number, and 3.0 is an integer. 1e999 is neither."""
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and kind in ("integer", "number"):
        return value.is_integer() if kind == "integer" else math.isfinite(value)
    return isinstance(value, _KINDS.get(kind, (object,)))


def _too_deep(value: object) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        lists = [each for each in level if isinstance(each, list)]
        objects = [each for each in level if isinstance(each, dict)]
        level = [inside for each in lists for inside in each] + [inside for each in objects for inside in each.values()]
    return any(isinstance(each, list | dict) for each in level)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def quoted(raw: str) -> str:
    """What the model wrote, cut to a length that is fit to be quoted in a sentence."""
    return f"`{raw}`" if len(raw) <= _QUOTED else f"`{raw[:_QUOTED]}…`"
