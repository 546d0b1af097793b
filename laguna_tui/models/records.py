"""Records beside a model's files: what each file is, and the hash its bytes were checked against.

Small JSON files, written atomically. A damaged one counts as missing, and its file is checked again.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from laguna_engine.files import read_small_file, write_atomically

SHA256 = "sha256"
GIT = "git-sha1"
"""Git's blob hash, which the hub publishes for files too small for LFS."""

_CHUNK = 4 << 20
_LENGTHS = {64: SHA256, 40: GIT}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A hash and its kind. The hub's ETag of a file is one."""

    kind: str
    value: str

    @classmethod
    def from_etag(cls, etag: str | None) -> "Fingerprint | None":
        """The hash in an ETag, or None if it is not a hash."""
        value = (etag or "").lower()
        kind = _LENGTHS.get(len(value))
        return cls(kind, value) if kind and all(letter in "0123456789abcdef" for letter in value) else None


def fingerprint_of(path: Path, kind: str, step: Callable[[int], None]) -> Fingerprint:
    """Hash a whole file.

    Args:
        path: The file.
        kind: `SHA256` or `GIT`.
        step: Called with the bytes hashed, every few MiB; may raise to stop.

    Raises:
        OSError: The file cannot be read.
    """
    # SHA-1 is only compared with the hash that git published; nothing else relies on it.
    digest = hashlib.sha256() if kind == SHA256 else hashlib.sha1(usedforsecurity=False)
    if kind == GIT:
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb", buffering=0) as file:
        while data := file.read(_CHUNK):
            digest.update(data)
            step(len(data))
    return Fingerprint(kind, digest.hexdigest())


_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file in the hub's listing. size: bytes. etag: its hash, if published."""

    name: str
    size: int
    etag: Fingerprint | None


@dataclass(frozen=True, slots=True)
class RepositoryListing:
    """The files of a model at one commit of its repository."""

    commit: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Size of all files in bytes."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Record of a complete file.

    Attributes:
        repository: "owner/name" on the hub.
        commit: Commit of the download.
        file: Path inside the repository.
        size: Bytes.
        etag: Hash of its bytes when they were last checked.
        path: Its location if not in the store (a file used in place in the hub's cache).
        made_from: Hashes of the files it was converted from.
    """

    repository: str
    commit: str
    file: str
    size: int
    etag: Fingerprint
    path: str | None = None
    made_from: tuple[str, ...] = ()


def write_json(path: Path, value: object) -> None:
    """Write JSON atomically and durably: after a power cut the old or the new content is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(value, indent=1), durable=True)


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; None if it is missing or damaged."""
    try:
        value = json.loads(read_small_file(path, _LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def save_record(path: Path, record: FileRecord) -> None:
    """Save the record of a complete file."""
    write_json(path, asdict(record))


def load_record(path: Path) -> FileRecord | None:
    """Load a record; None if it is missing or damaged."""
    value = read_json(path) or {}
    try:
        return FileRecord(
            repository=_typed(value["repository"], str),
            commit=_typed(value["commit"], str),
            file=_typed(value["file"], str),
            size=_typed(value["size"], int),
            etag=_etag(value["etag"]),
            path=value["path"] if isinstance(value.get("path"), str) else None,
            made_from=tuple(map(str, value.get("made_from") or ())),
        )
    except (KeyError, TypeError):
        return None


def save_listing(path: Path, listing: RepositoryListing) -> None:
    """Save the files of a model, so that its completeness can be told without asking the hub again."""
    write_json(path, asdict(listing))


def load_listing(path: Path) -> RepositoryListing | None:
    """Load a listing; None if it is missing or damaged."""
    try:
        return listing_from(read_json(path) or {})
    except (KeyError, TypeError):
        return None


def listing_from(value: Mapping[str, Any]) -> RepositoryListing:
    """Return a listing from its JSON form. Raises KeyError or TypeError if it is not one."""
    return RepositoryListing(_typed(value["commit"], str), tuple(remote_file(file) for file in value["files"]))


def remote_file(value: Mapping[str, Any]) -> RemoteFile:
    """Return a file of a listing from its JSON form. Raises KeyError or TypeError if it is not one."""
    etag = None if value["etag"] is None else _etag(value["etag"])
    return RemoteFile(_typed(value["name"], str), _typed(value["size"], int), etag)


def _etag(value: Mapping[str, Any]) -> Fingerprint:
    return Fingerprint(_typed(value["kind"], str), _typed(value["value"], str))


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
