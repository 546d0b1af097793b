"""File contents by their hash, in one private file that only grows.

Record: digest (32 bytes), compression (1), length of the payload (8, big endian), payload. One file rather than one per
object: the first checkpoint of a large folder writes tens of thousands. Bytes are stored as they are read: no filters,
no text conversion. The file is locked while it is open.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from laguna_tui.base.locked_file import open_locked_soon, open_private, reason

OBJECTS = "objects.pack"
STORE_LIMIT_BYTES = 2 * 1024 * 1024 * 1024
"""Compressed bytes of one session; what does not fit is not covered, which the user is told."""

_HEADER = struct.Struct(">32sBQ")
_DIGEST_BYTES = 32
_RAW, _ZLIB = 0, 1
# The fastest level: source code shrinks to a third, and a hundred megabytes take a second.
_LEVEL = 1
# Shorter contents are not worth compressing.
_COMPRESSED_FROM = 128


class StoreError(Exception):
    """Contents cannot be stored or read; the message is a sentence for the user."""


class StoreFullError(StoreError):
    """The store has reached its limit."""


def name_of(data: bytes) -> str:
    """Return the name that bytes get in every store: their hash, in hex."""
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


class ObjectStore:
    """Contents of one session. One thread at a time."""

    def __init__(self, folder: Path, limit: int = STORE_LIMIT_BYTES, *, read_only: bool = False) -> None:
        """Open a store, and create it if there is none.

        Args:
            folder: Its folder, created with mode 0700.
            limit: Largest size in bytes.
            read_only: Read what is there, also while another process has it open; nothing is created or changed.

        Raises:
            StoreError: It cannot be created or read, or another process has it open.
        """
        self.folder = folder
        self._limit = limit
        self._held = -1
        self._end = self._synced = 0
        self._torn = False
        try:
            if read_only:
                self._held = open_private(folder / OBJECTS, os.O_RDONLY)
            else:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._held = open_locked_soon(folder / OBJECTS, os.O_RDWR | os.O_CREAT)
            self._places = dict(self._scan())
            if not read_only:
                os.ftruncate(self._held, self._end)
        except BlockingIOError as error:
            raise StoreError(f"another laguna-tui has {folder} open") from error
        except OSError as error:
            self.close()
            raise StoreError(f"{folder} cannot be used ({reason(error)})") from error

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._end

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def put(self, data: bytes, *, limited: bool = True) -> str:
        """Store bytes, once however often they are given; returns their name.

        Args:
            data: The bytes.
            limited: False for what the store itself needs, which is small.

        Raises:
            StoreFullError: They do not fit.
            StoreError: The disk refuses; the store is as it was.
        """
        name = name_of(data)
        if name in self._places:
            return name
        payload, compression = data, _RAW
        if len(data) >= _COMPRESSED_FROM:
            packed = zlib.compress(data, _LEVEL)
            if len(packed) < len(data):
                payload, compression = packed, _ZLIB
        if limited and self._end + _HEADER.size + len(payload) > self._limit:
            raise StoreFullError(f"the store {self.folder} has reached its limit of {self._limit:,} bytes")
        self._append(_HEADER.pack(bytes.fromhex(name), compression, len(payload)), payload)
        self._places[name] = (self._end - len(payload), len(payload), compression)
        return name

    def get(self, name: str) -> bytes:
        """Return the bytes with a name.

        Raises:
            StoreError: They are missing or damaged.
        """
        try:
            start, length, compression = self._places[name]
            payload = os.pread(self._held, length, start)
            data = zlib.decompress(payload) if compression == _ZLIB else payload
        except (KeyError, OSError, zlib.error) as error:
            raise StoreError(f"contents are missing in {self.folder / OBJECTS}") from error
        if name_of(data) != name:
            raise StoreError(f"contents are damaged in {self.folder / OBJECTS}")
        return data

    def flush(self) -> None:
        """Flush what was put to the disk, so that a power cut does not lose it.

        Raises:
            StoreError: The disk refuses.
        """
        if self._synced == self._end:
            return
        try:
            os.fsync(self._held)
        except OSError as error:
            raise self._refused(error) from error
        self._synced = self._end

    def close(self) -> None:
        """Close and unlock it. Idempotent."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def _append(self, header: bytes, payload: bytes) -> None:
        end = self._end
        left = memoryview(header + payload)
        try:
            self._remove_torn()
            if os.fstat(self._held).st_size != end:
                # Not every disk has locks that exclude other processes.
                raise StoreError(f"another laguna-tui has {self.folder} open")
            while left:
                self._torn = True
                written = os.pwrite(self._held, left, end)
                end, left = end + written, left[written:]
            self._torn = False
        except OSError as error:
            with suppress(OSError):
                self._remove_torn()
            raise self._refused(error) from error
        self._end = end

    def _remove_torn(self) -> None:
        """Remove what a failed write left behind the last record."""
        if self._torn:
            os.ftruncate(self._held, self._end)
            self._torn = False

    def _scan(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """Yield the names, and where each payload is, up to an unfinished record at the end."""
        size = os.fstat(self._held).st_size
        at = 0
        while at + _HEADER.size <= size:
            digest, compression, length = _HEADER.unpack(os.pread(self._held, _HEADER.size, at))
            start = at + _HEADER.size
            if compression not in (_RAW, _ZLIB) or start + length > size:
                break
            yield digest.hex(), (start, length, compression)
            at = start + length
        self._end = self._synced = at

    def _refused(self, error: OSError) -> StoreError:
        return StoreError(f"nothing can be stored in {self.folder} ({reason(error)})")
