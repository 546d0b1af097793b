"""A journal on disk: events as lines of JSON, read up to the first invalid byte.

Only the longest valid prefix counts. A line is valid when it ends with a newline and is a JSON object with a string
`event`; the first one has the session's ID and the version. A line with `more` belongs to the same group as
the one behind it: a group counts once its last line is there, so that a kill leaves all of a change or nothing of it.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from laguna_tui.base.errors import UserError
from laguna_tui.base.locked_file import open_private, reason
from laguna_tui.base.object_store import ObjectStore, StoreError
from laguna_tui.base.stored_json import to_json
from laguna_tui.store.events import LOST, VERSION, Began, Event, Unread, decoded

JOURNAL = "journal.jsonl"
BLOBS = "blobs"
MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longer lines are invalid: large texts are blobs."""
_CHUNK_BYTES = 1024 * 1024

ReadAt = Callable[[int, int], bytes]
"""Returns bytes of a file, given the most that are wanted and their place."""


class JournalError(UserError):
    """A session's journal cannot be used; the message is a sentence for the user."""


class LaterVersionError(JournalError):
    """A later version of the app wrote it."""


class Line(NamedTuple):
    """An event, and where it is.

    Attributes:
        event: What the line says.
        start: Its first byte in the journal.
        end: The byte behind its newline.
    """

    event: Event | Unread
    start: int
    end: int


def encoded_group(events: Sequence[Event], now: float) -> bytes:
    """Return events as a group of lines, which are read together or not at all.

    Args:
        events: What the lines say.
        now: The time of those that have none.

    Raises:
        ValueError: A line is longer than `MAX_LINE_BYTES`.
    """
    last = len(events) - 1
    timed = (replace(event, time=event.time or now, more=at != last) for at, event in enumerate(events))
    group = list(map(to_json, timed))
    if (longest := max(map(len, group))) >= MAX_LINE_BYTES:
        raise ValueError(f"an event of {longest:,} bytes is too long for a journal")
    return b"".join(line + b"\n" for line in group)


def lines(read_at: ReadAt, start: int, end: int) -> Iterator[Line]:
    """Yield the valid lines between two places, up to the first invalid one or the first unfinished group."""
    group: list[Line] = []
    for line in _single_lines(read_at, start, end):
        group.append(line)
        if not line.event.more:
            yield from group
            group.clear()


def _single_lines(read_at: ReadAt, start: int, end: int) -> Iterator[Line]:
    """Yield the valid lines between two places, up to the first invalid or unfinished one."""
    waiting, at = b"", start
    place = start
    while place < end and (data := read_at(min(_CHUNK_BYTES, end - place), place)):
        place += len(data)
        *whole, waiting = (waiting + data).split(b"\n")
        for line in whole:
            event = decoded(line)
            if event is None:
                return
            yield Line(event, at, at := at + len(line) + 1)
        if len(waiting) > MAX_LINE_BYTES:
            return


def read_journal(path: Path, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Yield the lines of a journal that need not be open here, up to its end or its first damage. Changes nothing.

    Args:
        path: The journal's file.
        start: A place where a line begins.
        end: A place where one ends; None for the end as it is when the first line is asked for.

    Raises:
        JournalError: It cannot be read.
    """
    held = opened(path)
    try:
        size = os.fstat(held).st_size
        yield from lines(lambda count, at: os.pread(held, count, at), start, size if end is None else min(end, size))
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(held)


def opened(path: Path) -> int:
    """Return a descriptor to read a journal that need not be open here.

    Raises:
        JournalError: It cannot be opened, or is not a file of this user.
    """
    try:
        return open_private(path, os.O_RDONLY)
    except OSError as error:
        raise unreadable(path, error) from error


def valid_end(held: int, path: Path) -> int:
    """Return where the longest valid prefix of a journal ends.

    Args:
        held: A descriptor of the journal.
        path: Its file.

    Raises:
        JournalError: It is not a journal, or of a later version.
        OSError: It cannot be read.
    """
    found = lines(lambda count, at: os.pread(held, count, at), 0, os.fstat(held).st_size)
    first = next(found, None)
    check_header(first, path)
    end = first.end if first is not None else 0
    for line in found:
        end = line.end
    return end


def keep_tail(held: int, start: int, folder: Path) -> Path | None:
    """Copy what follows the valid prefix of a journal into a new file, durably, if it is more than an unfinished group.

    Args:
        held: A descriptor of the journal.
        start: Where the prefix ends.
        folder: Where the new file is created.

    Returns:
        The new file; None if there is nothing, or only an unfinished group.

    Raises:
        OSError: The disk refuses; there is no new file.
    """
    read_to = start
    for line in _single_lines(lambda count, at: os.pread(held, count, at), start, os.fstat(held).st_size):
        read_to = line.end
    if not any(b"\n" in data for data in _pieces(held, read_to)):
        return None
    path = folder / f"cut-{start}-{time.time_ns()}.jsonl"
    copy = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        for data in _pieces(held, start):
            left = memoryview(data)
            while left:
                left = left[os.write(copy, left) :]
        os.fsync(copy)
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(copy)
    return path


def _pieces(held: int, start: int) -> Iterator[bytes]:
    while data := os.pread(held, _CHUNK_BYTES, start):
        yield data
        start += len(data)


def check_header(first: Line | None, path: Path) -> Began:
    """Return the first line of a journal.

    Raises:
        JournalError: It is not the beginning of a journal, or of one that a later version wrote.
    """
    event = first.event if first is not None and first.start == 0 else None
    data = event.data if isinstance(event, Unread) else {}
    version = event.version if isinstance(event, Began) else data.get("version")
    if isinstance(version, int) and version > VERSION:
        raise LaterVersionError(
            f"{path.parent.name} was written by a later version of laguna-tui; update laguna-tui to open it"
        )
    if not isinstance(event, Began):
        raise JournalError(f"{path} is not a session: its beginning is missing or damaged; delete its folder")
    return event


class BlobReader:
    """Reads the blobs of a session, also while another process has it open."""

    def __init__(self, folder: Path) -> None:
        """Open nothing yet. folder: The session's."""
        self._folder = folder
        self._store: ObjectStore | None = None

    def get(self, name: str) -> bytes:
        """Return the bytes of a blob; `LOST` where they are missing."""
        try:
            if self._store is None or name not in self._store:
                # A session that is open elsewhere may have got it since.
                self.close()
                self._store = ObjectStore(self._folder / BLOBS, read_only=True)
            return self._store.get(name)
        except StoreError:
            return LOST.encode()

    def close(self) -> None:
        """Close the blobs. Idempotent."""
        if self._store is not None:
            self._store.close()
            self._store = None


def unreadable(path: Path, error: OSError) -> JournalError:
    """Return the error of a journal that the system cannot read."""
    if isinstance(error, FileNotFoundError):
        return JournalError(f"there is no session {path.parent.name}; see: laguna-tui sessions list")
    return JournalError(f"the session {path.parent.name} cannot be read: {reason(error)} ({path})")
