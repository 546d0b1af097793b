"""What a file's bytes come to: the two hashes that the hub publishes, and hashing a file that takes a while."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """Hash a file; `step` is told of every few MiB and may raise to stop."""
    digest = Digest(kind, path.stat().st_size)
    with path.open("rb", buffering=0) as file:
        while data := file.read(CHUNK):
            digest.update(data)
            step(len(data))
    return digest.fingerprint
