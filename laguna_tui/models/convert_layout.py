"""Mapping of a published drafter's tensors to GGUF tensors, with every name, shape and format checked.

Published names are those of the serving code (vLLM's `qwen3_dflash.py` and `laguna_dflash.py`); GGUF names are
llama.cpp's, see `laguna_engine.gguf.drafter_names`. A missing or unknown tensor is an error.
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
"""t2d (target to draft) is only used in training, and rotation frequencies are computed."""

FORMATS = {"BF16": "bf16", "F16": "f16", "F32": "f32"}
_AGAIN = "download the whole folder again"


@dataclass(frozen=True, slots=True)
class OutputTensor:
    """A tensor to write.

    Attributes:
        name: GGUF name.
        shape: Row length first.
        parts: Source tensors, concatenated in this order.
    """

    name: str
    shape: Shape
    parts: tuple[SourceTensor, ...]

    @property
    def format(self) -> str:
        """Format of all its parts; for the table, the format in which it is written."""
        return "i64" if self.name == TABLE else FORMATS[self.parts[0].dtype]

    @property
    def is_matrix(self) -> bool:
        """Whether it is a matrix of a multiplication; norms scale vectors, which llama.cpp only does in float32."""
        return self.name != TABLE and "norm" not in self.name


def output_tensors(folder: Path, config: DrafterConfig, tensors: Mapping[str, SourceTensor]) -> list[OutputTensor]:
    """Return the tensors to write, in order. Raises ModelFileError unless `tensors` are exactly those of `config`."""
    sources = _SourceTensors(folder, tensors)
    found = list(_global_tensors(config, sources))
    for layer in range(config.n_layer):
        found += _layer(config, sources, layer)
    unknown = sources.unused()
    if unknown:
        raise ModelFileError(
            f"{folder}: has {unknown[0]}, which this engine does not support; choose a DFlash drafter of Laguna"
        )
    return found


def _global_tensors(config: DrafterConfig, sources: "_SourceTensors") -> Iterator[OutputTensor]:
    embd = config.n_embd
    yield sources.matrix("fc.weight", "fc", embd * len(config.taps), embd)
    yield sources.norm("enc.output_norm.weight", "hidden_norm", embd)
    yield sources.norm("output_norm.weight", "norm", embd)
    if config.laguna:
        norms = tuple(sources.take(f"aux_hidden_norms.{tap}.weight", (embd,)) for tap in range(len(config.taps)))
        yield OutputTensor("enc.aux_norm.weight", (embd, len(norms)), norms)
    yield from _vocabulary(config, sources)


def _vocabulary(config: DrafterConfig, sources: "_SourceTensors") -> Iterator[OutputTensor]:
    """Yield its own embeddings, output matrix and reduced-vocabulary table, where present."""
    embeddings = sources.has("embed_tokens.weight")
    reduced = config.drafted < config.n_vocab or sources.has(TABLE)
    if embeddings:
        yield sources.matrix("token_embd.weight", "embed_tokens", config.n_embd, config.n_vocab)
    # Without an output matrix llama.cpp would use the embeddings as one.
    if reduced or sources.has("lm_head.weight") or (embeddings and not config.tied):
        yield sources.matrix("output.weight", "lm_head", config.n_embd, config.drafted)
    if reduced:
        yield OutputTensor(TABLE, (config.drafted,), (sources.take(TABLE, (config.drafted,), ("I64", "I32")),))


def _layer(config: DrafterConfig, sources: "_SourceTensors", layer: int) -> Iterator[OutputTensor]:
    embd, head, queries = config.n_embd, config.head_size, config.heads * config.head_size
    ours, theirs = f"blk.{layer}.", f"layers.{layer}."
    yield sources.norm(ours + "attn_norm.weight", theirs + "input_layernorm", embd)
    yield from _projections(config, sources, ours, theirs + "self_attn.")
    yield sources.norm(ours + "attn_q_norm.weight", theirs + "self_attn.q_norm", head)
    yield sources.norm(ours + "attn_k_norm.weight", theirs + "self_attn.k_norm", head)
    if config.laguna:
        yield sources.matrix(ours + "attn_gate.weight", theirs + "self_attn.g_proj", embd, config.heads)
    yield sources.matrix(ours + "attn_output.weight", theirs + "self_attn.o_proj", queries, embd)
    yield sources.norm(ours + "ffn_norm.weight", theirs + "post_attention_layernorm", embd)
    yield sources.matrix(ours + "ffn_gate.weight", theirs + "mlp.gate_proj", embd, config.n_ff)
    yield sources.matrix(ours + "ffn_up.weight", theirs + "mlp.up_proj", embd, config.n_ff)
    yield sources.matrix(ours + "ffn_down.weight", theirs + "mlp.down_proj", config.n_ff, embd)


def _projections(config: DrafterConfig, sources: "_SourceTensors", ours: str, theirs: str) -> Iterator[OutputTensor]:
    """Yield Q, K and V: three matrices, or a fused one with their rows in this order."""
    embd = config.n_embd
    rows = {"q": config.heads * config.head_size, "k": config.kv_heads * config.head_size}
    rows["v"] = rows["k"]
    if not sources.has(theirs + "qkv_proj.weight"):
        for letter, count in rows.items():
            yield sources.matrix(f"{ours}attn_{letter}.weight", f"{theirs}{letter}_proj", embd, count)
        return
    fused = sources.take(theirs + "qkv_proj.weight", (sum(rows.values()), embd))
    first = 0
    for letter, count in rows.items():
        yield OutputTensor(f"{ours}attn_{letter}.weight", (embd, count), (_rows(fused, first, count),))
        first += count


def _rows(tensor: SourceTensor, first: int, count: int) -> SourceTensor:
    row = tensor.size // tensor.shape[0]
    shape = (count, *tensor.shape[1:])
    return replace(tensor, shape=shape, offset=tensor.offset + first * row, size=count * row)


class _SourceTensors:
    """A drafter's source tensors, each to be used once."""

    def __init__(self, folder: Path, tensors: Mapping[str, SourceTensor]) -> None:
        self.folder = folder
        used = [name for name in tensors if name.rsplit(".", 1)[-1] not in _UNUSED]
        self._unused = {name.removeprefix(_PREFIX): tensors[name] for name in used}
        if len(self._unused) != len(used):
            raise ModelFileError(f"{folder}: it has a tensor under two names; {_AGAIN}")

    def has(self, name: str) -> bool:
        """Return whether it exists and is still unused."""
        return name in self._unused

    def unused(self) -> list[str]:
        return sorted(self._unused)

    def norm(self, name: str, source: str, width: int) -> OutputTensor:
        return OutputTensor(name, (width,), (self.take(source + ".weight", (width,)),))

    def matrix(self, name: str, source: str, width: int, rows: int) -> OutputTensor:
        return OutputTensor(name, (width, rows), (self.take(source + ".weight", (rows, width)),))

    def take(self, name: str, shape: Shape, dtypes: tuple[str, ...] = tuple(FORMATS)) -> SourceTensor:
        """Use the tensor `name`. Raises ModelFileError unless it has this shape and one of these formats."""
        tensor = self._unused.pop(name, None)
        if tensor is None:
            raise ModelFileError(f"{self.folder}: the tensor {name} is missing; {_AGAIN}")
        if tensor.dtype not in dtypes:
            raise ModelFileError(
                f"{self.folder}: {name} is stored as {tensor.dtype}, which cannot be converted; "
                "choose the drafter in bf16"
            )
        if tensor.shape != shape:
            raise ModelFileError(
                f"{self.folder}: {name} has the shape {list(tensor.shape)}, but its config.json says "
                f"{list(shape)}; {_AGAIN}"
            )
        return tensor
