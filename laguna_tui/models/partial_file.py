"""A file being downloaded: `NAME.part`, and beside it `NAME.journal`, which says how many of its bytes can be trusted.

The journal's first line identifies the file; each further line is a checkpoint: the bytes written so far and their
hash. After a crash, a power cut or a full disk the bytes are hashed again and the file is truncated to the last
checkpoint that matches. So a resumed file is as good as one downloaded in one go, and damage on the disk costs only the
bytes after it. It also means that no checkpoint waits for the disk: one whose bytes were lost in a power cut does not
match, and the one before it counts. Only the complete file is synced, once.

Written by one process at a time, the holder of its `DownloadLock`. Where the disk's locks exclude nobody, a process
takes the file under a name of its own (`own_base`), and gives it back when it stops.
"""

import contextlib
import glob
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.file_locks import excludes_others
from laguna_tui.models.records import CHUNK, SHA256, Digest, Fingerprint, RemoteFile, read_json, write_json


class DownloadLock:
    """Exclusive right to write the file at `base`. Released when its process ends, however it ends.

    The lock file is never removed: another process may hold the deleted file and lock something nobody else sees.

    Attributes:
        excludes_others: Whether the disk keeps others from acquiring it too.
    """

    def __init__(self, base: Path) -> None:
        self._lock_path = base.with_name(base.name + ".lock")
        self._holder_path = base.with_name(base.name + ".holder")
        self._lock = FileLock(str(self._lock_path), thread_local=False)
        self.excludes_others = True

    def acquire(self) -> bool:
        """Try to acquire it without waiting; returns whether it succeeded."""
        self._lock_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        self.excludes_others = excludes_others(self._lock_path)
        write_json(self._holder_path, {"pid": os.getpid()})
        return True

    def release(self) -> None:
        """Release it. Idempotent."""
        if self._lock.is_locked:
            self._holder_path.unlink(missing_ok=True)
            self._lock.release()

    def holder(self) -> str:
        """The process that holds it, for a sentence."""
        pid = (read_json(self._holder_path) or {}).get("pid")
        return f"another laguna-tui (process {pid})" if isinstance(pid, int) else "another laguna-tui"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


CHECKPOINT_BYTES = 32 << 20
CHECKPOINT_S = 5.0
"""At most this many bytes, or `CHECKPOINT_S` seconds of them, are lost when the process is killed."""
_OWN_DIGITS = 8
# Longer than all retries of a connection.
_ABANDONED_S = 3600.0
# A day of checkpoints takes a hundredth of it.
_JOURNAL_LIMIT_BYTES = 64 << 20


class PartialFile:
    """One file being written, by one process (see `DownloadLock`) and one thread.

    Call `recover` first, then `write`; `finish` gives the file its name.

    Attributes:
        have: Bytes written.
    """

    def __init__(
        self, base: Path, repository: str, remote: RemoteFile, kind: str | None = None, every: int = CHECKPOINT_BYTES
    ) -> None:
        """Prepare; nothing is touched yet. kind: hash to compute; None for the one that the hub published."""
        self._path, self._journal = partial_path(base), journal_path(base)
        self._remote = remote
        self._kind = kind or (remote.etag.kind if remote.etag else SHA256)
        self._header = {
            "repository": repository,
            "file": remote.name,
            "size": remote.size,
            "etag": remote.etag.value if remote.etag else None,
            "kind": self._kind,
        }
        self._every = every
        self._file: Any = None
        self.have, self._checkpointed, self._checkpointed_at = 0, 0, time.monotonic()
        self._digest = self._new_digest()

    def __enter__(self) -> "PartialFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def recover(self, step: Callable[[int], None]) -> None:
        """Truncate the file to its last matching checkpoint, and continue from there.

        Bytes of another version of the file are removed.

        Args:
            step: Called with the bytes hashed, every few MiB; may raise to stop.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._open()
        good = self._digest.copy()
        for size, value in self._checkpoints():
            if not self._matches(size, value, step):
                break
            self.have, self._checkpointed, good = size, size, self._digest.copy()
        self._digest = good
        self._file.truncate(self.have)
        self._file.seek(self.have)
        self._write_header()

    def write(self, data: bytes) -> None:
        """Append bytes. Raises OSError when the disk is full; the bytes up to the last checkpoint stay good."""
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self._digest.update(data)
        self.have += len(data)
        if self.have - self._checkpointed >= self._every or time.monotonic() - self._checkpointed_at >= CHECKPOINT_S:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Record the bytes written so far, so that they survive whatever happens next."""
        if self.have == self._checkpointed:
            return
        line = json.dumps({"bytes": self.have, "hash": self._digest.value})
        with self._journal.open("a", encoding="ascii") as journal:
            journal.write(line + "\n")
        self._checkpointed, self._checkpointed_at = self.have, time.monotonic()

    def restart(self) -> None:
        """Discard all bytes: they cannot be continued."""
        self._file.truncate(0)
        self._file.seek(0)
        self._reset()
        self._write_header()

    @property
    def is_in_place(self) -> bool:
        """Whether the file being written still has its name: another process that wrote it may have finished it."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        return False

    def finish(self, target: Path) -> None:
        """Give the complete, checked file its name. Its record must have been saved before."""
        os.fsync(self._file.fileno())
        self.close()
        target.parent.mkdir(parents=True, exist_ok=True)
        self._path.replace(target)
        sync_folder(target.parent)
        self._journal.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the file and its journal."""
        self.close()
        self._path.unlink(missing_ok=True)
        self._journal.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file, keeping its bytes for the next run. Idempotent."""
        if self._file is None:
            return
        # On a full or missing disk the last checkpoint stays; there is nothing else to do about it here.
        with contextlib.suppress(OSError):
            self.checkpoint()
        self._file.close()
        self._file = None

    @property
    def fingerprint(self) -> Fingerprint:
        """Hash of the bytes so far."""
        return self._digest.fingerprint

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._file = os.fdopen(os.open(self._path, flags, 0o644), "r+b", buffering=0)

    def _reset(self) -> None:
        self.have, self._checkpointed, self._checkpointed_at = 0, 0, time.monotonic()
        self._digest = self._new_digest()

    def _new_digest(self) -> Digest:
        return Digest(self._kind, self._remote.size)

    def _checkpoints(self) -> Iterator[tuple[int, str]]:
        """Sizes and hashes from the journal, in order; nothing when it describes another file."""
        lines = read_journal(self._journal)
        if next(lines, None) != self._header:
            return
        last = 0
        for line in lines:
            size, value = line.get("bytes"), line.get("hash")
            if not isinstance(size, int) or not isinstance(value, str) or not last < size <= self._remote.size:
                return
            last = size
            yield size, value

    def _matches(self, size: int, value: str, step: Callable[[int], None]) -> bool:
        position = self._file.tell()
        while position < size:
            data = self._file.read(min(CHUNK, size - position))
            if not data:
                return False
            position += len(data)
            self._digest.update(data)
            step(len(data))
        return self._digest.value == value

    def _write_header(self) -> None:
        lines = [self._header]
        if self.have:
            lines.append({"bytes": self.have, "hash": self._digest.value})
        write_atomically(self._journal, "".join(json.dumps(line) + "\n" for line in lines))


@contextlib.contextmanager
def own_base(base: Path, lock: DownloadLock) -> Iterator[Path]:
    """Take a partial file for this process: at a base path of its own if the lock excludes nobody.

    What is there, or what a killed process left an hour ago, is moved there, and back at the end.
    """
    if lock.excludes_others:
        yield base
        return
    own = private_path(base)
    for other in (base, *_abandoned(base)):
        if not partial_path(own).exists():
            _move(other, own)
    try:
        yield own
    finally:
        _move(own, base)


def private_path(base: Path) -> Path:
    """Return a path beside `base` that no other process has."""
    return base.with_name(f"{base.name}.{secrets.token_hex(_OWN_DIGITS // 2)}")


def private_parts(base: Path) -> list[Path]:
    """Paths of the received bytes of processes that took the file for themselves."""
    return sorted(base.parent.glob(f"{glob.escape(base.name)}.{'[0-9a-f]' * _OWN_DIGITS}.part"))


def _abandoned(base: Path) -> Iterator[Path]:
    for part in private_parts(base):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED_S:
                yield part.with_suffix("")


def _move(base: Path, target: Path) -> None:
    # A journal without its file, or with another one, is found out by the hashes in it.
    for path in (partial_path, journal_path):
        with contextlib.suppress(OSError):
            path(base).replace(path(target))


def partial_path(base: Path) -> Path:
    """Path of the received bytes."""
    return base.with_name(base.name + ".part")


def journal_path(base: Path) -> Path:
    """Path of the journal."""
    return base.with_name(base.name + ".journal")


def partial_bytes(base: Path) -> int:
    """Bytes received of a file, by its journal; another process may be writing it."""
    lines = [line.get("bytes") for line in read_journal(journal_path(base))]
    have = lines[-1] if len(lines) > 1 and isinstance(lines[-1], int) else 0
    try:
        return min(have, partial_path(base).stat().st_size)
    except OSError:
        return 0


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Lines of the journal, up to the first invalid one: a crash may have torn the last one."""
    try:
        text = read_small_file(path, _JOURNAL_LIMIT_BYTES).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        yield value


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder survive a power cut, where the system supports that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
