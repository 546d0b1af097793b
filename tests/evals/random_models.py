"""Models whose speed is measured: of random weights, with Laguna Nano's vocabulary, so that code has as many tokens as
for a trained model."""

import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from tests.evals.corpora import HERE
from tests.evals.keepers import NANO

sys.path.insert(0, str(HERE / "tests/engine"))

from tests.engine import scorers, tiny

CONTEXT = 65_536 + 2_048
# Attention from end to end is as large a share of the work at 64 K tokens as in Laguna XS: somewhat more than all else.
TARGET = tiny.Shape(
    n_layer=6, n_embd=384, head=64, full_heads=2, sliding_heads=6, kv_heads=2, n_ff=1536,
    experts=8, experts_used=2, expert_ff=384, window=512, n_ctx=CONTEXT,
)  # fmt: skip
# The shape of the scorer that comes with Laguna Nano.
SCORER = scorers.Variant(n_embd=192, n_layer=3, heads=6, kv_heads=2, head=32, n_ff=512, tied=True)

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def write(folder: Path) -> tuple[Path, Path]:
    """Return the target (laguna) and the scorer (qwen3)."""
    vocabulary = _vocabulary(NANO)
    size = len(vocabulary["tokenizer.ggml.tokens"][1])
    target = tiny.laguna(replace(TARGET, n_vocab=size))
    scorer = scorers.make(replace(SCORER, n_vocab=size))
    for file in (target, scorer):
        file.metadata = {k: v for k, v in file.metadata.items() if not k.startswith("tokenizer.")} | vocabulary
    return target.write(folder / "target.gguf"), scorer.write(folder / "scorer.gguf")


def _vocabulary(path: Path) -> dict[str, tuple[int, Any]]:
    """Return a GGUF's tokenizer, as `tiny.GgufFile` has it: the engine's own reader does not keep long lists."""
    with path.open("rb") as file:
        *_, count = _read(file, "IIQQ")
        metadata = {}
        for _ in range(count):
            key = _string(file)
            (kind,) = _read(file, "I")
            metadata[key] = (kind, _value(file, kind))
    return {key: value for key, value in metadata.items() if key.startswith("tokenizer.ggml.")}


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _read(file, _NUMBERS[kind])[0]
    inner, length = _read(file, "IQ")
    return [_value(file, inner) for _ in range(length)]


def _string(file: BinaryIO) -> str:
    return file.read(_read(file, "Q")[0]).decode("utf-8")


def _read(file: BinaryIO, codes: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{codes}", file.read(struct.calcsize(f"<{codes}")))
