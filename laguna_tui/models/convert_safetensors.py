"""Headers of safetensors files: names, formats, shapes and the location of each tensor's bytes.

Reads headers only, and trusts nothing in them: they must be small, without duplicate keys, and their tensors must fill
the file exactly, one after the other. The `safetensors` package is not used: without torch it cannot return bfloat16,
nor its position in the file (0.8.0: "data type 'bfloat16' not understood"). Every error is a ModelFileError.

Format: https://huggingface.co/docs/safetensors, "Format".
"""

import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from operator import attrgetter
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.files import read_small_file

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"

MAX_HEADER = 1 << 24
"""Bytes; a drafter of 70 tensors has 10 kB, a large target of 20,000 has 3 MB."""

MAX_TENSORS = 65_536
MAX_SHARDS = 1024
_MAX_DIMS = 8
_MAX_NAME = 256
_MAX_JSON = 1 << 24
"""Of config.json and of the index."""

_BITS = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E5M2FNUZ": 8, "F8_E4M3FNUZ": 8}
_BITS |= {"U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32}
_BITS |= {"U64": 64, "I64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
"""Bits of every number format that the package knows."""

_DAMAGED = "the file is damaged: download it again"


@dataclass(frozen=True, slots=True)
class SourceTensor:
    """One tensor.

    Attributes:
        name: Published name.
        dtype: Number format, a key of `_BITS`.
        shape: Outermost dimension first, as in the file.
        path: File that contains it.
        offset: Bytes from the start of the file.
        size: Bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    path: Path
    offset: int
    size: int


def read_folder(folder: Path) -> dict[str, SourceTensor]:
    """Return every tensor of the model in `folder`: of a single file, or of the shards in its index."""
    if not (folder / INDEX).is_file():
        return read_file(_only_file(folder))
    places = _index(folder / INDEX)
    shards = sorted(set(places.values()))
    if len(shards) > MAX_SHARDS:
        raise ModelFileError(f"{folder / INDEX}: it names {len(shards)} files, more than {MAX_SHARDS}; {_DAMAGED}")
    found: dict[str, SourceTensor] = {}
    for shard in shards:
        found |= _from_shard(folder / shard, {name for name, place in places.items() if place == shard})
    return found


def _only_file(folder: Path) -> Path:
    files = sorted(folder.glob("*.safetensors"))
    if (folder / SINGLE) in files:
        return folder / SINGLE
    if len(files) == 1:
        return files[0]
    if files:
        raise ModelFileError(f"{folder}: has {len(files)} safetensors files but no {INDEX}; download the whole folder")
    raise ModelFileError(f"{folder}: has no safetensors files; download the whole folder of the published drafter")


def _index(path: Path) -> dict[str, str]:
    """Return the file of each tensor, by the tensor's name."""
    places = read_json(path).get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(name, str) for name in places.values()):
        raise ModelFileError(f"{path}: it does not say which tensor is in which file; {_DAMAGED}")
    for name in places.values():
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise ModelFileError(
                f"{path}: it names {name!r}, which is not a safetensors file in its folder; {_DAMAGED}"
            )
    return places


def _from_shard(path: Path, expected: set[str]) -> dict[str, SourceTensor]:
    found = read_file(path)
    if found.keys() != expected:
        name = min(found.keys() ^ expected)
        where = "and does not have it" if name in expected else "and has it"
        raise ModelFileError(
            f"{path}: {INDEX} {'puts' if name in expected else 'does not put'} {name} there, {where}; "
            "download the whole folder again"
        )
    return found


def read_file(path: Path) -> dict[str, SourceTensor]:
    """Return every tensor of one file, by name, in the order of their bytes."""
    try:
        if not path.is_file():
            raise ModelFileError(f"{path}: no such file; download the whole folder again")
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or not 2 <= length <= min(MAX_HEADER, size - 8):
                raise _damaged(path, f"its header claims {length} of {size} bytes")
            data = file.read(length)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror}); check its permissions") from error
    return _tensors(path, _parsed(path, data), 8 + length, size)


def read_json(path: Path) -> dict[str, object]:
    """Return the object in a JSON file. Raises ModelFileError if there is none."""
    try:
        return _parsed(path, read_small_file(path, _MAX_JSON))
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror}); download the whole folder again") from error


def _parsed(path: Path, data: bytes) -> dict[str, object]:
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is not valid JSON ({error})") from error
    if not isinstance(found, dict):
        raise _damaged(path, "it is not a JSON object")
    return found


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _tensors(path: Path, header: Mapping[str, object], start: int, size: int) -> dict[str, SourceTensor]:
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    if not 0 < len(entries) <= MAX_TENSORS:
        raise _damaged(path, f"it has {len(entries)} tensors")
    found = [_tensor(path, name, entry, start) for name, entry in entries.items()]
    found.sort(key=attrgetter("offset", "size"))
    position = start
    for tensor in found:
        if tensor.offset != position:
            raise _damaged(path, f"the data of {tensor.name} begins at {tensor.offset} instead of {position}")
        position += tensor.size
    if position != size:
        raise _damaged(path, f"it has {size} bytes instead of {position}")
    return {tensor.name: tensor for tensor in found}


def _tensor(path: Path, name: str, entry: object, start: int) -> SourceTensor:
    if len(name) > _MAX_NAME:
        raise _damaged(path, f"a tensor's name has {len(name)} characters")
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise _damaged(path, f"its entry {name!r} does not describe a tensor")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise ModelFileError(
            f"{path}: {name} has the unknown number format {reprlib.repr(dtype)}; use a drafter in bf16"
        )
    if not _are_counts(shape) or len(shape) > _MAX_DIMS or 0 in shape:
        raise _damaged(path, f"{name} has the impossible shape {reprlib.repr(shape)}")
    if not _are_counts(offsets) or len(offsets) != 2:
        raise _damaged(path, f"{name} has the impossible offsets {reprlib.repr(offsets)}")
    bits = prod(shape) * _BITS[dtype]
    if bits % 8 or offsets[1] - offsets[0] != bits // 8:
        raise _damaged(path, f"{name} has {offsets[1] - offsets[0]} bytes instead of {bits / 8:g}")
    return SourceTensor(name, dtype, tuple(shape), path, start + offsets[0], bits // 8)


def _are_counts(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 48 for value in values)


def _damaged(path: Path, complaint: str) -> ModelFileError:
    return ModelFileError(f"{path}: {complaint}; {_DAMAGED}")
