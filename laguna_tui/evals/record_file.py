"""The file that keeps a run: JSON lines, the first about the run, each other one a record of it.

A line is written once its record is whole, so a run that ended in any way continues with what is missing; a torn last
line is cut. One process writes a file at a time.
"""

import json
import os
import stat
from collections.abc import Callable
from dataclasses import asdict
from io import BufferedRandom
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import msgspec
from filelock import FileLock, Timeout

from laguna_engine.files import read_small_file, replacing
from laguna_tui.base.errors import UserError

Head = TypeVar("Head")
Record = TypeVar("Record")
_NOT_READABLE = "{path}: {why}; give another file with --out"
_IN_USE = "{path}: another laguna-tui writes to it; wait for its end, or give another file with --out"
_RECORDS_BYTES = 8 << 30
_NO_FILE = "it is not a file of samples"


class RecordFile(Generic[Head, Record]):
    """The open file of a run, locked for this process.

    Attributes:
        head: the first line.
        records: what the others hold, in their order.
    """

    def __init__(self, path: Path, lock: FileLock, file: BufferedRandom, head: Head, records: list[Record]) -> None:
        """Use `RecordFile.open`."""
        self._path, self._lock, self._file = path, lock, file
        self.head, self.records = head, records

    @classmethod
    def open(cls, path: Path, head: Head, kind: Any, check: Callable[[Head], None]) -> Self:
        """Open a file to continue, or a new one.

        Args:
            path: of the file; its lock is `.lock` beside it.
            head: the first line of a new one.
            kind: the type of its records.
            check: raises UserError where the first line of a file that is there is not what it should be.

        Raises:
            UserError: another process writes it, it cannot be written, is no such file, or `check` refuses it.
        """
        # Before a lock is created beside a device.
        if path.exists() and not path.is_file():
            raise UserError(_NOT_READABLE.format(path=path, why=_NO_FILE))
        # Links to a file share its lock, and sorting replaces the file, not a link to it.
        path = Path(os.path.realpath(path)) if path.is_symlink() else path
        # A lock of the process, whichever thread lets it go.
        lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
        try:
            lock.acquire()
            try:
                return cls._locked(path, lock, head, kind, check)
            except BaseException:
                lock.release()
                raise
        except Timeout as error:
            raise UserError(_IN_USE.format(path=path)) from error
        except OSError as error:
            raise UserError(_NOT_READABLE.format(path=path, why=error.strerror or error)) from error

    @classmethod
    def _locked(cls, path: Path, lock: FileLock, head: Head, kind: Any, check: Callable[[Head], None]) -> Self:
        # Opening a pipe would otherwise wait, and reading a device would never end.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _RECORDS_BYTES:
            os.close(descriptor)
            raise UserError(_NOT_READABLE.format(path=path, why=_NO_FILE))
        file = os.fdopen(descriptor, "r+b")
        try:
            data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            if data and not whole:
                raise UserError(_NOT_READABLE.format(path=path, why=_NO_FILE))
            records: list[Record] = []
            if whole:
                found, records = parsed_records(path, whole, type(head), kind)
                check(found)
            file.seek(len(whole))
            file.truncate()
            opened = cls(path, lock, file, head, records)
            if not whole:
                opened._write(head)
        except BaseException:
            file.close()
            raise
        return opened

    def add(self, record: Record) -> None:
        """Keep a record; it is on the disk when this returns."""
        self._write(record)
        self.records.append(record)

    def sort(self, key: Callable[[Record], Any]) -> None:
        """Put the records into an order, in the file too: until all of it is on the disk the old one stays."""
        self._check_alone()
        self.records.sort(key=key)
        with replacing(self._path, mode=0o666, keep_mode=True, durable=True) as file:
            file.writelines(map(line_of, (self.head, *self.records)))
        self._file.close()
        self._file = self._path.open("r+b")
        self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Close the file, and let others write to it. Idempotent."""
        self._file.close()
        # The lock's own file stays: who removes it may let two others in.
        self._lock.release()

    def _check_alone(self) -> None:
        """UserError if another process wrote to the file, or replaced it: not every disk has locks that exclude it."""
        status = os.fstat(self._file.fileno())
        there = self._path.stat() if self._path.exists() else None
        if status.st_size != self._file.tell() or there is None or not os.path.samestat(status, there):
            raise UserError(_IN_USE.format(path=self._path))

    def _write(self, value: Head | Record) -> None:
        self._check_alone()
        self._file.write(line_of(value))
        self._file.flush()
        os.fsync(self._file.fileno())


def line_of(value: Any) -> bytes:
    """A line of the file."""
    return json.dumps(asdict(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def read_records(path: Path, head: type[Head], kind: Any, command: str) -> tuple[Head, list[Any]]:
    """The first line and the records of a file; a torn last line is left out.

    command: that writes such files, for the sentence of the UserError that is raised if it is none.
    """
    try:
        data = read_small_file(path, _RECORDS_BYTES)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}; give a file that `{command}` wrote") from error
    return parsed_records(path, data[: data.rfind(b"\n") + 1], head, kind)


def parsed_records(path: Path, data: bytes, head: type[Head], kind: Any) -> tuple[Head, list[Any]]:
    """The first line and the records in whole lines; UserError if they are none."""
    lines = data.splitlines()
    decoder = msgspec.json.Decoder(kind)
    try:
        return msgspec.json.decode(lines[0], type=head), [decoder.decode(line) for line in lines[1:]]
    except (IndexError, ValueError) as error:
        raise UserError(_NOT_READABLE.format(path=path, why=f"{_NO_FILE} ({error})")) from error
