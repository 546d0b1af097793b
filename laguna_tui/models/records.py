"""Records of a model's files: what each file is, and the hash that its bytes were checked against.

Small JSON files. A damaged one counts as missing, and its file is checked again.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from laguna_engine.files import read_small_file, write_atomically

_T = TypeVar("_T")

SHA256 = "sha256"
GIT = "git-sha1"
"""Git's blob hash, which the hub publishes for files too small for LFS."""

_CHUNK = 4 << 20
_LENGTHS = {64: SHA256, 40: GIT}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A hash and its kind, such as the hub's ETag of a file."""

    kind: str
    value: str

    @classmethod
    def from_etag(cls, etag: str | None) -> "Fingerprint | None":
        """Return the hash in an ETag, or None if it is not a hash."""
        value = (etag or "").lower()
        kind = _LENGTHS.get(len(value))
        return cls(kind, value) if kind and all(letter in "0123456789abcdef" for letter in value) else None


def fingerprint_of(path: Path, kind: str, step: Callable[[int], None]) -> Fingerprint:
    """Hash a whole file.

    Args:
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
    """A file in the hub's listing.

    Attributes:
        size: Bytes.
        etag: Its hash, if published.
    """

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
    """What is known of a complete file.

    Attributes:
        repository: "owner/name" on the hub.
        commit: Commit of the download.
        file: Path inside the repository.
        size: Bytes.
        etag: Hash of its bytes when they were last checked.
        path: Where it is, unless in the store: a file in the hub's cache is used in place.
        made_from: Hashes of the files it was converted from.
    """

    repository: str
    commit: str
    file: str
    size: int
    etag: Fingerprint
    path: str | None = None
    made_from: tuple[str, ...] = ()


def to_json(value: object, indent: int | None = None) -> str:
    """Return a value as JSON in ASCII: a path may contain bytes that are not UTF-8, which msgspec's encoder refuses."""
    return json.dumps(msgspec.to_builtins(value), indent=indent)


def from_json(data: bytes, kind: type[_T]) -> _T:
    """Return the value of `kind` that `to_json` wrote. Raises ValueError if it is something else."""
    return msgspec.convert(json.loads(data), kind)


def write_json(path: Path, value: object) -> None:
    """Write JSON atomically and durably: after a power cut the old or the new content is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, to_json(value, indent=1), durable=True)


def read_json(path: Path, kind: type[_T]) -> _T | None:
    """Return what `write_json` wrote; None if it is missing or damaged."""
    try:
        return from_json(read_small_file(path, _LIMIT_BYTES), kind)
    except (OSError, ValueError, RecursionError):
        return None
