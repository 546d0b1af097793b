"""Values as JSON, as sessions store them. Texts may have lone surrogates, as paths do that are not UTF-8."""

import json
from typing import TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class Tagged(Struct, frozen=True, tag=True, tag_field="type", omit_defaults=True):
    """A value whose class name is its `type` in JSON. Defaults are left out."""


def to_json(value: object) -> bytes:
    """Return a value as JSON, on one line."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode()


def from_json(data: bytes, kind: type[T]) -> T:
    """Return the value of a type.

    Raises:
        ValueError, RecursionError: it is not JSON, or not of this type.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except ValueError:
        return msgspec.convert(json.loads(data), kind)
