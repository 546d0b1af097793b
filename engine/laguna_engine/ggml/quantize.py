"""Writes a quantized drafter: the source's metadata, and its weights through llama.cpp's own quantizers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from laguna_engine.ggml import writing
from laguna_engine.gguf.quantize import FILE_TYPES, QUANTIZATION_VERSION, Plan, padded

Progress = Callable[[int, int], None]
"""Told the bytes written and about how many there will be."""


def write(plan: Plan, target: Path, provenance: Mapping[str, str], progress: Progress) -> None:
    """Carry out `plan` and put the result at `target`, replacing what is there; `provenance` goes into the metadata.

    ModelFileError if there is no room, if the source holds weights that are not numbers, or if reading or writing
    fails; then, and after Ctrl-C, there is no new file.
    """
    with writing.whole_file(target, plan.file_bytes) as file, plan.source.path.open("rb") as source:
        file.write(_head(plan, provenance))
        _copy(plan, source, file, progress)


def _head(plan: Plan, provenance: Mapping[str, str]) -> bytes:
    metadata: dict[str, writing.Written] = {
        "general.quantization_version": QUANTIZATION_VERSION,
        "general.file_type": FILE_TYPES[plan.kind],
        **provenance,
    }
    tensors = [(change.info.name, change.format, change.info.shape) for change in plan.changes]
    return writing.head(metadata, tensors, plan.source.path)


def _copy(plan: Plan, source: BinaryIO, file: BinaryIO, progress: Progress) -> None:
    for change in plan.changes:
        for piece in writing.pieces(source, plan.source.path, change.info, change.format):
            file.write(piece)
            progress(file.tell(), plan.file_bytes)
        file.write(b"\0" * (padded(change.size) - change.size))
