"""Settings and tool arguments declared once: type, default, range, choices and help of a frozen dataclass's fields.

A field is declared by its annotation (`str`, `int`, `float` or `bool`, or one of them and `None`) and by
`declared(...)` as its default. The check of a value, the sentence about a wrong one, the JSON schema of a tool, the
flags of the command line and the documentation's table are all made from that.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

REQUIRED = dataclasses.MISSING
"""The default of a field that has none."""

_KEY = "declared"
_WORDS: Mapping[type, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_JSON: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a field may be, without its name and type.

    Attributes:
        help: what it is for, for the user or the model; empty if the name says it.
        choices: the values that a text may have; empty for any text.
        more_choices: returns further ones; called only for a value that is not in `choices`.
        minimum, maximum: the range of a number, both included; None for no limit, a function for a machine's limit.
        above: whether `minimum` itself is excluded.
        lowest, highest: what these two mean, such as "off" for 0.
        unit: what a number counts, such as "tokens".
        without: what happens where None is the default.
        placeholder: stands for the value in the help of the command line.
        required: whether a tool's JSON schema lists it as required although it has a default.
        blank: whether a required text may be empty.
        advice: replaces the list of choices in the sentence for a model.
    """

    help: str = ""
    choices: tuple[str, ...] = ()
    more_choices: Callable[[], Iterable[str]] | None = None
    minimum: float | None = None
    maximum: float | Callable[[], float] | None = None
    above: bool = False
    lowest: str = ""
    highest: str = ""
    unit: str = ""
    without: str = ""
    placeholder: str = ""
    required: bool = False
    blank: bool = False
    advice: str = ""


def declared(default: Any = REQUIRED, help: str = "", **more: Any) -> Any:  # noqa: A002 (as argparse calls it)
    """Return a field of a dataclass with its declaration; arguments as of `Declaration`."""
    return dataclasses.field(default=default, metadata={_KEY: Declaration(help, **more)})


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """A declared field of a dataclass: its name, type (without None), whether None is allowed, and its default."""

    name: str
    kind: type
    optional: bool
    default: Any
    rule: Declaration

    @property
    def flag(self) -> str:
        """Its option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def default_text(self) -> str:
        """The value that applies by default, for a reader."""
        if self.default is None:
            return self.rule.without
        return ("no", "yes")[self.default] if self.kind is bool else str(self.default)

    @property
    def allowed(self) -> str:
        """The values in its range on this machine, to follow "it must be"; empty where there is no range."""
        highest = self.rule.maximum
        return self._range("" if highest is None else _limit(_value(highest), self.rule.highest))

    @property
    def allowed_anywhere(self) -> str:
        """As `allowed` for every machine: a limit that depends on the machine is named, without its number."""
        highest = self.rule.maximum
        return self._range(self.rule.highest) if callable(highest) else self.allowed

    def _range(self, high: str) -> str:
        rule = self.rule
        if rule.choices:
            return f"one of {', '.join(rule.choices)}"
        if rule.minimum is None:
            return ""
        low, unit = _limit(rule.minimum, rule.lowest), f" {rule.unit}" if rule.unit else ""
        if rule.above:
            return f"above {low}, at most {high}{unit}" if high else f"above {low}{unit}"
        if high:
            return f"between {low} and {high}{unit}"
        return f"{low} or more{unit}" if rule.lowest else f"at least {low}{unit}"

    def wrong(self, value: object) -> str:
        """Return what is wrong with a value, as the rest of a sentence that begins with it; empty if nothing is."""
        if value is None and self.optional:
            return ""
        if not self._is_kind(value):
            rest = f"; it must be {self.allowed}" if self.allowed else ""
            return f" is not {_WORDS[self.kind]}{rest}"
        if self._in_range(value):
            return ""
        more = self.rule.more_choices
        allowed = ", ".join((self.allowed, *more())) if more is not None else self.allowed
        return f"; it must be {allowed}"

    def _is_kind(self, value: object) -> bool:
        if isinstance(value, bool):
            return self.kind is bool
        return isinstance(value, int | float) if self.kind is float else isinstance(value, self.kind)

    def _in_range(self, value: Any) -> bool:
        rule = self.rule
        if rule.choices:
            return value in rule.choices or (rule.more_choices is not None and value in rule.more_choices())
        if isinstance(value, float) and not math.isfinite(value):
            return False
        above = rule.minimum is None or (value > rule.minimum if rule.above else value >= rule.minimum)
        return above and (rule.maximum is None or value <= _value(rule.maximum))


def declarations(cls: type) -> Mapping[str, DeclaredField]:
    """Return the declared fields of a dataclass by name, in their order."""
    found = {}
    for field in dataclasses.fields(cls):
        if _KEY in field.metadata:
            kinds: tuple[Any, ...] = getattr(field.type, "__args__", (field.type,))
            kind = next(one for one in kinds if one is not type(None))
            found[field.name] = DeclaredField(field.name, kind, len(kinds) > 1, field.default, field.metadata[_KEY])
    return found


def json_schema(cls: type) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, as the model reads it.

    Ranges are left out: they would cost tokens in every prompt, and the error of a wrong value names them.
    """
    fields = declarations(cls).values()
    properties: dict[str, dict[str, object]] = {}
    for field in fields:
        properties[field.name] = {"type": _JSON[field.kind]}
        if field.rule.choices:
            properties[field.name]["enum"] = list(field.rule.choices)
        if field.rule.help:
            properties[field.name]["description"] = field.rule.help
    required = [field.name for field in fields if field.default is REQUIRED or field.rule.required]
    return {"type": "object", "properties": properties, "required": required}


def unknown_names(cls: type, names: Iterable[str]) -> list[str]:
    """Return the names that no field of the dataclass has, sorted."""
    return sorted(set(names) - set(declarations(cls)))


def _limit(value: float, meaning: str) -> str:
    number = str(value) if isinstance(value, int) else f"{value:g}"
    return f"{number} ({meaning})" if meaning else number


def _value(limit: float | Callable[[], float]) -> float:
    return limit() if callable(limit) else limit
