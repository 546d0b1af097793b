"""A journal on disk: events as lines of JSON, one after another, read up to the first byte that makes no sense.

Only the longest valid prefix counts. A line is valid when it ends with a newline and is a JSON object with a string
`event`; the first one says whose journal it is and of which version. A line with `more` belongs to the same group as
the one behind it: a group counts once its last line is there, so that a kill leaves all of a change or nothing of it.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from laguna_tui.base.errors import UserError
from laguna_tui.base.locked_file import open_private, reason

JOURNAL = "journal.jsonl"
VERSION = 1
"""Of the format. A journal of a later one is not opened; unknown events and fields are ignored."""
HEADER = "session"
"""The event that every journal begins with."""
MORE = "more"
"""The field of the lines that another line of their group follows."""
MAX_LINE_BYTES = 64 * 1024 * 1024
"""What is longer is no line: large texts are blobs."""
_CHUNK_BYTES = 1024 * 1024

Event = Mapping[str, Any]
ReadAt = Callable[[int, int], bytes]
"""Bytes of a file: how many at most, from which place."""


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

    event: dict[str, Any]
    start: int
    end: int


def encoded_group(events: Sequence[Event]) -> bytes:
    """Return events as a group of lines, which are read together or not at all. Raises as `encoded`."""
    last = len(events) - 1
    return b"".join(encoded(event if at == last else {**event, MORE: True}) for at, event in enumerate(events))


def encoded(event: Event) -> bytes:
    """Return an event as a line.

    Raises:
        ValueError: It is longer than `MAX_LINE_BYTES`.
    """
    try:
        data = msgspec.json.encode(event)
    except (UnicodeEncodeError, OverflowError):
        # Lone surrogates (paths that are not UTF-8, a model's broken text) and huge numbers come back as they were.
        data = json.dumps(event, separators=(",", ":")).encode()
    if len(data) >= MAX_LINE_BYTES:
        raise ValueError(f"an event of {len(data):,} bytes is too long for a journal")
    return data + b"\n"


def decoded(line: bytes) -> dict[str, Any] | None:
    """Return what a line says, with or without its newline; None if it is not valid."""
    try:
        value = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) and isinstance(value.get("event"), str) else None


def lines(read_at: ReadAt, start: int, end: int) -> Iterator[Line]:
    """The valid lines between two places, up to the first one that is not valid, or whose group is not finished."""
    group: list[Line] = []
    for line in _single_lines(read_at, start, end):
        group.append(line)
        if MORE not in line.event:
            yield from group
            group.clear()


def _single_lines(read_at: ReadAt, start: int, end: int) -> Iterator[Line]:
    """The valid lines between two places, up to the first one that is not valid or not finished."""
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
    """The events of a journal that need not be open here: up to its end, or to where it is damaged. Changes nothing.

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
        JournalError: It cannot be opened, or is no file of this user.
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
    """Copy what is behind the valid prefix of a journal into a new file, durably, where it has more than a torn group.

    Args:
        held: A descriptor of the journal.
        start: Where the prefix ends.
        folder: Where the new file is created.

    Returns:
        The new file; None if there is nothing, or no more than a group of lines that was not finished.

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


def check_header(first: Line | None, path: Path) -> dict[str, Any]:
    """Return what the first line of a journal says.

    Raises:
        JournalError: It is not the beginning of a journal, or of one that a later version wrote.
    """
    event = first.event if first is not None and first.start == 0 else {}
    version = event.get("version")
    if event.get("event") != HEADER or not isinstance(version, int):
        raise JournalError(f"{path} is not a session: its beginning is missing or damaged; delete its folder")
    if version > VERSION:
        raise LaterVersionError(
            f"{path.parent.name} was written by a later version of laguna-tui; update laguna-tui to open it"
        )
    return event


def unreadable(path: Path, error: OSError) -> JournalError:
    """The error of a journal that the system does not give out."""
    if isinstance(error, FileNotFoundError):
        return JournalError(f"there is no session {path.parent.name}; see: laguna-tui sessions list")
    return JournalError(f"the session {path.parent.name} cannot be read: {reason(error)} ({path})")
