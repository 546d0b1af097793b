"""Reads GGUF values from an untrusted file, a window at a time.

Every length is compared with the rest of the file before anything is allocated or skipped, so a hostile header costs
neither time nor memory. The file is read, not mapped: a file that shrinks meanwhile is an error instead of a SIGBUS.
Raises `Damaged` with the problem as text; the caller adds the file's name.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from laguna_engine.gguf.formats import STRUCT_CODES, ValueType

WINDOW_BYTES = 1 << 20
"""Bytes read at a time: the header of a large vocabulary takes about ten reads."""

MAX_STRING_BYTES = 1 << 20
"""Longest string outside an array; the longest in practice are chat templates, at some 20 KB."""

MAX_TOKEN_BYTES = 1 << 16
"""Longest string inside an array; tokens and merges stay below 1 KB."""

MAX_INSPECTED_BYTES = 1 << 22
"""Longest array of numbers passed to `inspect`: one number for each token takes less."""

SHORT_ARRAY = 1024
"""Entries of the longest array that is read: per-layer settings have at most 512, vocabularies are only counted."""


class Damaged(Exception):
    """The file is not valid GGUF; the message says where."""


@dataclass(frozen=True, slots=True)
class LongArray:
    """An array that was checked but not read into memory.

    Attributes:
        kind: type of its entries.
        length: number of entries.
    """

    kind: ValueType
    length: int


Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...] | LongArray


class Reader:
    """A cursor over the file; `position` is in bytes from its start."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._window = b""
        self._base = 0
        self._at = 0

    @property
    def position(self) -> int:
        """Offset of the next value."""
        return self._base + self._at

    def _require(self, count: int, what: str) -> None:
        """Have the window hold `count` bytes from `_at` on; Damaged at the end of the file."""
        if self._at + count <= len(self._window):
            return
        if count > self._size - self.position:
            raise Damaged(f"it ends in the middle of {what}")
        self._base, self._at = self.position, 0
        self._file.seek(self._base)
        self._window = self._file.read(max(count, WINDOW_BYTES))
        if len(self._window) < count:
            raise Damaged("it became shorter while it was read")

    def take(self, count: int, what: str) -> bytes:
        """Read the next `count` bytes; `what` names them in error messages."""
        self._require(count, what)
        start, self._at = self._at, self._at + count
        return self._window[start : self._at]

    def number(self, code: str, what: str) -> int:
        """Read one integer of the `struct` format `code`."""
        (value,) = struct.unpack("<" + code, self.take(struct.calcsize(code), what))
        return int(value)

    def kind(self, what: str) -> ValueType:
        number = self.number("I", what)
        if number not in ValueType.__members__.values():
            raise Damaged(f"{what} has the unknown type {number}")
        return ValueType(number)

    def string(self, what: str) -> str:
        """Read one string: an eight-byte length, then UTF-8."""
        length = self.number("Q", what)
        if length > MAX_STRING_BYTES:
            raise Damaged(f"{what} is a text of {length} bytes, more than {MAX_STRING_BYTES}")
        return _text(self.take(length, what), what)

    def value(self, kind: ValueType, what: str, inspect: Callable[[bytes], None] | None = None) -> Value:
        """Read one metadata value.

        Args:
            kind: its type.
            what: its name in error messages.
            inspect: called with every string of an array of strings, in order, or with the bytes of an array of
                numbers of at most `MAX_INSPECTED_BYTES`.
        """
        if kind is ValueType.STRING:
            return self.string(what)
        if kind is ValueType.ARRAY:
            return self._array(what, inspect)
        return self._scalars(kind, 1, what)[0]

    def _scalars(self, kind: ValueType, count: int, what: str) -> tuple[Scalar, ...]:
        layout = f"<{count}{STRUCT_CODES[kind]}"
        data = self.take(struct.calcsize(layout), what)
        if kind is ValueType.BOOL and data.strip(b"\x00\x01"):
            raise Damaged(f"{what} is neither true nor false")
        return struct.unpack(layout, data)

    def _array(self, what: str, inspect: Callable[[bytes], None] | None) -> Value:
        kind, length = self.kind(what), self.number("Q", what)
        if kind is ValueType.ARRAY:
            raise Damaged(f"{what} is an array of arrays")
        if kind is ValueType.STRING:
            return self._strings(length, what, inspect)
        size = length * struct.calcsize(STRUCT_CODES[kind])
        if inspect is not None and size <= MAX_INSPECTED_BYTES:
            self._require(size, what)
            inspect(self._window[self._at : self._at + size])
        if length <= SHORT_ARRAY:
            return self._scalars(kind, length, what)
        if size > self._size - self.position:
            raise Damaged(f"it ends in the middle of {what}")
        self._base, self._at, self._window = self.position + size, 0, b""
        return LongArray(kind, length)

    def _strings(self, length: int, what: str, inspect: Callable[[bytes], None] | None) -> Value:
        if length * _LENGTH_BYTES > self._size - self.position:
            raise Damaged(f"{what} claims {length} texts, more than the file has room for")
        kept: list[str] = []
        for text in self._texts(length, what):
            if inspect is not None:
                inspect(text)
            if length <= SHORT_ARRAY:
                kept.append(_text(text, what))
        return tuple(kept) if length <= SHORT_ARRAY else LongArray(ValueType.STRING, length)

    def _texts(self, length: int, what: str) -> Iterator[bytes]:
        """Yield the `length` strings of an array, each checked to be UTF-8 without NUL."""
        for _ in range(length):
            if self._at + _LENGTH_BYTES > len(self._window):
                self._require(_LENGTH_BYTES, what)
            (size,) = _unpack_length(self._window, self._at)
            if size > MAX_TOKEN_BYTES:
                raise Damaged(f"{what} holds a text of {size} bytes, more than {MAX_TOKEN_BYTES}")
            end = self._at + _LENGTH_BYTES + size
            if end > len(self._window):
                self._require(_LENGTH_BYTES + size, what)
                end = self._at + _LENGTH_BYTES + size
            text = self._window[self._at + _LENGTH_BYTES : end]
            if not text.isascii() or _NUL in text:
                _text(text, what)
            self._at = end
            yield text


_LENGTH_BYTES = 8
_NUL = b"\0"
_unpack_length = struct.Struct("<Q").unpack_from


def _text(data: bytes, what: str) -> str:
    # llama.cpp reads strings up to a NUL, so a text with one would differ between llama.cpp and this check.
    if _NUL in data:
        raise Damaged(f"{what} holds a NUL character")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(f"{what} is not valid UTF-8") from error


class Unsuitable(Exception):
    """The file is valid but of the wrong kind; the message continues the file's name and ends in what to do."""
