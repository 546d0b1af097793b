"""Reads and checks the header of a GGUF file in Python, before native code opens the file.

It also determines the usable context, because metadata may contradict itself. YaRN scales `original_context_length` by
`factor`; the weights were adapted to the product. Conversions of Laguna XS.2 from its 128K time declare 131,072 while a
later configuration asks for 262,144; running such a file at 256K is badly wrong (perplexity 21 against 12.8) without
any error. So the smaller of the two lengths counts.
"""

import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, TypeVar

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import target_check, vocabulary
from laguna_engine.gguf.formats import MAGIC, VERSIONS
from laguna_engine.gguf.laguna import ARCHITECTURE, NO_EOS
from laguna_engine.gguf.reader import Damaged, Reader, Unsuitable, Value
from laguna_engine.gguf.split import MAX_PARTS, part_names, part_of
from laguna_engine.gguf.tensors import TensorInfo, alignment_of, read_tensors

MAX_KEYS = 4096
"""Most metadata entries; files have 30 to 100."""

_SMALLEST_HEADER = 24
"""Bytes of magic, version and two counts."""

_Description = TypeVar("_Description")


@dataclass(frozen=True, slots=True)
class Header:
    """A checked header.

    Attributes:
        path: the file, the first one of a model in parts.
        size: in bytes, of all parts.
        version: of the GGUF format.
        architecture: `general.architecture`.
        metadata: keys to values; arrays longer than `reader.SHORT_ARRAY` are `LongArray`s.
        tensors: in file order.
        alignment: of tensor data, in bytes.
        parts: the files that hold the tensors, in order; a single one for most models.
    """

    path: Path
    size: int
    version: int
    architecture: str
    metadata: Mapping[str, Value]
    tensors: tuple[TensorInfo, ...]
    alignment: int
    parts: tuple[Path, ...]

    def file_of(self, info: TensorInfo) -> Path:
        """Return the file that holds the data of a tensor."""
        return self.parts[info.part]


def check(path: Path) -> Header:
    """Read and check the header of a target model; ModelFileError if native code must not open the file."""
    return read(path, _checked_target)


def check_chat(path: Path) -> Header:
    """Read and check the header of a model that is to chat; ModelFileError also for one that cannot."""
    header = check(path)
    if header.architecture == ARCHITECTURE and not vocabulary.has_eos_text(header.metadata):
        raise ModelFileError(f"{path}: {NO_EOS}")
    return header


def _checked_target(header: Header) -> Header:
    target_check.check(header.architecture, header.metadata, header.tensors)
    return header


def read(path: Path, describe: Callable[[Header], _Description]) -> _Description:
    """Read the header of any GGUF file; return what `describe` makes of it.

    Args:
        path: the file.
        describe: raises Damaged or Unsuitable for a header that is refused.

    Raises:
        ModelFileError: the file cannot be read, is damaged, or `describe` refused it.
    """
    try:
        with _open_regular(path) as file:
            header = _known(path, file)
        return describe(_with_parts(header))
    except Damaged as error:
        raise ModelFileError(f"{path}: {error}; the file is damaged: download it again") from error
    except Unsuitable as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ModelFileError(
            f"{path}: cannot be read ({reason or error}); check the path and its permissions"
        ) from error


def read_unchecked(path: Path) -> Header:
    """Read the header of any GGUF file, without a check of what it is for; ModelFileError as for `read`."""
    return read(path, lambda header: header)


def _open_regular(path: Path) -> BinaryIO:
    """Open a regular file only: a FIFO would block indefinitely, a device may do anything."""
    # Non-blocking, because a FIFO may replace the file between check and open.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unsuitable("is not a regular file; give the path of a .gguf file")
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


_Version = tuple[int, int, int, int, int]
_newest: dict[_Version, Header] = {}
_MOST_KNOWN = 4
_SETTLED_NS = 2_000_000_000
"""Age from which a file that is changed once more has another time: clocks of file systems are coarse."""


def _known(path: Path, file: BinaryIO) -> Header:
    """Return the header of an open file; one that was read before is not read again unless the file has changed.

    A vocabulary of 250,000 tokens takes half a second to read, and to open a model its header is needed five times.
    """
    version = _version(file)
    found = _newest.get(version)
    if found is None:
        found = _read(path, file, os.fstat(file.fileno()).st_size)
        if version == _version(file) and time.time_ns() - max(version[3:]) > _SETTLED_NS:
            _newest[version] = found
            for old in list(_newest)[:-_MOST_KNOWN]:
                _newest.pop(old, None)
    return replace(found, path=path, parts=(path,))


def _version(file: BinaryIO) -> _Version:
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(path: Path, file: BinaryIO, size: int) -> Header:
    if size == 0:
        raise Damaged("it is empty")
    reader = Reader(file, size)
    version, tensor_count, key_count = _read_start(reader, size)
    metadata = _read_metadata(reader, key_count)
    alignment = alignment_of(metadata)
    tensors = read_tensors(reader, tensor_count, alignment, size)
    # Only the first part names the architecture.
    architecture = "" if metadata.get(_PART_NUMBER, 0) else _architecture(metadata)
    return Header(path, size, version, architecture, MappingProxyType(metadata), tensors, alignment, (path,))


_PART_NUMBER, _PARTS, _ALL_TENSORS = "split.no", "split.count", "split.tensors.count"


def _with_parts(first: Header) -> Header:
    """Add the tensors of the other parts of a model in parts.

    Raises:
        Damaged: the parts do not belong together.
        Unsuitable: this is not the first part, or another one is missing.
    """
    count = first.metadata.get(_PARTS, 1)
    if count in (0, 1):
        return first
    if type(count) is not int or not 1 < count <= MAX_PARTS:
        raise Damaged(f"it claims to be one of {count!r} parts")
    if first.metadata.get(_PART_NUMBER) != 0:
        raise Unsuitable(f"is one of {count} parts; choose the first one, which the others are found by")
    if part_of(first.path.name) != (1, count):
        raise Unsuitable(
            f"is the first of {count} parts, and the others are found by its name; "
            f"choose the name NAME-00001-of-{count:05}.gguf for it, and such names for the others"
        )
    parts = tuple(first.path.with_name(name) for name in part_names(first.path.name))
    tensors, size = list(first.tensors), first.size
    for number, path in enumerate(parts[1:], 1):
        part = _read_part(path, number, len(parts))
        tensors += (replace(info, part=number) for info in part.tensors)
        size += part.size
    if len({info.name for info in tensors}) != len(tensors):
        raise Damaged("two of its parts have a tensor of the same name")
    if first.metadata.get(_ALL_TENSORS, len(tensors)) != len(tensors):
        raise Damaged(f"its parts have {len(tensors)} tensors, the first one announces {first.metadata[_ALL_TENSORS]}")
    return replace(first, size=size, tensors=tuple(tensors), parts=parts)


def _read_part(path: Path, number: int, count: int) -> Header:
    try:
        with _open_regular(path) as file:
            part = _read(path, file, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise Unsuitable(
            f"has {count} parts, and part {number + 1} is missing; download {path.name} into the same folder"
        ) from None
    except (Damaged, Unsuitable) as error:
        raise type(error)(f"its part {path.name}: {error}") from error
    if (part.metadata.get(_PART_NUMBER), part.metadata.get(_PARTS)) != (number, count):
        raise Damaged(f"{path.name} is not part {number + 1} of {count}")
    return part


def _read_start(reader: Reader, size: int) -> tuple[int, int, int]:
    magic = reader.take(min(len(MAGIC), size), "its first bytes")
    if magic != MAGIC:
        raise Unsuitable("is not a GGUF file; choose a .gguf file, or download it again if it is one")
    if size < _SMALLEST_HEADER:
        raise Damaged("it ends in the middle of its header")
    version = reader.number("I", "the version")
    if version not in VERSIONS:
        other_endian = int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS
        why = "was made for a big-endian machine" if other_endian else f"is GGUF version {version}"
        raise Unsuitable(f"{why}, this engine reads little-endian versions 2 and 3; download a current conversion")
    return version, reader.number("Q", "the tensor count"), reader.number("Q", "the key count")


def _read_metadata(reader: Reader, count: int) -> dict[str, Value]:
    if count > MAX_KEYS:
        raise Damaged(f"it claims {count} metadata entries, more than {MAX_KEYS}")
    metadata: dict[str, Value] = {}
    for index in range(count):
        key = reader.string(f"the name of entry {index}")
        if not key or key in metadata:
            raise Damaged(f"metadata entry {index} has {'an empty name' if not key else f'the name {key!r} again'}")
        kind = reader.kind(key)
        metadata[key] = vocabulary.read(reader, key, kind)
    return metadata


def _architecture(metadata: Mapping[str, Value]) -> str:
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise Damaged("it does not name its architecture")
    return name


_ROUNDING = 0.01
"""Largest relative difference due to a factor stored as float32 or rounded in a configuration."""


def safe_context(header: Header) -> int:
    """Return the most tokens of context that all numbers in the header support."""
    declared, stretched = _declared(header), _stretched(header)
    return declared if stretched is None or _agree(declared, stretched) else min(declared, stretched)


def header_warnings(header: Header) -> list[str]:
    """Return warnings for the user about the file's context length; one sentence each."""
    declared, stretched = _declared(header), _stretched(header)
    if stretched is None or _agree(declared, stretched):
        return []
    return [
        f"the file declares a context of {declared} tokens but its YaRN scaling covers {stretched}; "
        f"at most {safe_context(header)} are used: download a current conversion for the full length"
    ]


def _declared(header: Header) -> int:
    value = header.metadata.get(f"{header.architecture}.context_length")
    assert type(value) is int  # checked with the header
    return value


def _stretched(header: Header) -> int | None:
    """Return YaRN's original length times factor, in tokens; None without YaRN or if a number is missing."""
    prefix = f"{header.architecture}.rope.scaling."
    factor, original = header.metadata.get(prefix + "factor"), header.metadata.get(prefix + "original_context_length")
    if header.metadata.get(prefix + "type") != "yarn" or not isinstance(factor, float) or type(original) is not int:
        return None
    return round(factor * original) or None


def _agree(declared: int, stretched: int) -> bool:
    return abs(declared - stretched) <= _ROUNDING * declared
