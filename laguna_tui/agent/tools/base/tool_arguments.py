"""Parses a tool call's arguments, which a model wrote, into the dataclass that declares them (`base.schema`).

A model is met half way: digits in a text are a number, the words true and false are one of them, and a choice may be
written in capitals. What is wrong beyond that gets a sentence that says what to call with.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from laguna_tui.agent.tool_run import ToolError
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import REQUIRED, DeclaredField, declarations, unknown_names

LAST_LINE = 10**9
"""No file that is read has as many lines; Python refuses to read or write numbers of thousands of digits."""
_DIGITS = 10

T = TypeVar("T")


class ArgumentError(ToolError):
    """An argument is missing or wrong; the message is a sentence for the model."""


def read_arguments(cls: type[T], arguments: Mapping[str, object]) -> T:
    """Return the arguments of a call, checked, with defaults for missing ones.

    Args:
        cls: A dataclass whose fields are all declared.
        arguments: As the model wrote them.

    Raises:
        ArgumentError: An argument is unknown, missing or wrong; says what to call with.
    """
    fields = declarations(cls)
    unknown = unknown_names(cls, arguments)
    if unknown:
        raise ArgumentError(f"unknown argument {', '.join(unknown)}; use {', '.join(fields)}")
    return cls(**{name: _READERS[field.kind](field, arguments) for name, field in fields.items()})


def _text(field: DeclaredField, arguments: Mapping[str, object]) -> str:
    value = arguments.get(field.name, field.default)
    if not isinstance(value, str):
        raise ArgumentError(f"{field.name} is missing; call again with {field.name} as text")
    if field.default is REQUIRED and not field.rule.blank and not value.strip():
        raise ArgumentError(f"{field.name} is empty; call again with {field.name} as text")
    return _choice(field, value) if field.rule.choices else value


def _choice(field: DeclaredField, value: str) -> str:
    chosen = value.strip().lower() or str(field.default)
    if chosen != field.default and field.wrong(chosen):
        advice = field.rule.advice or field.allowed
        raise ArgumentError(f"there is no {field.name} {escaped(value)}; call again with {advice}")
    return chosen


def _number(field: DeclaredField, arguments: Mapping[str, object]) -> int | None:
    value = arguments.get(field.name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= _DIGITS:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or field.wrong(value):
        least = f"{field.rule.minimum}"
        raise ArgumentError(f"{field.name} is not a {field.rule.unit}; call again with a whole number from {least}")
    return value


def _flag(field: DeclaredField, arguments: Mapping[str, object]) -> bool:
    value = arguments.get(field.name, field.default)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if value is not None and not isinstance(value, bool):
        raise ArgumentError(f"{field.name} is neither true nor false; call again with one of them")
    return bool(value)


_READERS: Mapping[type, Any] = {str: _text, int: _number, bool: _flag}
