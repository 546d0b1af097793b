"""Conversion of a drafter published as safetensors to GGUF: the same weights under llama.cpp's names, without torch.

Weights are copied in chunks, so memory use does not depend on the folder's size. Before any weight is copied the new
header is checked by the engine's reader, and against the target if one is given. The file gets its name only when it is
complete. Nothing is resumed: a conversion takes seconds, so an interrupted one starts over. The same folder gives the
same bytes every time.

`convert_files` is the last step of a drafter's download, a `laguna_tui.models.download.Converter`.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from laguna_engine.errors import ModelFileError
from laguna_engine.files import read_small_file
from laguna_engine.ggml import gguf_writer
from laguna_engine.ggml.gguf_writer import Written
from laguna_engine.gguf import drafter_header, header
from laguna_engine.gguf.formats import TENSOR_FORMATS
from laguna_engine.gguf.quantization import FILE_TYPES, QUANTIZATION_VERSION, format_for, padded
from laguna_engine.gguf.quantization import KINDS as QUANTIZED
from laguna_engine.gguf.tensors import TensorInfo
from laguna_tui import __version__
from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.models import convert_config, convert_safetensors
from laguna_tui.models.convert_config import CONFIG, DrafterConfig
from laguna_tui.models.convert_layout import FORMATS, TABLE, OutputTensor, output_tensors
from laguna_tui.models.convert_safetensors import SourceTensor
from laguna_tui.models.model_selection import TRAINED_FOR
from laguna_tui.models.records import SHA256, fingerprint_of

KINDS = ("bf16", *QUANTIZED)
"""Formats for the matrices; with bf16, matrices in half precision are kept as they are."""

ConversionProgress = Callable[[str, int, int], None]
"""Called with the phase ("verify" or "convert"), bytes done and bytes in total."""

_STORED = {known.name: known for known in TENSOR_FORMATS.values()}


_CARD = "README.md"
_MAX_CARD, _CARD_BYTES = 1 << 16, 1 << 24
_LICENCE = re.compile(r"^(license|license_name): *[\"']?([\w.-]{1,60})", re.MULTILINE | re.ASCII)
"""`license_name` is set where `license` is only "other"."""

_CACHED = "models--"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Origin of a drafter, as far as it is known; stored in the new file.

    Attributes:
        repository: "owner/name" on the hub.
        revision: A commit.
        licence: Its name.
        sha256: Known hashes of source files by name; the others are computed.
        trained_for: "owner/name" of the weights it was trained for, with "@commit" if known.
    """

    repository: str = ""
    revision: str = ""
    licence: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    trained_for: str = ""

    @classmethod
    def from_folder(cls, folder: Path) -> "Provenance":
        """Derive it from a folder: its path in the hub's cache, and the licence on its model card."""
        place = folder.resolve()
        name = place.parent.parent.name
        licence = _licence(folder / _CARD)
        if place.parent.name == "snapshots" and name.startswith(_CACHED):
            return cls(name.removeprefix(_CACHED).replace("--", "/"), place.name, licence)
        return cls(licence=licence)


def _licence(card: Path) -> str:
    """Return the licence in a card's front matter; empty without one."""
    try:
        text = read_small_file(card, _CARD_BYTES).decode("utf-8", "replace")[:_MAX_CARD]
    except OSError:
        return ""
    block = text.removeprefix("---\n").partition("\n---")[0]
    found: dict[str, str] = dict(_LICENCE.findall(block))
    return found.get("license_name") or found.get("license", "")


@dataclass(frozen=True, slots=True)
class Conversion:
    """A checked folder and the plan for its conversion.

    Attributes:
        folder: Folder of the published drafter.
        kind: Requested format of the matrices, one of `KINDS`.
        config: Hyperparameters from its config.json.
        items: Tensors to write, in order.
        formats: Format of each item.
        table: D2t as it is written; empty without a reduced vocabulary.
    """

    folder: Path
    kind: str
    config: DrafterConfig
    items: tuple[OutputTensor, ...]
    formats: tuple[str, ...]
    table: bytes

    @property
    def sources(self) -> tuple[Path, ...]:
        """The source files."""
        return (self.folder / CONFIG, *sorted({part.path for item in self.items for part in item.parts}))

    @property
    def data_bytes(self) -> int:
        """Size of all new tensors in bytes, each padded."""
        return sum(padded(size) for size in self._sizes())

    @property
    def unaligned(self) -> tuple[str, ...]:
        """Matrices with rows that are not a multiple of the requested format's block; they are not quantized."""
        block = _STORED[self.kind].block
        return tuple(item.name for item in self.items if item.is_matrix and item.shape[0] % block)

    def entries(self) -> Iterator[tuple[OutputTensor, str, int]]:
        """Return each item with its new format and its size in bytes."""
        return zip(self.items, self.formats, self._sizes(), strict=True)

    def _sizes(self) -> list[int]:
        known = [_STORED[kind] for kind in self.formats]
        return [prod(item.shape) // one.block * one.size for item, one in zip(self.items, known, strict=True)]


def plan(folder: Path, kind: str = "bf16") -> Conversion:
    """Read the folder's config and headers. Raises ModelFileError if it is not a convertible drafter."""
    config = convert_config.read(folder)
    found = tuple(output_tensors(folder, config, convert_safetensors.read_folder(folder)))
    tables = [item for item in found if item.name == TABLE]
    table = _target_ids(folder, tables[0].parts[0], config.n_vocab) if tables else b""
    return Conversion(folder, kind, config, found, tuple(_format(item, kind) for item in found), table)


def convert(
    conversion: Conversion,
    target: Path,
    provenance: Provenance,
    progress: ConversionProgress,
    model: Path | None = None,
) -> None:
    """Write `conversion` to `target`, replacing an existing file. On an error, or Ctrl-C, no new file is left.

    Args:
        conversion: From `plan`.
        progress: Called while hashing and copying.
        model: GGUF of a target that the drafter must match.

    Raises:
        ModelFileError: The drafter was made for another target, the disk has no room, a weight is not a number, or
            reading or writing failed.
    """
    with gguf_writer.whole_file(target, conversion.data_bytes) as file:
        _write_header(file, conversion, provenance)
        _check_header(Path(file.name), conversion.folder, model)
        _write_header(file, conversion, replace(provenance, sha256=_digests(conversion, provenance, progress)))
        _copy_tensors(file, conversion, progress)


def _format(item: OutputTensor, kind: str) -> str:
    if item.name == TABLE:
        return "i64"
    if not item.is_matrix:
        return "f32"
    if kind == "bf16":
        return "bf16" if item.format == "f32" else item.format
    return format_for(TensorInfo(item.name, item.shape, item.format, 0, 0), kind)


def _target_ids(folder: Path, tensor: SourceTensor, n_vocab: int) -> bytes:
    """Return the reduced vocabulary as target token ids; the published table holds offsets from the draft token ids."""
    with tensor.path.open("rb") as file:
        data = gguf_writer.read_exactly(file, tensor.path, tensor.offset, tensor.size)
    offsets = np.frombuffer(data, {"I64": np.int64, "I32": np.int32}[tensor.dtype]).astype(np.int64)
    targets = offsets + np.arange(len(offsets))
    if targets.min() < 0 or targets.max() >= n_vocab or len(np.unique(targets)) != len(targets):
        raise ModelFileError(
            f"{folder}: its table {TABLE} has duplicate tokens or tokens outside 0..{n_vocab - 1}; download it again"
        )
    return targets.tobytes()


def _write_header(file: BinaryIO, conversion: Conversion, provenance: Provenance) -> None:
    """Write the whole header and reserve the space of the data."""
    metadata = {**_identity(conversion.kind, provenance), **_description(conversion.config)}
    tensors = [(item.name, kind, item.shape) for item, kind, _ in conversion.entries()]
    file.seek(0)
    file.write(gguf_writer.head(metadata, tensors))
    file.truncate(file.tell() + conversion.data_bytes)
    file.flush()


def _identity(kind: str, provenance: Provenance) -> dict[str, Written]:
    """Return identity and provenance, without a date: the same drafter gives the same bytes."""
    found: dict[str, Written] = {
        "general.architecture": "dflash",
        "general.type": "model",
        "general.license": provenance.licence,
        TRAINED_FOR: provenance.trained_for,
        "laguna_tui.converted.by": f"laguna-tui {__version__}",
        "laguna_tui.converted.from": provenance.repository,
        "laguna_tui.converted.revision": provenance.revision,
        "laguna_tui.converted.sha256": "\n".join(f"{digest}  {name}" for name, digest in provenance.sha256.items()),
        "general.file_type": FILE_TYPES[kind],
    }
    if kind in QUANTIZED:
        found["general.quantization_version"] = QUANTIZATION_VERSION
    return {key: value for key, value in found.items() if value != ""}


def _description(config: DrafterConfig) -> dict[str, Written]:
    """Return the hyperparameters, under the keys that llama.cpp and `laguna_engine.gguf.drafter_header` read."""
    found: dict[str, Written] = {
        "context_length": config.n_ctx,
        "embedding_length": config.n_embd,
        "block_count": config.n_layer,
        "feed_forward_length": config.n_ff,
        "attention.head_count": config.heads,
        "attention.head_count_kv": config.kv_heads,
        "attention.key_length": config.head_size,
        "attention.value_length": config.head_size,
        "attention.layer_norm_rms_epsilon": config.epsilon,
        "attention.causal": config.causal if len(set(config.causal)) > 1 else config.causal[0],
        "rope.freq_base": config.rope_base,
        "rope.dimension_count": config.rope_dims,
        "vocab_size": config.n_vocab,
        "block_size": config.block,
        # Each tap is numbered by the layer that reads it next.
        "target_layers": tuple(tap + 1 for tap in config.taps),
        "context_kv_layer_norm": config.laguna,
    }
    if config.window:
        found |= {"attention.sliding_window": config.window, "attention.sliding_window_pattern": config.sliding}
    return {
        **{f"dflash.{key}": value for key, value in found.items()},
        "tokenizer.ggml.mask_token_id": config.mask_id,
    }


def _check_header(part: Path, folder: Path, model: Path | None) -> None:
    """Read the new header as the engine will, and match it with the target's; errors name the folder."""
    try:
        found = drafter_header.read(part)
    except ModelFileError as error:
        raise ModelFileError(str(error).replace(str(part), str(folder), 1)) from error
    if model is not None:
        drafter_header.check_pair(replace(found, file=replace(found.file, path=folder)), header.check(model))


def _digests(conversion: Conversion, provenance: Provenance, progress: ConversionProgress) -> dict[str, str]:
    """Return the SHA-256 of every source file, by name."""
    total = sum(path.stat().st_size for path in conversion.sources)
    done = 0

    def step(count: int) -> None:
        nonlocal done
        done += count
        progress("verify", done, total)

    known = provenance.sha256
    return {path.name: known.get(path.name) or fingerprint_of(path, SHA256, step).value for path in conversion.sources}


def _copy_tensors(file: BinaryIO, conversion: Conversion, progress: ConversionProgress) -> None:
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


_NO_PROVENANCE = Provenance()


def convert_files(
    paths: Sequence[Path],
    target: Path,
    step: Callable[[int, int], None],
    provenance: Provenance = _NO_PROVENANCE,
    kind: str = "bf16",
) -> None:
    """Convert a published drafter's files, ignoring others beside them.

    Args:
        paths: config.json, the safetensors files and, for several, their index, under their published names.
        step: Called with bytes done and bytes in total; may raise to stop, and then no target is left.

    Raises:
        UserError: The files are not a drafter as published.
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
