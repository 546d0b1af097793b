"""Reads and checks the header of a DFlash drafter, and whether it fits a target, before native code opens the file.

A wrong pair drafts nonsense that the target rejects, so without this check it would only be slow. For the same reason
unknown tensors are refused: a drafter computed without one of its parts shows only in its acceptance rate. Shapes
follow `src/models/dflash.cpp`. Every error is a ModelFileError with a sentence; no weight is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import header
from laguna_engine.gguf.drafter_names import LUCEBOX, UPSTREAM, Keys, canonical_tensors
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.hparams import MAX_SIZE, HParams
from laguna_engine.gguf.laguna import ARCHITECTURE
from laguna_engine.gguf.reader import Damaged, Unsuitable, Value
from laguna_engine.gguf.tensors import NOT_WEIGHTS, Shape, TensorInfo, check_shape, trimmed

MAX_BLOCK = 64
"""Four times the largest block size that drafters were trained for."""

_LAGUNA_WINDOW = 512
"""Poolside's GGUFs of the XS-2.1 and S-2.1 drafters omit the window; all their layers have one of 512."""

_DEFAULT_EPSILON = 1e-6
"""The value Lucebox's engine uses for every drafter, whatever the file says."""


@dataclass(frozen=True, slots=True)
class DrafterHeader:
    """A checked drafter header. Sequences have one entry per layer.

    Attributes:
        file: its GGUF header, tensors under canonical names.
        n_embd: width of the hidden states.
        n_layer: number of layers.
        heads: attention heads.
        kv_heads: heads of keys and values.
        head_size: width of a head.
        n_vocab: tokens of the vocabulary it was made for, None if not given.
        epsilon: of the RMS norms.
        rope_base: base frequency of RoPE.
        rope_dims: numbers of each head that are rotated.
        block: tokens of a block, the anchor included.
        taps: layer OUTPUTS of the target, counted from 0, in input order.
        mask_id: the mask token, input at the positions to draft.
        window: positions that a sliding-window layer sees, its own included; 0 without such layers.
        sliding: whether a layer has sliding-window attention.
        causal: whether the rows of a block attend only to earlier rows in a layer.
        from_anchor: whether the anchor's row proposes a token too (DSpark), not only the mask rows.
        context_norm: whether fused features pass a layer's input norm before its K and V.
    """

    file: Header
    n_embd: int
    n_layer: int
    heads: tuple[int, ...]
    kv_heads: tuple[int, ...]
    head_size: int
    n_vocab: int | None
    epsilon: float
    rope_base: float
    rope_dims: int
    block: int
    taps: tuple[int, ...]
    mask_id: int
    window: int
    sliding: tuple[bool, ...]
    causal: tuple[bool, ...]
    from_anchor: bool
    context_norm: bool

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.file.path

    @property
    def longest(self) -> int:
        """Most tokens it drafts at once."""
        return self.block if self.from_anchor else self.block - 1

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """Tensors by canonical name."""
        return {info.name: info for info in self.file.tensors}

    def has(self, name: str) -> bool:
        """Return whether it has a tensor with this canonical name."""
        return any(info.name == name for info in self.file.tensors)

    @property
    def own_head(self) -> str | None:
        """Name of its own output matrix, which may be its embeddings; None if it uses the target's."""
        return next((name for name in ("output.weight", "token_embd.weight") if self.has(name)), None)


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """The properties of a target that a drafter must match.

    Attributes:
        n_embd: width of the hidden states.
        n_layer: number of layers.
        n_vocab: tokens of the vocabulary.
        architecture: `general.architecture`.
    """

    n_embd: int
    n_layer: int
    n_vocab: int
    architecture: str

    @classmethod
    def of(cls, target: Header) -> "TargetFacts":
        """Create from the target's checked header."""
        hparams = HParams(target.architecture, target.metadata)
        embedding = next(info for info in target.tensors if info.name == "token_embd.weight")
        return cls(hparams.n_embd, hparams.n_layer, embedding.shape[1], target.architecture)


def read(path: Path) -> DrafterHeader:
    """Read and check a drafter's header; ModelFileError if it is damaged, of another kind or not supported."""
    return header.read(path, _described)


def check_pair(drafter: DrafterHeader, target: TargetFacts | Header) -> None:
    """Raise ModelFileError if `drafter` was not made for the target."""
    facts = target if isinstance(target, TargetFacts) else TargetFacts.of(target)
    complaint = _mismatch(drafter, facts)
    if complaint:
        raise ModelFileError(f"{drafter.path}: {complaint}; choose the drafter that was made for this model")


def _mismatch(drafter: DrafterHeader, target: TargetFacts) -> str | None:
    if drafter.n_embd != target.n_embd:
        return f"the drafter reads hidden states of {drafter.n_embd}, the model has {target.n_embd}"
    outside = [tap for tap in drafter.taps if tap >= target.n_layer]
    if outside:
        return f"the drafter reads the output of layer {outside[0]}, the model has layers 0 to {target.n_layer - 1}"
    if drafter.n_vocab not in (None, target.n_vocab):
        return f"the drafter has a vocabulary of {drafter.n_vocab} tokens, the model one of {target.n_vocab}"
    if drafter.mask_id >= target.n_vocab:
        return f"the drafter's mask token {drafter.mask_id} is outside the model's {target.n_vocab} tokens"
    return None


def _described(file: Header) -> DrafterHeader:
    if file.architecture != UPSTREAM and file.architecture not in LUCEBOX:
        raise Unsuitable(f"is a model of the kind {file.architecture!r}, not a DFlash drafter; choose a drafter's file")
    keys = Keys(file.architecture, file.metadata)
    # A drafter's context length is not used, so it may be missing.
    length: Mapping[str, Value] = {f"{file.architecture}.context_length": 1}
    hparams = HParams(file.architecture, {**length, **file.metadata})
    _check_kind(keys, file.tensors)
    queries = [heads * hparams.head_size for heads in hparams.heads]
    widths = [heads * hparams.head_size for heads in hparams.kv_heads]
    tensors = canonical_tensors(file.tensors, queries, widths)
    taps = keys.tap_outputs()
    vocabulary = _check_tensors(hparams, len(taps), tensors, set(keys.vocabulary_sizes()))
    drafter = _assembled(replace(file, tensors=tuple(tensors)), keys, hparams, taps, vocabulary)
    _check_numbers(drafter)
    return drafter


def _assembled(
    file: Header, keys: Keys, hparams: HParams, taps: tuple[int, ...], vocabulary: int | None
) -> DrafterHeader:
    names = {info.name for info in file.tensors}
    laguna = _is_laguna(keys, names)
    window, sliding = _sliding(hparams, native_laguna=laguna and not keys.lucebox)
    return DrafterHeader(
        file=file,
        n_embd=hparams.n_embd,
        n_layer=hparams.n_layer,
        heads=hparams.heads,
        kv_heads=hparams.kv_heads,
        head_size=hparams.head_size,
        n_vocab=vocabulary,
        epsilon=hparams.number("attention.layer_norm_rms_epsilon") or _DEFAULT_EPSILON,
        rope_base=hparams.number("rope.freq_base") or 0.0,
        rope_dims=hparams.optional("rope.dimension_count", hparams.head_size, 2, hparams.head_size),
        block=keys.whole(keys.value("block_size"), "block size", 1, MAX_BLOCK),
        taps=taps,
        mask_id=keys.whole(keys.mask_token(), "mask token", 0, (vocabulary or MAX_SIZE) - 1),
        window=window,
        sliding=sliding,
        causal=_causal(keys, hparams, sliding, laguna=laguna),
        # llama.cpp's default; Lucebox's engine does not draft from the anchor's row.
        from_anchor="markov_w1.weight" in names and keys.flag("sample_from_anchor", not keys.lucebox),
        context_norm=keys.flag("context_kv_layer_norm", laguna) or (keys.lucebox and laguna),
    )


def _is_laguna(keys: Keys, names: set[str]) -> bool:
    """Return whether it has the layout of poolside's second drafters; Lucebox's files show it by their tensors only."""
    if keys.lucebox:
        return "blk.0.attn_gate.weight" in names or "enc.aux_norm.0.weight" in names
    return keys.value("decoder_arch") == ARCHITECTURE


def _sliding(hparams: HParams, *, native_laguna: bool) -> tuple[int, tuple[bool, ...]]:
    window = hparams.optional("attention.sliding_window", _LAGUNA_WINDOW if native_laguna else 0)
    if not window:
        return 0, (False,) * hparams.n_layer
    flags = hparams.flags("attention.sliding_window_pattern")
    if flags is None:
        flags = (True,) * hparams.n_layer
    sliding = (*flags, *(False,) * (hparams.n_layer - len(flags)))
    return (window, sliding) if any(sliding) else (0, sliding)


def _causal(keys: Keys, hparams: HParams, sliding: tuple[bool, ...], *, laguna: bool) -> tuple[bool, ...]:
    """Return which layers are causal inside a block: one value for all layers as in llama.cpp, or one per layer."""
    layers = hparams.flags("attention.causal")
    if layers is not None:
        return (*layers, *(False,) * (hparams.n_layer - len(layers)))
    if keys.value("attention.causal") is None and keys.lucebox:
        return sliding
    return (keys.flag("attention.causal", laguna),) * hparams.n_layer


def _check_numbers(drafter: DrafterHeader) -> None:
    rules = (
        (drafter.longest > 0, f"its block of {drafter.block} leaves nothing to draft"),
        (drafter.rope_base > 0, "it has no rope.freq_base"),
        (drafter.rope_dims % 2 == 0, f"it rotates {drafter.rope_dims} numbers of each head"),
        (min(drafter.taps) >= 0, "it reads the target's embeddings, which are not a layer's output"),
        (len(set(drafter.taps)) == len(drafter.taps), "it reads one of the target's layers twice"),
    )
    for holds, complaint in rules:
        if not holds:
            raise Damaged(complaint)


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


def _check_kind(keys: Keys, tensors: Sequence[TensorInfo]) -> None:
    """Raise Unsuitable for a drafter with features that this engine does not implement."""
    if any(part in info.name for info in tensors for part in _DFLASH2):
        raise Unsuitable(
            f"is a DFlash2 drafter (convolutions inside the block and a selector of paths), which this engine does not "
            f"run; {_OTHER_DRAFTER}"
        )
    for name, plain in _MUST_BE_PLAIN.items():
        if keys.value(name) not in plain:
            raise Unsuitable(
                f"has {name} {keys.value(name)!r}, which this engine's drafter does not support; {_OTHER_DRAFTER}"
            )
    # Lucebox copies the target's YaRN settings into its files and its engine never reads them.
    scaling = None if keys.lucebox else keys.value("rope.scaling.type")
    if scaling not in (None, "none"):
        raise Unsuitable(f"scales its positions ({scaling}), which no drafter of Laguna does; {_OTHER_DRAFTER}")


def _check_tensors(hparams: HParams, taps: int, tensors: Sequence[TensorInfo], vocabularies: set[int]) -> int | None:
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
        raise Unsuitable(f"has {unknown[0]}, which this engine's drafter does not support; {_OTHER_DRAFTER}")
    return vocabulary


def _required(hparams: HParams, taps: int) -> Iterator[tuple[str, Shape]]:
    embd, head = hparams.n_embd, hparams.head_size
    yield "fc.weight", (embd * taps, embd)
    yield "enc.output_norm.weight", (embd,)
    yield "output_norm.weight", (embd,)
    for layer, width in enumerate(hparams.per_layer("feed_forward_length", 1)):
        prefix = f"blk.{layer}."
        yield prefix + "attn_norm.weight", (embd,)
        yield from ((prefix + name, shape) for name, shape in hparams.attention_shapes(layer))
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
    """Return the size of the vocabulary on which tensors and metadata agree."""
    tables = [found[name] for name in ("token_embd.weight", "markov_w1.weight") if name in found]
    if "d2t" not in found and "output.weight" in found:
        tables.append(found["output.weight"])
    sizes = declared | {prod(info.shape[1:]) for info in tables}
    if len(sizes) > 1:
        raise Damaged(f"its vocabulary has {' or '.join(map(str, sorted(sizes)))} tokens")
    return next(iter(sizes), None)


def _heads(embd: int, found: dict[str, TensorInfo], vocabulary: int | None) -> Iterator[tuple[str, Shape]]:
    """Yield embeddings, output matrix, reduced vocabulary, Markov and confidence head, as far as present."""
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
    check_shape(name, None if info is None else info.shape, expected)
    assert info is not None, "its shape was checked"
    vector = len(trimmed(info.shape)) == 1 and name != "conf_proj.weight"
    right = info.format in _TABLE_FORMATS if name == "d2t" else info.format not in NOT_WEIGHTS
    if not right or (vector and name != "d2t" and info.format != "f32"):
        raise Damaged(f"{name} is stored as {info.format}, which cannot be computed with")
