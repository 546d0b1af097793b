"""Which format each tensor of a drafter gets when the drafter is quantized: a plan, made from the header alone.

Deals in format names and bytes; `laguna_engine.ggml.gguf_writer` carries a plan out, with llama.cpp's own quantizers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import drafter_header, header
from laguna_engine.gguf.drafter_names import canonical_name
from laguna_engine.gguf.formats import DEFAULT_ALIGNMENT, TENSOR_FORMATS, TensorFormat
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.tensors import TensorInfo

KINDS = ("q8_0", "q4_0")
"""What a drafter can be quantized to. A block of 32 weights shares a scale in both, which fits any drafter's rows."""

FILE_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 7, "bf16": 32}
"""`llama_ftype`: what a file mostly consists of."""

QUANTIZATION_VERSION = 2
"""`GGML_QNT_VERSION` of the pinned build."""

_FORMATS = {known.name: known for known in TENSOR_FORMATS.values()}
_UNQUANTIZED = ("f32", "f16", "bf16")
_PRECISE = "q8_0"
_KEPT_PRECISE = frozenset({"token_embd.weight", "output.weight", "markov_w1.weight", "markov_w2.weight"})
_GATE = "attn_gate.weight"
"""The heads choose between tokens that are close to each other, and a gate has one row a head: four bits would cost
acceptance there and save next to nothing."""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one tensor: `format` is the new one's name, perhaps the one it has."""

    info: TensorInfo
    format: str

    @property
    def size(self) -> int:
        """Bytes in the new file."""
        kind = _FORMATS[self.format]
        return prod(self.info.shape) // kind.block * kind.size


@dataclass(frozen=True, slots=True)
class QuantizationPlan:
    """What becomes of a drafter. unfit: names of matrices whose rows are no whole blocks, and so stay 16 bits wide."""

    source: Header
    kind: str
    changes: tuple[Change, ...]
    unfit: tuple[str, ...]

    @property
    def file_bytes(self) -> int:
        """About how large the new file will be: the metadata grows by a few entries."""
        metadata = self.source.size - sum(info.size for info in self.source.tensors)
        return metadata + sum(padded(change.size) for change in self.changes)

    def formats(self) -> dict[str, int]:
        """How many tensors have each format afterwards."""
        names = [change.format for change in self.changes]
        return {name: names.count(name) for name in dict.fromkeys(names)}


def plan(path: Path, kind: str) -> QuantizationPlan:
    """How to quantize the drafter at `path` to `kind`; ModelFileError for what is no drafter or quantized already.

    A quantized file is refused even where it has more bits than it would get: what was rounded away the first time is
    lost, so the second result would be worse than one made from the original.
    """
    drafter_header.read(path)
    source = header.read(path, lambda _: None)
    quantized = next((info for info in source.tensors if _FORMATS[info.format].block > 1), None)
    if quantized is not None:
        raise ModelFileError(
            f"{path}: it is quantized already ({quantized.name} is {quantized.format}); "
            "give the f16, bf16 or f32 file that it was made from"
        )
    changes = tuple(Change(info, format_for(info, kind)) for info in source.tensors)
    return QuantizationPlan(source, kind, changes, _unfit(source.tensors, _FORMATS[kind]))


def padded(size: int) -> int:
    """`size` rounded up to where the next tensor begins; files are written with the default alignment."""
    return -(-size // DEFAULT_ALIGNMENT) * DEFAULT_ALIGNMENT


def format_for(info: TensorInfo, kind: str) -> str:
    """Which format a drafter's tensor gets in a file of `kind`."""
    if not _is_matrix(info):
        return info.format
    if info.shape[0] % _FORMATS[kind].block:
        return "f16" if info.format == "f32" else info.format
    name = canonical_name(info.name)
    return _PRECISE if name in _KEPT_PRECISE or name.endswith(_GATE) else kind


def _is_matrix(info: TensorInfo) -> bool:
    """Whether it is multiplied with; norms of several taps lie in one tensor and are not, tables are integers."""
    return len(info.shape) > 1 and "norm" not in info.name and info.format in _UNQUANTIZED


def _unfit(tensors: Sequence[TensorInfo], kind: TensorFormat) -> tuple[str, ...]:
    return tuple(info.name for info in tensors if _is_matrix(info) and info.shape[0] % kind.block)
