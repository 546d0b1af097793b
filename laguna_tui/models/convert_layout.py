"""Which tensors of a published drafter become which of its GGUF's, with every name, shape and format checked.

Published names are those of the serving code (vLLM's `qwen3_dflash.py` and `laguna_dflash.py`); ours are llama.cpp's,
see `laguna_engine.gguf.drafter_names`. A tensor that is missing or not known is an error.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_tui.models.convert_config import DrafterConfig
from laguna_tui.models.convert_safetensors import SourceTensor

Shape = tuple[int, ...]

TABLE = "d2t"
_PREFIX = "model."
_UNUSED = ("t2d", "inv_freq")
"""The target-to-draft table only serves training, and rotations are computed."""

FORMATS = {"BF16": "bf16", "F16": "f16", "F32": "f32"}
_AGAIN = "download the whole folder again"


@dataclass(frozen=True, slots=True)
class OutputTensor:
    """A tensor to write. shape: row length first. parts: what it is made of, one after the other."""

    name: str
    shape: Shape
    parts: tuple[SourceTensor, ...]

    @property
    def format(self) -> str:
        """The name of the format that all its parts have; the table's is that in which it is written."""
        return "i64" if self.name == TABLE else FORMATS[self.parts[0].dtype]

    @property
    def is_matrix(self) -> bool:
        """Whether it is multiplied with; norms scale vectors, which llama.cpp only does in float32."""
        return self.name != TABLE and "norm" not in self.name


def items(folder: Path, design: DrafterConfig, tensors: Mapping[str, SourceTensor]) -> list[OutputTensor]:
    """Everything to write, in order; ModelFileError unless `tensors` are exactly what `design` needs."""
    taken = _Taken(folder, tensors)
    found = list(_outside(design, taken))
    for layer in range(design.n_layer):
        found += _layer(design, taken, layer)
    unknown = taken.left()
    if unknown:
        raise ModelFileError(
            f"{folder}: has {unknown[0]}, which this engine's drafter does not know; choose a DFlash drafter of Laguna"
        )
    return found


def _outside(design: DrafterConfig, taken: "_Taken") -> Iterator[OutputTensor]:
    embd = design.n_embd
    yield taken.matrix("fc.weight", "fc", embd * len(design.taps), embd)
    yield taken.norm("enc.output_norm.weight", "hidden_norm", embd)
    yield taken.norm("output_norm.weight", "norm", embd)
    if design.laguna:
        norms = tuple(taken.take(f"aux_hidden_norms.{tap}.weight", (embd,)) for tap in range(len(design.taps)))
        yield OutputTensor("enc.aux_norm.weight", (embd, len(norms)), norms)
    yield from _vocabulary(design, taken)


def _vocabulary(design: DrafterConfig, taken: "_Taken") -> Iterator[OutputTensor]:
    """Its own embeddings, output matrix and table of a reduced vocabulary, as far as it has them."""
    embeddings = taken.has("embed_tokens.weight")
    reduced = design.drafted < design.n_vocab or taken.has(TABLE)
    if embeddings:
        yield taken.matrix("token_embd.weight", "embed_tokens", design.n_embd, design.n_vocab)
    # Without an output matrix the embeddings would be taken for one.
    if reduced or taken.has("lm_head.weight") or (embeddings and not design.tied):
        yield taken.matrix("output.weight", "lm_head", design.n_embd, design.drafted)
    if reduced:
        yield OutputTensor(TABLE, (design.drafted,), (taken.take(TABLE, (design.drafted,), ("I64", "I32")),))


def _layer(design: DrafterConfig, taken: "_Taken", layer: int) -> Iterator[OutputTensor]:
    embd, head, queries = design.n_embd, design.head_size, design.heads * design.head_size
    ours, theirs = f"blk.{layer}.", f"layers.{layer}."
    yield taken.norm(ours + "attn_norm.weight", theirs + "input_layernorm", embd)
    yield from _projections(design, taken, ours, theirs + "self_attn.")
    yield taken.norm(ours + "attn_q_norm.weight", theirs + "self_attn.q_norm", head)
    yield taken.norm(ours + "attn_k_norm.weight", theirs + "self_attn.k_norm", head)
    if design.laguna:
        yield taken.matrix(ours + "attn_gate.weight", theirs + "self_attn.g_proj", embd, design.heads)
    yield taken.matrix(ours + "attn_output.weight", theirs + "self_attn.o_proj", queries, embd)
    yield taken.norm(ours + "ffn_norm.weight", theirs + "post_attention_layernorm", embd)
    yield taken.matrix(ours + "ffn_gate.weight", theirs + "mlp.gate_proj", embd, design.n_ff)
    yield taken.matrix(ours + "ffn_up.weight", theirs + "mlp.up_proj", embd, design.n_ff)
    yield taken.matrix(ours + "ffn_down.weight", theirs + "mlp.down_proj", design.n_ff, embd)


def _projections(design: DrafterConfig, taken: "_Taken", ours: str, theirs: str) -> Iterator[OutputTensor]:
    """Q, K and V: three matrices, or one with their rows in this order."""
    embd = design.n_embd
    rows = {"q": design.heads * design.head_size, "k": design.kv_heads * design.head_size}
    rows["v"] = rows["k"]
    if not taken.has(theirs + "qkv_proj.weight"):
        for letter, count in rows.items():
            yield taken.matrix(f"{ours}attn_{letter}.weight", f"{theirs}{letter}_proj", embd, count)
        return
    fused = taken.take(theirs + "qkv_proj.weight", (sum(rows.values()), embd))
    first = 0
    for letter, count in rows.items():
        yield OutputTensor(f"{ours}attn_{letter}.weight", (embd, count), (_rows(fused, first, count),))
        first += count


def _rows(tensor: SourceTensor, first: int, count: int) -> SourceTensor:
    row = tensor.size // tensor.shape[0]
    shape = (count, *tensor.shape[1:])
    return replace(tensor, shape=shape, offset=tensor.offset + first * row, size=count * row)


class _Taken:
    """A drafter's tensors, each to be taken once."""

    def __init__(self, folder: Path, tensors: Mapping[str, SourceTensor]) -> None:
        self.folder = folder
        used = [name for name in tensors if name.rsplit(".", 1)[-1] not in _UNUSED]
        self._left = {name.removeprefix(_PREFIX): tensors[name] for name in used}
        if len(self._left) != len(used):
            raise ModelFileError(f"{folder}: it has a tensor under two names; {_AGAIN}")

    def has(self, name: str) -> bool:
        """Whether it is there and not taken yet."""
        return name in self._left

    def left(self) -> list[str]:
        """The names that nobody took."""
        return sorted(self._left)

    def norm(self, name: str, source: str, width: int) -> OutputTensor:
        """A norm's weights."""
        return OutputTensor(name, (width,), (self.take(source + ".weight", (width,)),))

    def matrix(self, name: str, source: str, width: int, rows: int) -> OutputTensor:
        """A matrix of `rows` rows."""
        return OutputTensor(name, (width, rows), (self.take(source + ".weight", (rows, width)),))

    def take(self, name: str, shape: Shape, dtypes: tuple[str, ...] = tuple(FORMATS)) -> SourceTensor:
        """The tensor `name`; ModelFileError unless it has this shape and one of these formats."""
        tensor = self._left.pop(name, None)
        if tensor is None:
            raise ModelFileError(f"{self.folder}: the tensor {name} is missing; {_AGAIN}")
        if tensor.dtype not in dtypes:
            raise ModelFileError(
                f"{self.folder}: {name} is stored as {tensor.dtype}, which cannot be converted; "
                "choose the drafter in bf16"
            )
        if tensor.shape != shape:
            raise ModelFileError(
                f"{self.folder}: {name} has the shape {list(tensor.shape)}, by its config.json it should be "
                f"{list(shape)}; {_AGAIN}"
            )
        return tensor
