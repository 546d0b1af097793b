"""What is remembered beside a model's files: which file each one is, and that its bytes were checked by their hash.

Small JSON files, written whole or not at all. A damaged one counts as missing: the file it is about is checked again.
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
"""Git's own name for a file's content, which the hub gives for files too small for LFS."""

CHUNK = 4 << 20
_LENGTHS = {64: SHA256, 40: GIT}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A hash and which one it is. What the hub calls the ETag of a file is one of these."""

    kind: str
    value: str

    @classmethod
    def of(cls, etag: str | None) -> "Fingerprint | None":
        """What an ETag says, if it is a hash at all."""
        value = (etag or "").lower()
        kind = _LENGTHS.get(len(value))
        return cls(kind, value) if kind and all(letter in "0123456789abcdef" for letter in value) else None


class Digest:
    """A hash that grows with a file of `size` bytes in all."""

    def __init__(self, kind: str, size: int) -> None:
        self.kind = kind
        # SHA-1 only compares with what git published; nothing here trusts it further than that.
        self._hash: Any = hashlib.sha256() if kind == SHA256 else hashlib.sha1(usedforsecurity=False)
        if kind == GIT:
            self._hash.update(b"blob %d\0" % size)

    def update(self, data: bytes) -> None:
        """Append bytes."""
        self._hash.update(data)

    def copy(self) -> "Digest":
        """Another one that has seen the same bytes."""
        twin = Digest.__new__(Digest)
        twin.kind, twin._hash = self.kind, self._hash.copy()
        return twin

    @property
    def value(self) -> str:
        """The hash of everything so far, in hex."""
        return str(self._hash.hexdigest())

    @property
    def fingerprint(self) -> Fingerprint:
        """The same with its kind."""
        return Fingerprint(self.kind, self.value)


def fingerprint_of(path: Path, kind: str, step: Callable[[int], None]) -> Fingerprint:
    """Hash a whole file.

    Args:
        kind: `SHA256` or `GIT`.
        step: called with the size of each piece read, a few MiB; may raise to stop.

    Raises:
        OSError: the file cannot be read.
    """
    digest = Digest(kind, path.stat().st_size)
    with path.open("rb", buffering=0) as file:
        while data := file.read(CHUNK):
            digest.update(data)
            step(len(data))
    return digest.fingerprint


_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the hub describes it. size: bytes. etag: its hash, if the hub says one."""

    name: str
    size: int
    etag: Fingerprint | None


@dataclass(frozen=True, slots=True)
class RepositoryListing:
    """What a model consists of at one commit of its repository."""

    commit: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class FileRecord:
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


def save_record(path: Path, record: FileRecord) -> None:
    """Remember that a file is whole."""
    write_json(path, asdict(record))


def load_record(path: Path) -> FileRecord | None:
    """What is remembered, or None."""
    value = read_json(path) or {}
    try:
        return FileRecord(
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


def save_listing(path: Path, listing: RepositoryListing) -> None:
    """Remember what a model consists of, so that it can be called whole without asking the hub again."""
    write_json(path, asdict(listing))


def load_listing(path: Path) -> RepositoryListing | None:
    """What is remembered, or None."""
    value = read_json(path) or {}
    try:
        return RepositoryListing(_kind(value["commit"], str), tuple(_remote(file) for file in value["files"]))
    except (KeyError, TypeError):
        return None


def _remote(value: Mapping[str, Any]) -> RemoteFile:
    etag = None if value["etag"] is None else _etag(value["etag"])
    return RemoteFile(_kind(value["name"], str), _kind(value["size"], int), etag)


def _etag(value: Mapping[str, Any]) -> Fingerprint:
    return Fingerprint(_kind(value["kind"], str), _kind(value["value"], str))


def _kind(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
