"""A drafter published as safetensors becomes our GGUF: the same weights under llama.cpp's names, without torch.

Weights go through memory a piece at a time, whatever the folder's size. The result is checked by the engine's own
reader, for the right target if one is given, before a weight is copied, and appears under its name only when it is
whole. Nothing is resumed: a conversion takes seconds, so one that was cut short is made again from the start. The same
folder gives the same bytes every time.

The end of a drafter's download: its files, wherever each of them lies, become one GGUF.

Has the shape that `laguna_tui.models.download_conversion.Converter` asks for.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml import gguf_writer
from laguna_engine.gguf import drafter_header, header
from laguna_engine.gguf.formats import TENSOR_FORMATS
from laguna_engine.gguf.quantization import KINDS as QUANTIZED
from laguna_engine.gguf.quantization import format_for, padded
from laguna_engine.gguf.tensors import TensorInfo
from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.models import convert_config, convert_safetensors
from laguna_tui.models.convert_config import CONFIG, DrafterConfig
from laguna_tui.models.convert_layout import FORMATS, TABLE, OutputTensor, items
from laguna_tui.models.convert_metadata import Provenance, description, identity
from laguna_tui.models.convert_safetensors import SourceTensor
from laguna_tui.models.records import SHA256, fingerprint_of

KINDS = ("bf16", *QUANTIZED)
"""What the matrices become; with bf16, those in half precision stay as they are."""

ConversionProgress = Callable[[str, int, int], None]
"""Told what is done, "verify" or "convert", and how many bytes of how many."""

_STORED = {known.name: known for known in TENSOR_FORMATS.values()}


@dataclass(frozen=True, slots=True)
class Conversion:
    """A checked folder, and what becomes of it. formats: one an item. table: d2t as written, empty without one."""

    folder: Path
    kind: str
    design: DrafterConfig
    items: tuple[OutputTensor, ...]
    formats: tuple[str, ...]
    table: bytes

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files it is made from."""
        return (self.folder / CONFIG, *sorted({part.path for item in self.items for part in item.parts}))

    @property
    def data_bytes(self) -> int:
        """Bytes of all new tensors, each padded."""
        return sum(padded(size) for size in self._sizes())

    @property
    def unfit(self) -> tuple[str, ...]:
        """Matrices whose rows are no whole blocks of the kind asked for."""
        block = _STORED[self.kind].block
        return tuple(item.name for item in self.items if item.is_matrix and item.shape[0] % block)

    def entries(self) -> Iterator[tuple[OutputTensor, str, int]]:
        """Each item with its new format and size."""
        return zip(self.items, self.formats, self._sizes(), strict=True)

    def _sizes(self) -> list[int]:
        known = [_STORED[kind] for kind in self.formats]
        return [prod(item.shape) // one.block * one.size for item, one in zip(self.items, known, strict=True)]


def plan(folder: Path, kind: str = "bf16") -> Conversion:
    """Read the folder's config and headers; ModelFileError if it is not a whole drafter that can be converted."""
    design = convert_config.read(folder)
    found = tuple(items(folder, design, convert_safetensors.read_folder(folder)))
    tables = [item for item in found if item.name == TABLE]
    table = _targets(folder, tables[0].parts[0], design.n_vocab) if tables else b""
    return Conversion(folder, kind, design, found, tuple(_format(item, kind) for item in found), table)


def convert(
    conversion: Conversion,
    target: Path,
    provenance: Provenance,
    progress: ConversionProgress,
    model: Path | None = None,
) -> None:
    """Write `conversion` to `target`, replacing what is there.

    model: a target's GGUF; ModelFileError if the drafter was not made for it. ModelFileError, too, if there is no room,
    if a weight is not a number, or if reading or writing fails. Then, and after Ctrl-C, there is no new file.
    """
    with gguf_writer.whole_file(target, conversion.data_bytes) as file:
        _start(file, conversion, provenance)
        _check(Path(file.name), conversion.folder, model)
        _start(file, conversion, replace(provenance, sha256=_digests(conversion, provenance, progress)))
        _copy(file, conversion, progress)


def _format(item: OutputTensor, kind: str) -> str:
    if item.name == TABLE:
        return "i64"
    if not item.is_matrix:
        return "f32"
    if kind == "bf16":
        return "bf16" if item.format == "f32" else item.format
    return format_for(TensorInfo(item.name, item.shape, item.format, 0, 0), kind)


def _targets(folder: Path, tensor: SourceTensor, n_vocab: int) -> bytes:
    """The table of the reduced vocabulary as the target's tokens: published are their distances from the drafter's."""
    with tensor.path.open("rb") as file:
        data = gguf_writer.read_exactly(file, tensor.path, tensor.offset, tensor.size)
    offsets = np.frombuffer(data, {"I64": np.int64, "I32": np.int32}[tensor.dtype]).astype(np.int64)
    targets = offsets + np.arange(len(offsets))
    if targets.min() < 0 or targets.max() >= n_vocab or len(np.unique(targets)) != len(targets):
        raise ModelFileError(
            f"{folder}: its table {TABLE} names tokens twice or outside the {n_vocab} there are; download it again"
        )
    return targets.tobytes()


def _start(file: BinaryIO, conversion: Conversion, provenance: Provenance) -> None:
    """The whole header, and room for the data."""
    metadata = {**identity(conversion.kind, provenance), **description(conversion.design)}
    tensors = [(item.name, kind, item.shape) for item, kind, _ in conversion.entries()]
    file.seek(0)
    file.write(gguf_writer.head(metadata, tensors))
    file.truncate(file.tell() + conversion.data_bytes)
    file.flush()


def _check(part: Path, folder: Path, model: Path | None) -> None:
    """Read the new header as the engine will, and compare it with the target's; complaints name the folder."""
    try:
        found = drafter_header.read(part)
    except ModelFileError as error:
        raise ModelFileError(str(error).replace(str(part), str(folder), 1)) from error
    if model is not None:
        drafter_header.check_pair(replace(found, file=replace(found.file, path=folder)), header.check(model))


def _digests(conversion: Conversion, provenance: Provenance, progress: ConversionProgress) -> dict[str, str]:
    """The SHA-256 of every source file."""
    total = sum(path.stat().st_size for path in conversion.sources)
    done = 0

    def step(count: int) -> None:
        nonlocal done
        done += count
        progress("verify", done, total)

    known = provenance.sha256
    return {path.name: known.get(path.name) or fingerprint_of(path, SHA256, step).value for path in conversion.sources}


def _copy(file: BinaryIO, conversion: Conversion, progress: ConversionProgress) -> None:
    done = 0
    with ExitStack() as stack:
        opened = {path: stack.enter_context(path.open("rb")) for path in conversion.sources[1:]}
        for item, kind, size in conversion.entries():
            for data in _pieces(conversion, item, kind, opened):
                file.write(data)
                done += len(data)
                progress("convert", done, conversion.data_bytes)
            file.write(b"\0" * (padded(size) - size))
            done += padded(size) - size


def _pieces(conversion: Conversion, item: OutputTensor, kind: str, opened: Mapping[Path, BinaryIO]) -> Iterator[bytes]:
    if item.name == TABLE:
        yield conversion.table
        return
    for part in item.parts:
        shape = tuple(reversed(part.shape))
        info = TensorInfo(part.name, shape, FORMATS[part.dtype], part.offset, part.size)
        yield from gguf_writer.pieces(opened[part.path], part.path, info, kind)


_NOTHING_KNOWN = Provenance()


def convert_files(
    paths: Sequence[Path],
    target: Path,
    step: Callable[[int, int], None],
    provenance: Provenance = _NOTHING_KNOWN,
    kind: str = "bf16",
) -> None:
    """Make `target` of a published drafter's files, and of nothing else that lies beside them.

    paths: config.json, the safetensors and, for several, their index, under their own names. step: told bytes done and
    in all; it may raise to stop, and then there is no target. UserError if the files are not a drafter as published.
    """
    from laguna_engine.errors import EngineError

    with tempfile.TemporaryDirectory(prefix="laguna-tui-") as place:
        folder = Path(place) / (provenance.repository.rpartition("/")[2] or "drafter")
        folder.mkdir()
        for path in paths:
            (folder / path.name).symlink_to(path.absolute())
        try:
            planned = plan(folder, kind)
            read = sum(path.stat().st_size for path in planned.sources if path.name not in provenance.sha256)
            total, before = read + planned.data_bytes, {"verify": 0, "convert": read}
            convert(planned, target, provenance, lambda phase, done, _: step(before[phase] + done, total))
        except EngineError as error:
            raise UserError(sanitize(str(error).replace(f"{place}/", ""))) from error
