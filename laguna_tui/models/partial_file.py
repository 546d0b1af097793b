"""A file on its way: `NAME.part`, and `NAME.journal` beside it, which says how much of it can be trusted.

The journal has a line that says which file this is, then one for every checkpoint: so many bytes were written, and
they come to this hash. After a crash, a power cut or a full disk the bytes are hashed again and everything behind the
last checkpoint that agrees is cut off. So a resumed file is as good as one that came at once, and damage on the disk
costs what lies behind it, not the whole file. It also means that nothing waits for the disk on the way: a checkpoint
whose bytes a power cut took does not agree, and the one before it counts. Only a whole file is synced, once.

One process at a time may write it, the one that holds its `DownloadLock`.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.models.records import CHUNK, SHA256, Digest, Fingerprint, RemoteFile, read_json, write_json


class DownloadLock:
    """The right to write what is at `base`. It ends with the process that has it, however that ends.

    The lock's file is never removed: another process may hold on to it and would then lock what nobody else sees.
    """

    def __init__(self, base: Path) -> None:
        self._lock_path = base.with_name(base.name + ".lock")
        self._holder_path = base.with_name(base.name + ".holder")
        self._lock = FileLock(str(self._lock_path), thread_local=False)

    def take(self) -> bool:
        """Try to get it, without waiting; says whether it worked."""
        self._lock_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        write_json(self._holder_path, {"pid": os.getpid()})
        return True

    def release(self) -> None:
        """Let the next one have it. Idempotent."""
        if self._lock.is_locked:
            self._holder_path.unlink(missing_ok=True)
            self._lock.release()

    def holder(self) -> str:
        """Who has it, for a sentence."""
        pid = (read_json(self._holder_path) or {}).get("pid")
        return f"another laguna-tui (process {pid})" if isinstance(pid, int) else "another laguna-tui"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


CHECKPOINT_BYTES = 32 << 20
CHECKPOINT_S = 5.0
# A day of checkpoints has a hundredth.
_JOURNAL_LIMIT_BYTES = 64 << 20
"""What a kill may cost at most: so many bytes, or so many seconds of them, whichever is less."""


class PartialFile:
    """One file being written. One process at a time, by `DownloadLock`; one thread.

    have: bytes that were written. `recover` first; then `write`; `finish` gives the file its name.
    """

    def __init__(
        self, base: Path, repository: str, remote: RemoteFile, kind: str | None = None, every: int = CHECKPOINT_BYTES
    ) -> None:
        """Nothing is touched yet. kind: of the hash to compute; None for the one that the hub published."""
        self._path, self._journal = partial_path(base), journal_path(base)
        self._remote = remote
        self._kind = kind or (remote.etag.kind if remote.etag else SHA256)
        self._head = {
            "repository": repository,
            "file": remote.name,
            "size": remote.size,
            "etag": remote.etag.value if remote.etag else None,
            "kind": self._kind,
        }
        self._every = every
        self._file: Any = None
        self.have, self._kept, self._kept_at = 0, 0, time.monotonic()
        self._digest = self._fresh()

    def __enter__(self) -> "PartialFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def recover(self, step: Callable[[int], None]) -> None:
        """Find out what is there and can be trusted; what cannot is cut off.

        Bytes of another version of the file go. `step` is told of every few MiB hashed, and may raise to stop.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._open()
        good = self._digest.copy()
        for size, value in self._checkpoints():
            if not self._agrees(size, value, step):
                break
            self.have, self._kept, good = size, size, self._digest.copy()
        self._digest = good
        self._file.truncate(self.have)
        self._file.seek(self.have)
        self._write_head()

    def write(self, data: bytes) -> None:
        """Append bytes; OSError when the disk is full, and then what was checked before is still good."""
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self._digest.update(data)
        self.have += len(data)
        if self.have - self._kept >= self._every or time.monotonic() - self._kept_at >= CHECKPOINT_S:
            self.checkpoint()

    def checkpoint(self) -> None:
        """What was written until now can be found again whatever happens next."""
        if self.have == self._kept:
            return
        line = json.dumps({"bytes": self.have, "hash": self._digest.value})
        with self._journal.open("a", encoding="ascii") as journal:
            journal.write(line + "\n")
        self._kept, self._kept_at = self.have, time.monotonic()

    def restart(self) -> None:
        """Throw away what is there: it cannot be continued."""
        self._file.truncate(0)
        self._file.seek(0)
        self._forget()
        self._write_head()

    def finish(self, target: Path) -> None:
        """Give the whole, checked file its name. Its record must be there before."""
        os.fsync(self._file.fileno())
        self.close()
        target.parent.mkdir(parents=True, exist_ok=True)
        self._path.replace(target)
        sync_folder(target.parent)
        self._journal.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove what is there."""
        self.close()
        self._path.unlink(missing_ok=True)
        self._journal.unlink(missing_ok=True)

    def close(self) -> None:
        """Keep what is there for the next time. Idempotent."""
        if self._file is None:
            return
        # A disk that is full or gone keeps its last checkpoint; that is all there is to say about it here.
        with contextlib.suppress(OSError):
            self.checkpoint()
        self._file.close()
        self._file = None

    @property
    def fingerprint(self) -> Fingerprint:
        """What the bytes so far come to."""
        return self._digest.fingerprint

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._file = os.fdopen(os.open(self._path, flags, 0o644), "r+b", buffering=0)

    def _forget(self) -> None:
        self.have, self._kept, self._kept_at = 0, 0, time.monotonic()
        self._digest = self._fresh()

    def _fresh(self) -> Digest:
        return Digest(self._kind, self._remote.size)

    def _checkpoints(self) -> Iterator[tuple[int, str]]:
        """Sizes and hashes from the journal, in order; nothing when it is of another file."""
        lines = read_journal(self._journal)
        if next(lines, None) != self._head:
            return
        last = 0
        for line in lines:
            size, value = line.get("bytes"), line.get("hash")
            if not isinstance(size, int) or not isinstance(value, str) or not last < size <= self._remote.size:
                return
            last = size
            yield size, value

    def _agrees(self, size: int, value: str, step: Callable[[int], None]) -> bool:
        position = self._file.tell()
        while position < size:
            data = self._file.read(min(CHUNK, size - position))
            if not data:
                return False
            position += len(data)
            self._digest.update(data)
            step(len(data))
        return self._digest.value == value

    def _write_head(self) -> None:
        lines = [self._head]
        if self.have:
            lines.append({"bytes": self.have, "hash": self._digest.value})
        write_atomically(self._journal, "".join(json.dumps(line) + "\n" for line in lines))


def partial_path(base: Path) -> Path:
    """Where the bytes of a file on its way are."""
    return base.with_name(base.name + ".part")


def journal_path(base: Path) -> Path:
    """Where it is said how many of them can be trusted."""
    return base.with_name(base.name + ".journal")


def partial_bytes(base: Path) -> int:
    """How much of a file has arrived, by its journal; another process may be writing it."""
    lines = [line.get("bytes") for line in read_journal(journal_path(base))]
    have = lines[-1] if len(lines) > 1 and isinstance(lines[-1], int) else 0
    try:
        return min(have, partial_path(base).stat().st_size)
    except OSError:
        return 0


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The journal's lines, up to the first that is no line of a journal: a crash may have torn the last one."""
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
    """Make a rename in this folder survive a power cut, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
