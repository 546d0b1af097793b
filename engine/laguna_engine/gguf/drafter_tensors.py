"""Checks the required and optional tensors of a DFlash drafter and their shapes (`src/models/dflash.cpp`).

Unknown tensors are refused: a drafter computed without one of its parts drafts nonsense, and only its acceptance rate
would show it.
"""

from collections.abc import Iterator, Sequence
from math import prod

from laguna_engine.gguf.drafter_names import Keys
from laguna_engine.gguf.hparams import HParams
from laguna_engine.gguf.reader import Damaged, Unsuitable
from laguna_engine.gguf.target_check import NOT_WEIGHTS
from laguna_engine.gguf.tensors import Shape, TensorInfo, trimmed

_DFLASH2 = ("selector_", "conv_base", "conv_proj")
_OTHER_DRAFTER = "choose a DFlash or DSpark drafter"

_MUST_BE_PLAIN = {
    "embedding_scale": (None, 0.0, 1.0),
    "attention.scale": (None, 0.0),
    "attention.value_scale": (None, 0.0, 1.0),
    "hidden_act": (None, "silu"),
    "hyper_connection_count": (None, 0),
}
"""Settings of other families' drafters, and their values without effect."""

_TABLE_FORMATS = ("i32", "i64")


def check_kind(keys: Keys, tensors: Sequence[TensorInfo]) -> None:
    """Raise Unsuitable for a drafter with features that this engine does not implement."""
    if any(part in info.name for info in tensors for part in _DFLASH2):
        raise Unsuitable(
            f"is a DFlash2 drafter (convolutions inside the block and a selector of paths), which this engine does not "
            f"run; {_OTHER_DRAFTER}"
        )
    for name, plain in _MUST_BE_PLAIN.items():
        if keys.value(name) not in plain:
            raise Unsuitable(
                f"has {name} {keys.value(name)!r}, which this engine's drafter does not know; {_OTHER_DRAFTER}"
            )
    # Lucebox copies the target's YaRN settings into its files and its engine never reads them.
    scaling = None if keys.lucebox else keys.value("rope.scaling.type")
    if scaling not in (None, "none"):
        raise Unsuitable(f"scales its positions ({scaling}), which no drafter of Laguna does; {_OTHER_DRAFTER}")


def check(hparams: HParams, taps: int, tensors: Sequence[TensorInfo], vocabularies: set[int]) -> int | None:
    """Check the tensors; returns the size of the vocabulary, None if not given.

    Args:
        hparams: the drafter's hyperparameters.
        taps: number of target layers it reads.
        tensors: under canonical names.
        vocabularies: sizes given by the metadata.

    Raises:
        Damaged: a tensor is missing or misshapen.
        Unsuitable: a tensor is unknown.
    """
    for layer, (heads, kv_heads) in enumerate(zip(hparams.heads, hparams.kv_heads, strict=True)):
        if heads % kv_heads:
            raise Damaged(f"layer {layer} has {heads} heads for {kv_heads} key-value heads")
    found = {info.name: info for info in tensors}
    if len(found) != len(tensors):
        raise Damaged("it has a tensor under two names")
    expected = {**dict(_required(hparams, taps)), **dict(_optional(hparams, taps, found))}
    vocabulary = _vocabulary(found, vocabularies)
    expected |= dict(_heads(hparams.n_embd, found, vocabulary))
    for name, shape in expected.items():
        _check_tensor(found.get(name), name, shape)
    unknown = sorted(found.keys() - expected.keys())
    if unknown:
        raise Unsuitable(f"has {unknown[0]}, which this engine's drafter does not know; {_OTHER_DRAFTER}")
    return vocabulary


def _required(hparams: HParams, taps: int) -> Iterator[tuple[str, Shape]]:
    embd, head = hparams.n_embd, hparams.head_size
    yield "fc.weight", (embd * taps, embd)
    yield "enc.output_norm.weight", (embd,)
    yield "output_norm.weight", (embd,)
    for layer, width in enumerate(hparams.per_layer("feed_forward_length", 1)):
        queries, keys = hparams.heads[layer] * head, hparams.kv_heads[layer] * head
        prefix = f"blk.{layer}."
        yield prefix + "attn_norm.weight", (embd,)
        yield prefix + "attn_q.weight", (embd, queries)
        yield prefix + "attn_k.weight", (embd, keys)
        yield prefix + "attn_v.weight", (embd, keys)
        yield prefix + "attn_output.weight", (queries, embd)
        yield prefix + "attn_q_norm.weight", (head,)
        yield prefix + "attn_k_norm.weight", (head,)
        yield prefix + "ffn_norm.weight", (embd,)
        yield prefix + "ffn_gate.weight", (embd, width)
        yield prefix + "ffn_up.weight", (embd, width)
        yield prefix + "ffn_down.weight", (width, embd)


def _optional(hparams: HParams, taps: int, found: dict[str, TensorInfo]) -> Iterator[tuple[str, Shape]]:
    if any(name.startswith("enc.aux_norm.") for name in found):
        for tap in range(taps):
            yield f"enc.aux_norm.{tap}.weight", (hparams.n_embd,)
    for layer, heads in enumerate(hparams.heads):
        gate = f"blk.{layer}.attn_gate.weight"
        if gate in found:
            yield gate, (hparams.n_embd, heads)


def _vocabulary(found: dict[str, TensorInfo], declared: set[int]) -> int | None:
    """The size of the vocabulary on which tensors and metadata agree."""
    tables = [found[name] for name in ("token_embd.weight", "markov_w1.weight") if name in found]
    if "d2t" not in found and "output.weight" in found:
        tables.append(found["output.weight"])
    sizes = declared | {prod(info.shape[1:]) for info in tables}
    if len(sizes) > 1:
        raise Damaged(f"its vocabulary has {' or '.join(map(str, sorted(sizes)))} tokens")
    return next(iter(sizes), None)


def _heads(embd: int, found: dict[str, TensorInfo], vocabulary: int | None) -> Iterator[tuple[str, Shape]]:
    """Embeddings, output matrix, reduced vocabulary, Markov and confidence head, as far as present."""
    drafted = prod(found["d2t"].shape) if "d2t" in found else vocabulary
    if "token_embd.weight" in found:
        yield "token_embd.weight", (embd, vocabulary or 0)
    if "d2t" in found:
        if vocabulary is not None and vocabulary < (drafted or 0):
            raise Damaged(f"its reduced vocabulary has {drafted} of {vocabulary} tokens")
        yield "d2t", (drafted or 0,)
    if "output.weight" in found or "d2t" in found:
        yield "output.weight", (embd, drafted or 0)
    if "markov_w1.weight" in found or "markov_w2.weight" in found:
        yield from _markov(embd, found, vocabulary, drafted)


def _markov(
    embd: int, found: dict[str, TensorInfo], vocabulary: int | None, drafted: int | None
) -> Iterator[tuple[str, Shape]]:
    rank = found["markov_w1.weight"].shape[0] if "markov_w1.weight" in found else 0
    yield "markov_w1.weight", (rank, vocabulary or 0)
    yield "markov_w2.weight", (rank, drafted or 0)
    if "conf_proj.weight" in found:
        hidden_only = prod(found["conf_proj.weight"].shape) == embd
        yield "conf_proj.weight", (embd if hidden_only else embd + rank,)
    if "conf_proj.bias" in found:
        yield "conf_proj.bias", (1,)


def _check_tensor(info: TensorInfo | None, name: str, expected: Shape) -> None:
    if info is None:
        raise Damaged(f"the tensor {name} is missing")
    if trimmed(info.shape) != trimmed(expected):
        raise Damaged(f"{name} has the shape {info.shape}, expected {expected}")
    vector = len(trimmed(info.shape)) == 1 and name != "conf_proj.weight"
    right = info.format in _TABLE_FORMATS if name == "d2t" else info.format not in NOT_WEIGHTS
    if not right or (vector and name != "d2t" and info.format != "f32"):
        raise Damaged(f"{name} is stored as {info.format}, which cannot be computed with")
