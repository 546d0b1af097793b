"""Reads the fields of a request's JSON, with a sentence about each that is none of what it may be."""

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn

from laguna_tui.server.api_error import ApiError

MAX_DEPTH = 128
"""Levels of lists and objects, as many as the parser of JSON schemas (serde_json, in llguidance) takes."""


def parse_json(text: bytes | str, place: str = "") -> object:
    """Return the value of a JSON text.

    Args:
        text: bytes are UTF-8.
        place: where in the request it is, for errors; empty for the whole body.

    Raises:
        ValueError: it is not JSON.
        ApiError: it is nested too deeply, or a string has a lone surrogate, which UTF-8 cannot encode.
    """
    try:
        value = json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except RecursionError:
        raise _too_deep(place) from None
    depth, level = 0, [value]
    while level:
        lists = [each for each in level if isinstance(each, list)]
        objects = [each for each in level if isinstance(each, dict)]
        depth += bool(lists or objects)
        if depth > MAX_DEPTH:
            raise _too_deep(place)
        for text in level:
            if isinstance(text, str):
                _check_text(text, place)
        level = [each for found in lists for each in found]
        level += [each for found in objects for pair in found.items() for each in pair]
    return value


def _check_text(text: str, place: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ApiError(
            400,
            f"{_named(place)} has a string with the lone surrogate U+{ord(text[error.start]):04X}, which is half a "
            "character; send whole characters.",
            param=place or None,
        ) from None


def _too_deep(place: str) -> ApiError:
    sentence = f"{_named(place)} is nested too deeply; nest at most {MAX_DEPTH} lists and objects."
    return ApiError(400, sentence, param=place or None)


def _named(place: str) -> str:
    return f"'{place}'" if place else "The body"


class Fields:
    """One JSON object of a request.

    Missing fields and null are the same everywhere, as the APIs have it.
    """

    def __init__(self, value: object, where: str = "") -> None:
        """Take a value; ApiError unless it is an object. where: its place in the request, for errors."""
        if not isinstance(value, Mapping):
            raise ApiError(400, f"{where or 'The request'} must be a JSON object.", param=where or None)
        self.values: Mapping[str, object] = value
        self._where = where

    def place(self, name: str) -> str:
        """Where a field is in the request."""
        return f"{self._where}.{name}" if self._where else name

    def has(self, name: str) -> bool:
        """Whether it is there."""
        return self.values.get(name) is not None

    def wrong(self, name: str, expected: str) -> NoReturn:
        """Refuse the field: say what it must be."""
        raise ApiError(400, f"'{self.place(name)}' must be {expected}.", param=self.place(name))

    def text(self, name: str, default: str | None = None) -> str:
        """A string."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            self.wrong(name, "a string")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.wrong(name, "true or false")
        return value

    def whole(self, name: str, least: int, most: int | None = None) -> int | None:
        """A whole number in a range; None if it is not there."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or value < least
            or (most is not None and value > most)
        ):
            self.wrong(
                name, f"a whole number of {least} or more" if most is None else f"a whole number, {least} to {most}"
            )
        return value

    def number(self, name: str, least: float, most: float) -> float | None:
        """A number in a range; None if it is not there."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            self.wrong(name, f"a number, {least:g} to {most:g}")
        return float(value)

    def items(self, name: str) -> Sequence[object]:
        """A list; empty if it is not there."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.wrong(name, "a list")
        return value

    def objects(self, name: str) -> list["Fields"]:
        """A list of objects; empty if it is not there."""
        return [Fields(value, f"{self.place(name)}[{index}]") for index, value in enumerate(self.items(name))]

    def inner(self, name: str) -> "Fields":
        """An object; an empty one if it is not there."""
        value = self.values.get(name)
        return Fields({} if value is None else value, self.place(name))

    def texts(self, name: str, most: int) -> tuple[str, ...]:
        """A string or a list of strings, none of them empty; at most so many."""
        value = self.values.get(name)
        found = [value] if isinstance(value, str) else self.items(name)
        texts = tuple(each for each in found if isinstance(each, str))
        if len(texts) != len(found) or len(texts) > most:
            self.wrong(name, f"a string or a list of at most {most} strings")
        return tuple(filter(None, texts))
