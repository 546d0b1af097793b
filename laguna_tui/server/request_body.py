"""Reads a request's JSON into the typed body of its path; what a path does not use is refused, or reported."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import msgspec

from laguna_tui.server.api_error import ApiError
from laguna_tui.server.unused_fields import HINTS, UNUSED

B = TypeVar("B", bound=msgspec.Struct)

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


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A request's JSON object.

    Attributes:
        values: as they were sent.
    """

    values: Mapping[str, object]

    @classmethod
    def of(cls, body: bytes) -> "RequestBody":
        """Parse a request's body; ApiError unless it is a JSON object."""
        try:
            value = parse_json(body)
        except ValueError as error:
            raise ApiError(400, "The body is not JSON.") from error
        if not isinstance(value, dict):
            raise ApiError(400, "The request must be a JSON object.")
        return cls(value)

    def read(self, kind: type[B]) -> B:
        """Return the fields that a path uses; ApiError if one is wrong, or another would change the answer."""
        for name, (neutral, reason) in UNUSED.items():
            value = self.values.get(name)
            if value is not None and value not in neutral and name not in kind.__struct_fields__:
                refuse(name, f"left out: this server {reason}")
        # Some clients write whole numbers with a decimal point.
        values = {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in self.values.items()
        }
        try:
            return msgspec.convert(values, kind)
        except msgspec.ValidationError as error:
            raise _invalid(str(error)) from error

    def unknown(self, kind: type[msgspec.Struct]) -> list[str]:
        """Names of fields of which nothing is known."""
        return sorted(self.values.keys() - {*kind.__struct_fields__, *UNUSED, *HINTS})


def refuse(place: str, expected: str) -> NoReturn:
    """Raise the ApiError of a field. expected: what it must be."""
    raise ApiError(400, f"'{place}' must be {expected}.", param=place)


def _invalid(text: str) -> ApiError:
    """The answer to a body of the wrong form, from msgspec's words: it gives the place nowhere else."""
    what, _, place = text.partition(" - at `$")
    place = place.rstrip("`").removeprefix(".")
    missing = re.fullmatch("Object missing required field `(.+)`", what)
    if missing:
        place, what = f"{place}.{missing[1]}".removeprefix("."), "it is missing"
    return ApiError(400, f"'{place}' cannot be read: {what[0].lower()}{what[1:]}.", param=place)
