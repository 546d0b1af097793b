"""Reading a tool call's arguments, which a model wrote: each is checked, and a wrong one says what is expected."""

from collections.abc import Mapping

_LAST_LINE = 10**9
"""No file that is read has as many lines; Python refuses to read or write numbers of thousands of digits."""
_DIGITS = 10


class ArgumentError(Exception):
    """An argument is missing or wrong; the message is a sentence for the model."""


def check_names(arguments: Mapping[str, object], known: tuple[str, ...]) -> None:
    """Refuse arguments the tool does not have.

    Raises:
        ArgumentError: names the unknown ones and lists the known.
    """
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise ArgumentError(f"unknown argument {', '.join(unknown)}; use {', '.join(known)}")


def text(arguments: Mapping[str, object], name: str, default: str | None = None, *, blank: bool = False) -> str:
    """A text argument; without a default it is required, and may not be blank unless `blank` says so.

    Raises:
        ArgumentError: it is missing, blank or no text.
    """
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise ArgumentError(f"{name} is missing; call again with {name} as text")
    if default is None and not blank and not value.strip():
        raise ArgumentError(f"{name} is empty; call again with {name} as text")
    return value


def line_number(arguments: Mapping[str, object], name: str) -> int | None:
    """A line number from 1, or None when it was not given. Digits in a text are taken as a number.

    Raises:
        ArgumentError: it is no whole number from 1.
    """
    value = arguments.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= _DIGITS:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LAST_LINE:
        raise ArgumentError(f"{name} is not a line number; call again with a whole number from 1")
    return value


def flag(arguments: Mapping[str, object], name: str) -> bool:
    """A yes or no, which is no when it was not given. The words true and false in a text are taken as such.

    Raises:
        ArgumentError: it is neither.
    """
    value = arguments.get(name, False)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if value is not None and not isinstance(value, bool):
        raise ArgumentError(f"{name} is neither true nor false; call again with one of them")
    return bool(value)
