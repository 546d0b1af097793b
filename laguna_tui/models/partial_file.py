"""Partial files of a download: `NAME.HASH.part`, where HASH is the beginning of the complete file's hash.

Such a file is continued as it is. Its bytes are hashed when it is complete, so damage inside it costs the whole file.

Written by one process at a time, the holder of its `DownloadLock`. Where the disk's locks do not work, a process
takes the file under a name of its own (`own_part`), and gives it back when it stops.
"""

import contextlib
import glob
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Self

from filelock import FileLock, Timeout

from laguna_engine.files import read_small_file
from laguna_tui.base.locked_file import excludes_others, sync_folder
from laguna_tui.models.records import Fingerprint, read_json, write_json

_HASH_DIGITS = 16
_OWN_DIGITS = 8
# Longer than all retries of a connection.
_ABANDONED_S = 3600.0
_LEFT = re.compile(rf"(\.[0-9a-f]{{{_HASH_DIGITS}}})?(?P<own>\.[0-9a-f]{{{_OWN_DIGITS}}})?\.(part|journal)")
"""What follows the base's name; version 0.1 wrote a journal, and no hash into the name."""
# A day of version 0.1's checkpoints takes a hundredth of it.
_JOURNAL_LIMIT_BYTES = 64 << 20


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
        """Return the words for the process that holds it."""
        pid = (read_json(self._holder_path, dict[str, int]) or {}).get("pid")
        return "another laguna-tui" if pid is None else f"another laguna-tui (process {pid})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def partial_path(base: Path, etag: Fingerprint | None) -> Path:
    """Return the path of the received bytes of the file with this hash; None for the name that version 0.1 gave it."""
    return base.with_name(f"{base.name}.{etag.value[:_HASH_DIGITS]}.part" if etag else f"{base.name}.part")


def partial_bytes(base: Path, etag: Fingerprint | None) -> int:
    """Return the received bytes of a file; another process may be writing it."""
    return size_of(partial_path(base, etag)) or size_of(partial_path(base, None))


def size_of(part: Path) -> int:
    """Return the bytes of a regular file; 0 for anything else."""
    with contextlib.suppress(OSError):
        status = part.lstat()
        return status.st_size if S_ISREG(status.st_mode) else 0
    return 0


def left_files(base: Path, *, private: bool = True) -> list[Path]:
    """Return what downloads of a file left unfinished, of any version of it.

    Args:
        base: Path of the file's lock, without its ending.
        private: Also what processes took for themselves.
    """
    found = base.parent.glob(f"{glob.escape(base.name)}.*")
    matches = [(path, _LEFT.fullmatch(path.name[len(base.name) :])) for path in found]
    return sorted(path for path, match in matches if match and (private or not match["own"]))


@contextlib.contextmanager
def own_part(base: Path, etag: Fingerprint | None, lock: DownloadLock) -> Iterator[Path]:
    """Take a partial file for this process, which holds `lock`, and remove those of other versions.

    If the lock does not work, what is there, or what a killed process left an hour ago, gets a name that no other
    process has, and the usual one at the end.
    """
    part = partial_path(base, etag)
    _adopt_journalled(base, part, etag)
    for other in left_files(base, private=False):
        if other != part:
            other.unlink()
    if lock.excludes_others:
        yield part
        return
    own = part.with_name(f"{private_path(part.with_suffix('')).name}.part")
    for other in (part, *_abandoned(base, part)):
        if not own.exists():
            _move(other, own)
    try:
        yield own
    finally:
        _move(own, part)


def private_path(base: Path) -> Path:
    """Return a path beside `base` that no other process has."""
    return base.with_name(f"{base.name}.{secrets.token_hex(_OWN_DIGITS // 2)}")


def finish(part: Path, target: Path) -> None:
    """Give the complete, checked file its name. Its record must have been saved before."""
    descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    target.parent.mkdir(parents=True, exist_ok=True)
    part.replace(target)
    with contextlib.suppress(OSError):
        sync_folder(target.parent)


def _adopt_journalled(base: Path, part: Path, etag: Fingerprint | None) -> None:
    """Adopt what version 0.1 left if its journal, in the first line, names the same hash."""
    journal = base.with_name(f"{base.name}.journal")
    with contextlib.suppress(OSError):
        header = read_small_file(journal, _JOURNAL_LIMIT_BYTES).partition(b"\n")[0]
        if etag and f'"etag": "{etag.value}"'.encode() in header and not part.exists():
            partial_path(base, None).replace(part)


def _abandoned(base: Path, part: Path) -> Iterator[Path]:
    for own in left_files(base):
        with contextlib.suppress(OSError):
            if own.name.startswith(part.stem) and time.time() - own.stat().st_mtime > _ABANDONED_S:
                yield own


def _move(part: Path, target: Path) -> None:
    with contextlib.suppress(OSError):
        part.replace(target)
