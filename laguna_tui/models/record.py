"""What is remembered beside a model's files: which file each one is, and that its bytes were checked.

Small JSON files, written whole or not at all. A damaged one is as good as none: what it spoke of is checked again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.models.digest import Fingerprint

_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Remote:
    """A file as the hub describes it. size: bytes. etag: its hash, if the hub says one."""

    name: str
    size: int
    etag: Fingerprint | None


@dataclass(frozen=True, slots=True)
class Listing:
    """What a model consists of at one commit of its repository."""

    commit: str
    files: tuple[Remote, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Record:
    """A file that is whole.

    path: where its bytes are, if not beside this record (a file used in place in the hub's own cache).
    etag: what its bytes came to when they were last checked. made_from: hashes of what it was converted from.
    """

    repository: str
    commit: str
    file: str
    size: int
    etag: Fingerprint
    path: str | None = None
    made_from: tuple[str, ...] = ()


def write_json(path: Path, value: object) -> None:
    """Write it so that either all of it is there or none, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(value, indent=1), durable=True)


def read_json(path: Path) -> dict[str, Any] | None:
    """What was written, or None when nothing usable is there."""
    try:
        value = json.loads(read_small_file(path, _LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def save_record(path: Path, record: Record) -> None:
    """Remember that a file is whole."""
    write_json(path, asdict(record))


def load_record(path: Path) -> Record | None:
    """What is remembered, or None."""
    value = read_json(path) or {}
    try:
        return Record(
            repository=_kind(value["repository"], str),
            commit=_kind(value["commit"], str),
            file=_kind(value["file"], str),
            size=_kind(value["size"], int),
            etag=_etag(value["etag"]),
            path=value["path"] if isinstance(value.get("path"), str) else None,
            made_from=tuple(map(str, value.get("made_from") or ())),
        )
    except (KeyError, TypeError):
        return None


def save_listing(path: Path, listing: Listing) -> None:
    """Remember what a model consists of, so that it can be called whole without asking the hub again."""
    write_json(path, asdict(listing))


def load_listing(path: Path) -> Listing | None:
    """What is remembered, or None."""
    value = read_json(path) or {}
    try:
        return Listing(_kind(value["commit"], str), tuple(_remote(file) for file in value["files"]))
    except (KeyError, TypeError):
        return None


def _remote(value: Mapping[str, Any]) -> Remote:
    etag = None if value["etag"] is None else _etag(value["etag"])
    return Remote(_kind(value["name"], str), _kind(value["size"], int), etag)


def _etag(value: Mapping[str, Any]) -> Fingerprint:
    return Fingerprint(_kind(value["kind"], str), _kind(value["value"], str))


def _kind(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
