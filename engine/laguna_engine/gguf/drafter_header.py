"""What a DFlash drafter's file says about itself, and whether it fits a target: all before native code sees it.

A wrong pair drafts nonsense that the target rejects, so without this check it would only be slow. Every error is a
ModelFileError with a sentence; no weight is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import drafter_tensors, header
from laguna_engine.gguf.drafter_names import LUCEBOX, UPSTREAM, Keys, canonical_tensors
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.hparams import MAX_SIZE, HParams
from laguna_engine.gguf.laguna import ARCHITECTURE
from laguna_engine.gguf.reader import Damaged, Unsuitable, Value
from laguna_engine.gguf.tensors import TensorInfo

MAX_BLOCK = 64
"""Four times the largest block that drafters were trained for."""

_LAGUNA_WINDOW = 512
"""Poolside's own GGUFs of the XS-2.1 and S-2.1 drafters leave the window out; all their layers slide, over 512."""

_DEFAULT_EPSILON = 1e-6
"""What Lucebox's engine uses for every drafter without asking the file."""


@dataclass(frozen=True, slots=True)
class DrafterHeader:
    """A checked drafter. Sequences have one entry a layer.

    file: its header, tensors under canonical names. heads, kv_heads, head_size: of attention. n_vocab: tokens it was
    made for, None if it does not say. rope_dims: how much of a head is rotated. block: tokens it sees at once, the
    anchor included. taps: layer OUTPUTS of the target, counted from 0, in the order it wants them. mask_id: the token
    of places to fill. window: positions a sliding layer sees, itself included; 0 without sliding layers. causal: layers
    whose block rows see no later rows. from_anchor: whether the anchor's row proposes (DSpark) or only the masks' rows
    do. context_norm: whether fused features pass a layer's input norm before its K and V.
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
        """Of the file."""
        return self.file.path

    @property
    def longest(self) -> int:
        """Most tokens it can draft at once."""
        return self.block if self.from_anchor else self.block - 1

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """By canonical name."""
        return {info.name: info for info in self.file.tensors}

    def has(self, name: str) -> bool:
        """Whether there is a tensor with this canonical name."""
        return any(info.name == name for info in self.file.tensors)

    @property
    def own_head(self) -> str | None:
        """The name of its own output matrix, which may be its embeddings; None if it uses the target's."""
        return next((name for name in ("output.weight", "token_embd.weight") if self.has(name)), None)


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What a drafter must know of its target: hidden size, layers, tokens and architecture."""

    n_embd: int
    n_layer: int
    n_vocab: int
    architecture: str

    @classmethod
    def of(cls, target: Header) -> "TargetFacts":
        """From the target's checked header."""
        dimensions = HParams(target.architecture, target.metadata)
        embedding = next(info for info in target.tensors if info.name == "token_embd.weight")
        return cls(dimensions.n_embd, dimensions.n_layer, embedding.shape[1], target.architecture)


def read(path: Path) -> DrafterHeader:
    """Read and check a drafter's header; ModelFileError if it is damaged, of another kind, or beyond this engine."""
    found: list[DrafterHeader] = []
    header.read(path, lambda file: found.append(_described(file)))
    return found[0]


def check_pair(drafter: DrafterHeader, target: TargetFacts | Header) -> None:
    """ModelFileError if `drafter` was not made for such a target."""
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
    # Drafters are never asked for their context length, so it may be missing.
    length: Mapping[str, Value] = {f"{file.architecture}.context_length": 1}
    dimensions = HParams(file.architecture, {**length, **file.metadata})
    drafter_tensors.check_kind(keys, file.tensors)
    queries = [heads * dimensions.head_size for heads in dimensions.heads]
    widths = [heads * dimensions.head_size for heads in dimensions.kv_heads]
    tensors = canonical_tensors(file.tensors, queries, widths)
    taps = keys.tap_outputs()
    vocabulary = drafter_tensors.check(dimensions, len(taps), tensors, set(keys.vocabulary_sizes()))
    drafter = _assembled(replace(file, tensors=tuple(tensors)), keys, dimensions, taps, vocabulary)
    _check_numbers(drafter)
    return drafter


def _assembled(
    file: Header, keys: Keys, dimensions: HParams, taps: tuple[int, ...], vocabulary: int | None
) -> DrafterHeader:
    names = {info.name for info in file.tensors}
    laguna = _is_laguna(keys, names)
    window, sliding = _sliding(dimensions, native_laguna=laguna and not keys.lucebox)
    return DrafterHeader(
        file=file,
        n_embd=dimensions.n_embd,
        n_layer=dimensions.n_layer,
        heads=dimensions.heads,
        kv_heads=dimensions.kv_heads,
        head_size=dimensions.head_size,
        n_vocab=vocabulary,
        epsilon=dimensions.number("attention.layer_norm_rms_epsilon") or _DEFAULT_EPSILON,
        rope_base=dimensions.number("rope.freq_base") or 0.0,
        rope_dims=dimensions.optional("rope.dimension_count", dimensions.head_size, 2, dimensions.head_size),
        block=keys.whole(keys.value("block_size"), "block size", 1, MAX_BLOCK),
        taps=taps,
        mask_id=keys.whole(keys.mask_token(), "mask token", 0, (vocabulary or MAX_SIZE) - 1),
        window=window,
        sliding=sliding,
        causal=_causal(keys, dimensions, sliding, laguna=laguna),
        # Upstream's default; Lucebox's engine keeps the anchor's row as it is.
        from_anchor="markov_w1.weight" in names and keys.flag("sample_from_anchor", not keys.lucebox),
        context_norm=keys.flag("context_kv_layer_norm", laguna) or (keys.lucebox and laguna),
    )


def _is_laguna(keys: Keys, names: set[str]) -> bool:
    """Whether it is built like poolside's second drafters; Lucebox's files only show it by their tensors."""
    if keys.lucebox:
        return "blk.0.attn_gate.weight" in names or "enc.aux_norm.0.weight" in names
    return keys.value("decoder_arch") == ARCHITECTURE


def _sliding(dimensions: HParams, *, native_laguna: bool) -> tuple[int, tuple[bool, ...]]:
    window = dimensions.optional("attention.sliding_window", _LAGUNA_WINDOW if native_laguna else 0)
    if not window:
        return 0, (False,) * dimensions.n_layer
    flags = dimensions.flags("attention.sliding_window_pattern")
    if flags is None:
        flags = (True,) * dimensions.n_layer
    sliding = (*flags, *(False,) * (dimensions.n_layer - len(flags)))
    return (window, sliding) if any(sliding) else (0, sliding)


def _causal(keys: Keys, dimensions: HParams, sliding: tuple[bool, ...], *, laguna: bool) -> tuple[bool, ...]:
    """Which layers' block rows see no later rows: one answer for all as llama.cpp has it, or one a layer."""
    layers = dimensions.flags("attention.causal")
    if layers is not None:
        return (*layers, *(False,) * (dimensions.n_layer - len(layers)))
    if keys.value("attention.causal") is None and keys.lucebox:
        return sliding
    return (keys.flag("attention.causal", laguna),) * dimensions.n_layer


def _check_numbers(drafter: DrafterHeader) -> None:
    rules = (
        (drafter.longest > 0, f"its block of {drafter.block} leaves nothing to draft"),
        (drafter.rope_base > 0, "it has no rope.freq_base"),
        (drafter.rope_dims % 2 == 0, f"it rotates {drafter.rope_dims} numbers of each head"),
        (min(drafter.taps) >= 0, "it reads the target's embeddings, which are no layer's output"),
        (len(set(drafter.taps)) == len(drafter.taps), "it reads one of the target's layers twice"),
    )
    for holds, complaint in rules:
        if not holds:
            raise Damaged(complaint)
