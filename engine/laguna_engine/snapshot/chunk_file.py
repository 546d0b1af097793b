"""One file of a snapshot: the rows that were appended since the file before it, and what describes them.

A chunk holds keys and values of positions `start` to `stop`; those before come from its parent, so that a folder of
chunks is a tree, and every chunk the end of one snapshot. Files are never changed: they may be linked into another
folder. In this order a file holds

    magic · parts of rows · token ids · header (JSON) · its length · its hash · magic

The end is written last, so that a torn file has none. The file's name is the hash of the header, which holds checksums
of everything else: a file that was cut, changed, swapped or renamed is refused before llama.cpp sees a byte of it. And
no structure of llama.cpp's is stored: states are built again from rows of known size.
"""

import os
import secrets
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, BinaryIO, Self

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from laguna_engine.errors import SnapshotError, SnapshotProblem
from laguna_engine.llama.sequence_state import ONE_CACHE, RECURRENT, RowLayout, Rows
from laguna_engine.snapshot.identity import Identity

SUFFIX = ".kv"
PARTIAL = ".partial"
"""Suffix of a file that is being written."""

VERSION = 1
ROWS, WINDOW, DRAFTER = "rows", "window", "drafter"
"""Sections: the full-attention layers, the sliding-window layers, and pieces of the drafter's (with a number)."""

PART_BYTES = 8 << 20
"""Most bytes of a part, the unit that is copied, checked and restored at once."""

_MAGIC = b"lagunaKV"
_END = struct.Struct("<I32s8s")
_MAX_HEADER = 16 << 20
_MAX_TOKENS = 1 << 26
_NAME_DIGITS = 32


_Size = Annotated[int, Meta(ge=0, lt=1 << 48)]


class Part(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Rows of consecutive positions in a file: `nbytes` from byte `offset` on, with their CRC-32."""

    start: _Size
    stop: _Size
    offset: _Size
    nbytes: _Size
    checksum: _Size


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one kind. wanted: the first position that matters at the chunk's `stop`."""

    layout: RowLayout
    wanted: int
    parts: tuple[Part, ...]

    @property
    def start(self) -> int:
        """The first position in the file."""
        return self.parts[0].start

    @property
    def stop(self) -> int:
        """One more than the last position."""
        return self.parts[-1].stop


class DrafterPart(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Whose pieces the drafter's sections are. name: the drafter's. adapter: what they were computed with."""

    name: str
    adapter: str | None
    pieces: _Size


class _SectionHeader(Struct, forbid_unknown_fields=True):
    keys: tuple[tuple[_Size, _Size], ...]
    values: tuple[tuple[_Size, _Size], ...]
    transposed: _Size
    wanted: _Size
    parts: tuple[Part, ...]


class _Version(Struct):
    version: int


class _Header(Struct, forbid_unknown_fields=True):
    """What a file says about itself. tokens: their number, offset and CRC-32."""

    version: int
    created: int
    parent: str | None
    serial: _Size
    identity: Identity
    start: _Size
    tokens: tuple[_Size, _Size, _Size]
    caches: Annotated[int, Meta(ge=ONE_CACHE, le=RECURRENT)]
    drafter: DrafterPart | None
    sections: dict[str, _SectionHeader]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A file whose header was read and checked.

    Attributes:
        path: the file.
        id: hash of its header, and its name.
        parent: id of the chunk with the rows before `start`, None if there are none.
        serial: how many chunks were written into the folder before it.
        identity: the engine that wrote it.
        start: first position of its rows.
        tokens: ids from `start` on, int32.
        caches: the kind of memory: `ONE_CACHE`, `SLIDING` or `RECURRENT`.
        sections: its rows by kind.
        drafter: the drafter's part, None without one.
        size: bytes of the file.
    """

    path: Path
    id: str
    parent: str | None
    serial: int
    identity: Identity
    start: int
    tokens: NDArray[np.int32]
    caches: int
    sections: Mapping[str, Section]
    drafter: DrafterPart | None
    size: int

    @property
    def stop(self) -> int:
        """The length of the snapshot that ends here."""
        return self.start + len(self.tokens)


def damaged(why: str) -> SnapshotError:
    """Return the refusal of a file that is not as it was written."""
    return SnapshotError(SnapshotProblem.DAMAGED, f"it is damaged ({why})")


def unreadable(error: OSError) -> SnapshotError:
    """Return the refusal of a file that may be good."""
    return SnapshotError(SnapshotProblem.DISK, f"it cannot be read ({error.strerror or type(error).__name__})")


class ChunkWriter:
    """Writes one chunk beside the others; nothing is there under its name before `commit`."""

    def __init__(self, folder: Path) -> None:
        """Begin a file with mode 0600 in `folder`, which is made with mode 0700. OSError if that fails."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._partial = folder / f"{secrets.token_hex(8)}{PARTIAL}"
        self._parts: dict[str, list[Part]] = {}
        self._layouts: dict[str, RowLayout] = {}
        self._file = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        self.size = 0
        try:
            self._write([_MAGIC])
        except BaseException:
            self.abandon()
            raise

    def add(self, name: str, rows: Rows) -> None:
        """Append rows to a section; OSError if the disk is full."""
        parts = self._parts.setdefault(name, [])
        self._layouts[name] = rows.layout
        for start, stop in part_ranges(rows.start, rows.stop, rows.layout.nbytes):
            pieces = [np.ascontiguousarray(tensor) for tensor in rows.part(start, stop).tensors]
            checksum, offset = 0, self.size
            for piece in pieces:
                checksum = zlib.crc32(piece.data, checksum)
            self._write([piece.data.cast("B") for piece in pieces if piece.size])
            parts.append(Part(start, stop, offset, self.size - offset, checksum))

    def commit(
        self,
        *,
        parent: str | None,
        serial: int,
        identity: Identity,
        start: int,
        tokens: Sequence[int],
        caches: int,
        wanted: Mapping[str, int],
        drafter: DrafterPart | None,
    ) -> Chunk:
        """Finish the file and give it its name; OSError if the disk is full."""
        ids = np.asarray(tokens, "<i4")
        offset = self.size
        self._write([ids.tobytes()])
        header = _Header(
            version=VERSION,
            created=int(time.time()),
            parent=parent,
            serial=serial,
            identity=identity,
            start=start,
            tokens=(len(ids), offset, zlib.crc32(ids.tobytes())),
            caches=caches,
            drafter=drafter,
            sections={name: self._described(name, wanted[name]) for name in self._parts},
        )
        text = msgspec.json.encode(header)
        digest = blake2b(text, digest_size=32).digest()
        self._write([text, _END.pack(len(text), digest, _MAGIC)])
        os.close(self._file)
        self._file = -1
        path = self._folder / f"{digest.hex()[:_NAME_DIGITS]}{SUFFIX}"
        self._partial.replace(path)
        return read_chunk(path)

    def abandon(self) -> None:
        """Remove what was written, unless it was committed. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        with suppress(OSError):
            self._partial.unlink(missing_ok=True)

    def _described(self, name: str, wanted: int) -> _SectionHeader:
        layout = self._layouts[name]
        return _SectionHeader(layout.keys, layout.values, layout.transposed, wanted, tuple(self._parts[name]))

    def _write(self, pieces: Sequence[bytes | memoryview]) -> None:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                written = os.write(self._file, left)
                self.size += written
                left = left[written:]


def part_ranges(start: int, stop: int, row_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield positions `start` to `stop` in runs of at most `PART_BYTES`."""
    step = max(1, PART_BYTES // max(1, row_bytes))
    for first in range(start, stop, step):
        yield first, min(first + step, stop)


def read_chunk(path: Path) -> Chunk:
    """Read and check the header of a file.

    Raises:
        SnapshotError: it is damaged, or of another version.
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        size = os.fstat(descriptor).st_size
        end = _at(file, max(0, size - _END.size), _END.size)
        if len(end) < _END.size or _at(file, 0, len(_MAGIC)) != _MAGIC:
            raise damaged("it has no beginning")
        length, digest, magic = _END.unpack(end)
        start = size - _END.size - length
        if magic != _MAGIC or length > _MAX_HEADER or start < len(_MAGIC):
            raise damaged("it has no end")
        text = _at(file, start, length)
        if blake2b(text, digest_size=32).digest() != digest:
            raise damaged("its header was changed")
        if path.name != f"{digest.hex()[:_NAME_DIGITS]}{SUFFIX}":
            raise damaged("it has another file's name")
        try:
            if msgspec.json.decode(text, type=_Version).version != VERSION:
                raise SnapshotError(SnapshotProblem.VERSION, "it was written by another version of this program")
            return _chunk(msgspec.json.decode(text, type=_Header), path, file, start, size)
        except (LookupError, ValueError, RecursionError) as error:
            raise damaged("its header is invalid") from error


def _at(file: BinaryIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    found = b""
    while len(found) < count:
        more = file.read(count - len(found))
        if not more:
            break
        found += more
    return found


def _chunk(header: _Header, path: Path, file: BinaryIO, end: int, size: int) -> Chunk:
    """Return what a header, whose hash is right and which begins at byte `end`, describes; ValueError if impossible."""
    count, offset, checksum = header.tokens
    _require(0 < count <= _MAX_TOKENS and offset + 4 * count == end)
    text = _at(file, offset, 4 * count)
    if len(text) != 4 * count or zlib.crc32(text) != checksum:
        raise damaged("its tokens were changed")
    start, drafter = header.start, header.drafter
    _require((header.parent is None) == (start == 0))
    sections = {name: _section(entry, start + count, end) for name, entry in header.sections.items()}
    _require(drafter is None or all(f"{DRAFTER}{piece}" in sections for piece in range(drafter.pieces)))
    rows = sections[ROWS]
    _require((rows.start, rows.stop) == (start, start + count) and (WINDOW in sections) == (header.caches != ONE_CACHE))
    return Chunk(
        path=path,
        id=path.stem,
        parent=header.parent,
        serial=header.serial,
        identity=header.identity,
        start=start,
        tokens=np.frombuffer(text, "<i4").astype(np.int32),
        caches=header.caches,
        sections=sections,
        drafter=drafter,
        size=size,
    )


def _section(entry: _SectionHeader, stop: int, end: int) -> Section:
    layout = RowLayout(entry.keys, entry.values, entry.transposed)
    position = entry.parts[0].start
    for part in entry.parts:
        _require(part.start == position < part.stop and part.nbytes == (part.stop - part.start) * layout.nbytes)
        _require(len(_MAGIC) <= part.offset <= end - part.nbytes)
        position = part.stop
    _require(position == stop and entry.wanted <= stop and layout.nbytes > 0)
    return Section(layout, entry.wanted, entry.parts)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("contradicts itself")


class ChunkReader:
    """Reads rows of chunks; each part is checked before it is given out. Thread-safe."""

    def __init__(self) -> None:
        self._files: dict[Path, int] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files = {}

    def rows(self, chunk: Chunk, layout: RowLayout, part: Part) -> Rows:
        """Read the rows of a part; SnapshotError if they are not what was written, OSError if they cannot be read."""
        data = np.empty(part.nbytes, np.uint8)
        self._fill(self._opened(chunk.path), data.data, part.offset)
        if zlib.crc32(data.data) != part.checksum:
            raise damaged("its rows were changed")
        count, at, tensors = part.stop - part.start, 0, []
        for width in layout.widths:
            tensors.append(data[at : at + count * width].reshape(count, width))
            at += count * width
        return Rows(part.start, layout, tuple(tensors))

    def _opened(self, path: Path) -> int:
        with self._lock:
            if path not in self._files:
                self._files[path] = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            return self._files[path]

    def _fill(self, descriptor: int, into: memoryview, offset: int) -> None:
        while into:
            found = os.preadv(descriptor, [into], offset)
            if not found:
                raise damaged("it became shorter")
            into, offset = into[found:], offset + found
