"""Typed access to a config.json: what is missing or impossible becomes one sentence that names the key."""

import reprlib
from collections.abc import Mapping
from pathlib import Path

from laguna_engine.errors import ModelFileError

MAX_SIZE = 1 << 24
"""No width, length or count in a drafter is larger."""

MAX_NUMBER = 1e12
"""Nor any base of rotations."""


class Fields:
    """The keys of one or more tables; the first table with a value that is not null gives it."""

    def __init__(self, path: Path, *tables: Mapping[str, object]) -> None:
        self.path = path
        self._tables = tables

    def get(self, *names: str) -> object:
        """The value of the first of `names` that has one, or None."""
        found = (table.get(name) for name in names for table in self._tables)
        return next((value for value in found if value is not None), None)

    def table(self, name: str) -> Mapping[str, object]:
        """A table, empty if there is none."""
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.wrong(name, value, "a table")
        return value

    def whole(self, name: str, low: int = 1, high: int = MAX_SIZE, default: int | None = None) -> int:
        """A whole number from `low` to `high`."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(name, value, f"a whole number from {low} to {high}")
        return value

    def number(self, name: str) -> float:
        """A number above 0 that is no nonsense."""
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_NUMBER:
            raise self.wrong(name, value, f"a number above 0, up to {MAX_NUMBER:g}")
        return float(value)

    def flag(self, *names: str) -> bool | None:
        """A yes or no, None if it is not said."""
        value = self.get(*names)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(names[0], value, "true or false")
        return value

    def wholes(self, name: str, low: int, high: int = MAX_SIZE) -> tuple[int, ...]:
        """One or more different whole numbers."""
        value = self.get(name)
        fits = isinstance(value, list) and 0 < len(value) <= 64 and all(type(one) is int for one in value)
        if not isinstance(value, list) or not fits or not low <= min(value) <= max(value) <= high:
            raise self.wrong(name, value, f"a list of whole numbers from {low} to {high}")
        if len(set(value)) != len(value):
            raise self.wrong(name, value, "each number once")
        return tuple(value)

    def names(self, name: str) -> tuple[str, ...]:
        """A list of words, empty if there is none."""
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > 1024 or not all(isinstance(one, str) for one in value):
            raise self.wrong(name, value, "a list of words")
        return tuple(value)

    def wrong(self, name: str, value: object, expected: str) -> ModelFileError:
        """The error for a key that is not what it should be."""
        what = "is missing" if value is None else f"is {reprlib.repr(value)}"
        return ModelFileError(f"{self.path}: {name} {what}, expected {expected}; download the drafter's folder again")
