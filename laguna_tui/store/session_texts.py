"""Reading what a journal's events say, for the list, the search and the export: any field may be missing or odd.

A long text is kept as a blob: the field is `{"blob": NAME}` then.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from laguna_tui.base.object_store import ObjectStore, StoreError
from laguna_tui.store.session_journal import BLOBS

LOST = "(this text is lost)"
# The end of the year 9999 is the last that can be written as a date; time zones are left some room.
_LAST_MOMENT = 253_402_000_000.0


class SessionTexts:
    """The texts of one session's events. The blobs are read only, also while another process has the session open."""

    def __init__(self, folder: Path) -> None:
        """folder: the session's."""
        self._folder = folder
        self._store: ObjectStore | None = None

    def text(self, value: object) -> str:
        """Return a text as it is; of a blob its text; of anything else nothing."""
        if isinstance(value, str):
            return value
        name = value.get("blob") if isinstance(value, Mapping) else None
        return self._blob(name) if isinstance(name, str) else ""

    def arguments(self, value: object) -> Mapping[str, Any]:
        """Return the arguments of a tool call, which are kept as the text of a JSON object; none of anything else."""
        with suppress(ValueError, RecursionError):
            found = json.loads(self.text(value))
            if isinstance(found, dict):
                return found
        return {}

    def close(self) -> None:
        """Close the blobs. Idempotent."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _blob(self, name: str) -> str:
        try:
            if self._store is None or name not in self._store:
                # A session that is open elsewhere may have got it since.
                self.close()
                self._store = ObjectStore(self._folder / BLOBS, read_only=True)
            return self._store.get(name).decode("utf-8", "surrogatepass")
        except (StoreError, UnicodeDecodeError):
            return LOST


def number(value: object) -> float:
    """Return a number as it is, anything else as 0."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    try:
        return float(value) if math.isfinite(value) else 0.0
    except OverflowError:
        return 0.0


def moment(value: object) -> float:
    """Return a time in seconds since the epoch, within what a calendar has."""
    return min(max(number(value), 0.0), _LAST_MOMENT)


def mappings(value: object) -> Iterator[Mapping[str, Any]]:
    """Return the objects of a list; nothing of anything else."""
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else iter(())


def line(value: object) -> str:
    """Return a text, anything else as nothing."""
    return value if isinstance(value, str) else ""
