"""A session's journal while the session is open: events are appended, and read back by their place.

A disk that is full, read-only or over its quota never stops the chat: what cannot be written waits in memory, is read
from there, and is written in its order as soon as there is room.
"""

import errno
import fcntl
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from laguna_tui.base.locked_file import open_locked_soon, open_private, reason, sync_folder
from laguna_tui.base.object_store import ObjectStore, StoreError, name_of
from laguna_tui.base.units import size
from laguna_tui.store.events import VERSION, Began, Closed, Event
from laguna_tui.store.journal_lines import (
    BLOBS,
    JOURNAL,
    JournalError,
    Line,
    encoded_group,
    keep_tail,
    lines,
    unreadable,
    valid_end,
)

WAITING_LIMIT_BYTES = 32 * 1024 * 1024
"""How much may wait in memory while nothing can be written; beyond it the journal stops for good."""
# While something waits, and nothing new comes that would try again.
_RETRY_S = 2.0
_RESUMED = "another laguna-tui resumed it. Open a copy of it, or start a new session."
_NO_LIMIT = 1 << 62


def new_id(parent: Path) -> str:
    """Return the ID of a new session in a folder: the time, and random digits for sessions of the same second."""
    while True:
        session = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        if not (parent / session).exists():
            return session


class SessionLockedError(JournalError):
    """Another process has the session open.

    Attributes:
        id: The session.
    """

    def __init__(self, session: str) -> None:
        is_open = f"the session {session} is open in another laguna-tui; close it there, or open a copy of it"
        super().__init__(f"{is_open}: laguna-tui --resume {session} --fork")
        self.id = session
        self.in_app = f"{is_open} in the list of /resume"


class SessionJournal:
    """An open session's journal. Any thread.

    Attributes:
        id: Of the session.
        folder: The session's, with the journal, its blobs, and its undo store.
        notice: A sentence about what was damaged when it was opened; usually empty.
    """

    def __init__(self, folder: Path, waiting_limit: int = WAITING_LIMIT_BYTES) -> None:
        """Prepare; use `create` or `open`."""
        self.id = folder.name
        self.folder = folder
        self.notice = ""
        self._path = folder / JOURNAL
        self._limit = waiting_limit
        self._lock = threading.RLock()
        self._file = -1
        # What has to be done before anything can be written.
        self._prepare: Callable[[], None] | None = None
        self._blobs: ObjectStore | None = None
        self._blobs_writable = False
        # Lines and blobs in the order in which they came; a line has no name.
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._waiting_bytes = 0
        self._written = self._end = 0
        self._sync_wanted = self._folder_is_new = False
        self._stopped = self._closed = self._torn = False
        self._failing = ""
        self._timer: threading.Timer | None = None
        # Of the file when it was opened.
        self._size = 0

    @classmethod
    def create(cls, parent: Path, folder: str, app: str = "", *, waiting_limit: int = WAITING_LIMIT_BYTES) -> Self:
        """Begin a session. Its folder is created with mode 0700; where that fails, all of it waits: see `failing`.

        Args:
            parent: The folder of the sessions.
            folder: The folder that the session is about.
            app: The version of the app.
            waiting_limit: Bytes that may wait in memory.
        """
        journal = cls(parent / new_id(parent), waiting_limit)
        journal._prepare = journal._create
        journal.append(Began(id=journal.id, version=VERSION, folder=folder, app=app), durable=True)
        return journal

    @classmethod
    def open(cls, folder: Path, *, waiting_limit: int = WAITING_LIMIT_BYTES) -> Self:
        """Open a session to resume it. An invalid end of its journal is cut off.

        An unfinished last group is what a process was writing when it was killed. More than that is saved beside the
        journal, and `notice` says where.

        Args:
            folder: The session's folder.
            waiting_limit: Bytes that may wait in memory.

        Raises:
            SessionLockedError: Another process has it open.
            JournalError: There is none, it cannot be read, or it is not of this version.
        """
        journal = cls(folder, waiting_limit)
        path = folder / JOURNAL
        try:
            if folder.is_symlink():
                raise OSError(errno.ELOOP, "its folder is a link", str(folder))
            journal._open()
            try:
                journal._size = os.fstat(journal._file).st_size
                journal._written = journal._end = valid_end(journal._file, path)
            except BaseException:
                os.close(journal._file)
                raise
        except BlockingIOError as error:
            raise SessionLockedError(folder.name) from error
        except OSError as error:
            raise unreadable(path, error) from error
        journal.retry()
        return journal

    @property
    def failing(self) -> str:
        """Why nothing can be written now, as a sentence; empty while all is well."""
        return self._failing

    @property
    def stopped(self) -> bool:
        """Whether no more events are accepted, because too much waited; those accepted before are still written."""
        return self._stopped

    @property
    def end(self) -> int:
        """The place where the next line begins, in bytes; what waits is counted."""
        return self._end

    def append(self, *events: Event, durable: bool = False) -> None:
        """Write events, with the time; after a kill all of them are there, or none.

        Never raises for what the disk does; after `close` it does nothing.

        Args:
            events: A group.
            durable: Return when the disk has it, so that a power cut does not lose it.

        Raises:
            ValueError: One is longer than `journal_lines.MAX_LINE_BYTES`.
        """
        if not events:
            return
        group = encoded_group(events, round(max(time.time(), 0.0), 3))
        with self._lock:
            if self._takes(len(group)):
                self._waiting.append(("", group))
                self._end += len(group)
                self._sync_wanted |= durable
                self._write_waiting()

    def put_blob(self, data: bytes) -> str:
        """Store bytes, once even if they are given again; returns their name, for `blob`. Never raises, as `append`."""
        name = name_of(data)
        with self._lock:
            known = any(name == other for other, _ in self._waiting) or (self._blobs and name in self._blobs)
            if not known and self._takes(len(data)):
                self._waiting.append((name, data))
                self._write_waiting()
        return name

    def blob(self, name: str) -> bytes:
        """Return the bytes with a name.

        Raises:
            JournalError: They are missing or damaged.
        """
        with self._lock:
            for other, data in self._waiting:
                if other == name:
                    return data
            try:
                return self._blob_store(to_write=False).get(name)
            except StoreError as error:
                raise JournalError(f"a part of the session {self.id} is lost: {error}") from error

    def read(self, start: int = 0, end: int | None = None) -> Iterator[Line]:
        """Yield the events between two places, also those that wait.

        Args:
            start: A place where a line begins.
            end: A place where one ends; None for the end as it is when the first one is asked for.

        Raises:
            JournalError: They cannot be read as they were written, or the journal was closed.
        """
        at, stop = start, self._end if end is None else min(end, self._end)
        try:
            for line in lines(self._read_at, start, stop):
                at = line.end
                yield line
        except OSError as error:
            raise unreadable(self._path, error) from error
        if at < stop:
            raise JournalError(f"the session {self.id} is damaged at byte {at:,} of {self._path}")

    def retry(self) -> bool:
        """Try to write what waits; returns whether nothing waits any more."""
        with self._lock:
            if not self._closed:
                self._write_waiting()
            return not self._waiting

    def close(self, reason: str = "") -> None:
        """Write that the session was closed, and unlock it. Idempotent.

        Args:
            reason: Why, where the user did not close it, such as "SIGTERM"; else empty.
        """
        self.append(Closed(reason=reason), durable=True)
        self.release()

    def release(self) -> None:
        """Unlock it without writing anything. Idempotent."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            if self._blobs is not None:
                self._blobs.close()
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def _takes(self, count: int) -> bool:
        """Return whether this many more bytes are accepted; if they are too many, the journal stops."""
        if self._closed or self._stopped:
            return False
        if self._waiting and self._waiting_bytes + count > self._limit:
            self._stop(
                f"{size(self._waiting_bytes)} waited for room on the disk of {self.folder.parent}. Free some, then "
                "start a new session."
            )
            return False
        self._waiting_bytes += count
        return True

    def _stop(self, why: str) -> None:
        self._stopped = True
        self._failing = f"This session is no longer saved: {why}"

    def _write_waiting(self) -> None:
        try:
            if self._prepare is not None:
                self._prepare()
                self._prepare = None
            while self._waiting:
                self._write(*self._waiting[0])
                self._waiting_bytes -= len(self._waiting.popleft()[1])
            if self._sync_wanted:
                self._sync()
        except (OSError, StoreError) as error:
            self._fail(error)
        else:
            if not self._stopped:
                self._failing = ""

    def _write(self, name: str, data: bytes) -> None:
        if name:
            self._blob_store(to_write=True).put(data)
            return
        self._remove_torn()
        self._check_size(self._written)
        left, at = memoryview(data), self._written
        try:
            while left:
                count = os.pwrite(self._file, left, at)
                at, left = at + count, left[count:]
        except OSError:
            self._torn = True
            with suppress(OSError):
                self._remove_torn()
            raise
        self._written = at

    def _remove_torn(self) -> None:
        """Remove what a failed write left after the last line."""
        if self._torn:
            os.ftruncate(self._file, self._written)
            self._torn = False

    def _check_size(self, expected: int) -> None:
        """Raise OSError if another process wrote to the file: not every disk has locks that exclude it."""
        if os.fstat(self._file).st_size != expected:
            self._stop(_RESUMED)
            raise OSError(errno.ESTALE, "another laguna-tui resumed it")

    def _sync(self) -> None:
        if self._blobs is not None:
            self._blobs.flush()
        os.fsync(self._file)
        if self._folder_is_new:
            sync_folder(self.folder)
            sync_folder(self.folder.parent)
            self._folder_is_new = False
        self._sync_wanted = False
        if not os.fstat(self._file).st_nlink:
            self._stop("its file was deleted. Start a new session to save it.")

    def _fail(self, error: OSError | StoreError) -> None:
        if not self._stopped:
            why = reason(error) if isinstance(error, OSError) else str(error)
            self._failing = (
                f"This session is not being saved at the moment: {why}. Make room on the disk of {self.folder.parent}, "
                "or make it writable; what waits is written then."
            )
        if self._timer is None and not self._closed:
            self._timer = threading.Timer(_RETRY_S, self._retry_later)
            self._timer.daemon = True
            self._timer.start()

    def _retry_later(self) -> None:
        with self._lock:
            self._timer = None
        self.retry()

    def _create(self) -> None:
        self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.mkdir(exist_ok=True, mode=0o700)
        self._file = open_locked_soon(self._path, os.O_RDWR | os.O_CREAT)
        if os.fstat(self._file).st_size:
            os.close(self._file)
            self._file = -1
            raise OSError(errno.EEXIST, f"there is already a session {self.id}")
        self._folder_is_new = True

    def _open(self) -> None:
        try:
            self._file = open_locked_soon(self._path)
            self._prepare = self._cut
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            self._file = open_locked_soon(self._path, os.O_RDONLY)
            self._prepare = self._reopen

    def _reopen(self) -> None:
        """Open for writing what could only be read before."""
        fresh = open_private(self._path, os.O_RDWR)
        os.close(self._file)
        self._file = fresh
        fcntl.flock(fresh, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._cut()

    def _cut(self) -> None:
        """Cut off the invalid end, and save it if it is more than an unfinished group."""
        self._check_size(self._size)
        kept = keep_tail(self._file, self._written, self.folder)
        if kept is not None:
            self.notice = f"{size(self._size - self._written)} of this session could not be read; see {kept}"
        os.ftruncate(self._file, self._written)

    def _blob_store(self, *, to_write: bool) -> ObjectStore:
        if self._blobs is None or (to_write and not self._blobs_writable):
            fresh = ObjectStore(self.folder / BLOBS, _NO_LIMIT, read_only=not to_write)
            if self._blobs is not None:
                self._blobs.close()
            self._blobs, self._blobs_writable = fresh, to_write
        return self._blobs

    def _read_at(self, count: int, at: int) -> bytes:
        with self._lock:
            if self._closed:
                raise OSError(errno.EBADF, "it was closed")
            if at < self._written:
                return os.pread(self._file, min(count, self._written - at), at)
            found, place = bytearray(), self._written
            for name, data in self._waiting:
                if not name:
                    if place + len(data) > at and len(found) < count:
                        found += data[max(0, at - place) :]
                    place += len(data)
            return bytes(found[:count])
