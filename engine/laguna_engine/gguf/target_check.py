"""Is this a target the engine can run, and do its dimensions agree with one another?

Each rule here stands for an assertion in llama.cpp's `load_hparams` or in a model's graph: broken, it ends the process
instead of returning an error.
"""

from collections.abc import Mapping, Sequence

from laguna_engine.gguf import generic, laguna, vocabulary
from laguna_engine.gguf.hparams import HParams
from laguna_engine.gguf.reader import Damaged, Unsuitable, Value
from laguna_engine.gguf.tensors import TensorInfo

GENERIC_TARGETS = frozenset(generic.LAYOUTS)
"""Text generation models that need nothing of their own from the engine."""

NOT_WEIGHTS = frozenset("i8 i16 i32 i64 f64 q8_1 q8_K".split())
"""Formats of indices and intermediate results: no matrix product reads them."""

DRAFTERS = frozenset("dflash eagle3 dspark dflash-draft qwen35-dflash-draft".split())
"""Architectures of models that only propose tokens to another one."""


def check(name: str, metadata: Mapping[str, Value], tensors: Sequence[TensorInfo]) -> None:
    """Raise Unsuitable if this is no target, Damaged if its numbers contradict one another."""
    _check_role(name, metadata)
    dimensions = HParams(name, metadata)
    dimensions.check()
    for tensor in tensors:
        _check_format(tensor)
    shapes = {tensor.name: tensor.shape for tensor in tensors}
    size = vocabulary.check(metadata)
    _check_embedding(dimensions, shapes, size)
    if name != laguna.ARCHITECTURE:
        generic.check(name, dimensions, shapes, size)
        return
    if metadata.get("tokenizer.ggml.model") == vocabulary.SENTENCEPIECE:
        raise Damaged("its tokenizer is not Laguna's")
    laguna.check(dimensions, shapes, size)


def _check_role(name: str, metadata: Mapping[str, Value]) -> None:
    if name in DRAFTERS:
        raise Unsuitable("is a drafter, which only speeds up another model; choose its target model instead")
    if metadata.get("general.type", "model") != "model":
        raise Unsuitable(f"holds {metadata['general.type']!r} instead of a model; choose the model it belongs to")
    if name != laguna.ARCHITECTURE and name not in GENERIC_TARGETS:
        raise Unsuitable(f"has the architecture {name!r}, which this engine does not run; choose a Laguna model")
    parts = metadata.get("split.count", 0)
    if parts not in (0, 1):
        raise Unsuitable(f"is one of {parts} parts; join them with llama-gguf-split --merge and open the result")


def _check_format(tensor: TensorInfo) -> None:
    vector = len(tensor.shape) == 1
    if tensor.format in NOT_WEIGHTS or (vector and tensor.format != "f32"):
        raise Damaged(f"{tensor.name} is stored as {tensor.format}, which cannot be computed with")


def _check_embedding(dimensions: HParams, shapes: Mapping[str, tuple[int, ...]], tokens: int) -> None:
    expected = (dimensions.n_embd, tokens)
    found = shapes.get("token_embd.weight")
    if found != expected:
        raise Damaged(f"token_embd.weight has the shape {found}, its vocabulary and hidden size need {expected}")
    declared = dimensions.optional("vocab_size", tokens)
    if declared != tokens:
        raise Damaged(f"it declares {declared} tokens and lists {tokens}")
