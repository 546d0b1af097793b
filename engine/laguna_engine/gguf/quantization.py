"""Plans the quantization of a drafter: the format of each tensor, from the header alone.

`laguna_engine.ggml.gguf_writer` executes a plan with llama.cpp's own quantizers.
"""

from dataclasses import dataclass
from math import prod
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import drafter_header, header
from laguna_engine.gguf.drafter_names import canonical_name
from laguna_engine.gguf.formats import DEFAULT_ALIGNMENT, TENSOR_FORMATS
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.tensors import TensorInfo

KINDS = ("q8_0", "q4_0")
"""Formats a drafter can be quantized to. Both have blocks of 32 weights, which divide any drafter's rows."""

FILE_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 7, "bf16": 32}
"""`llama_ftype`: the format of most of a file."""

QUANTIZATION_VERSION = 2
"""`GGML_QNT_VERSION` of the pinned build."""

_FORMATS = {known.name: known for known in TENSOR_FORMATS.values()}
_UNQUANTIZED = ("f32", "f16", "bf16")
_PRECISE = "q8_0"
_KEPT_PRECISE = frozenset({"token_embd.weight", "output.weight", "markov_w1.weight", "markov_w2.weight"})
_GATE = "attn_gate.weight"
"""Output matrices decide between tokens with close logits, and a gate has one row per head: four bits would cost
acceptance there and save next to nothing."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one tensor.

    Attributes:
        info: the tensor in the source.
        format: its new format, which may be the old one.
    """

    info: TensorInfo
    format: str

    @property
    def size(self) -> int:
        """Bytes in the new file."""
        kind = _FORMATS[self.format]
        return prod(self.info.shape) // kind.block * kind.size


@dataclass(frozen=True, slots=True)
class QuantizationPlan:
    """The quantization of a drafter.

    Attributes:
        source: header of the source file.
        kind: the format requested.
        changes: one for each tensor, in file order.
        unfit: matrices that stay at 16 bits because their rows are not whole blocks.
    """

    source: Header
    kind: str
    changes: tuple[Change, ...]
    unfit: tuple[str, ...]

    @property
    def file_bytes(self) -> int:
        """Approximate bytes of the new file: the metadata grows by a few entries."""
        metadata = self.source.size - sum(info.size for info in self.source.tensors)
        return metadata + sum(padded(change.size) for change in self.changes)

    def formats(self) -> dict[str, int]:
        """Return the number of tensors by new format."""
        names = [change.format for change in self.changes]
        return {name: names.count(name) for name in dict.fromkeys(names)}


def plan(path: Path, kind: str) -> QuantizationPlan:
    """Plan the quantization of the drafter at `path` to `kind`.

    A quantized file is refused even if it has more bits than `kind`: quantizing twice is worse than quantizing the
    original.

    Raises:
        ModelFileError: the file is not a drafter, or is already quantized.
    """
    drafter_header.read(path)
    source = header.read_unchecked(path)
    quantized = next((info for info in source.tensors if _FORMATS[info.format].block > 1), None)
    if quantized is not None:
        raise ModelFileError(
            f"{path}: it is quantized already ({quantized.name} is {quantized.format}); "
            "give the f16, bf16 or f32 file that it was made from"
        )
    changes = tuple(Change(info, format_for(info, kind)) for info in source.tensors)
    block = _FORMATS[kind].block
    unfit = tuple(info.name for info in source.tensors if _is_matrix(info) and info.shape[0] % block)
    return QuantizationPlan(source, kind, changes, unfit)


def padded(size: int) -> int:
    """Round `size` up to the default alignment, with which files are written."""
    return -(-size // DEFAULT_ALIGNMENT) * DEFAULT_ALIGNMENT


def format_for(info: TensorInfo, kind: str) -> str:
    """Format of a drafter's tensor in a file of `kind`."""
    if not _is_matrix(info):
        return info.format
    if info.shape[0] % _FORMATS[kind].block:
        return "f16" if info.format == "f32" else info.format
    name = canonical_name(info.name)
    return _PRECISE if name in _KEPT_PRECISE or name.endswith(_GATE) else kind


def _is_matrix(info: TensorInfo) -> bool:
    """Return whether the tensor is a weight matrix, not a norm (taps may share one tensor) or an integer table."""
    return len(info.shape) > 1 and "norm" not in info.name and info.format in _UNQUANTIZED
