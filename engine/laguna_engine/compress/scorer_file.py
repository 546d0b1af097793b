"""Checks a scorer file: text models of the qwen3 architecture, and the header fields they need.

The forward pass is `src/models/qwen3.cpp` of llama.cpp. Unknown tensors are refused: a model computed without one of
its parts would score nonsense without any sign of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.hparams import HParams
from laguna_engine.gguf.reader import Damaged

ARCHITECTURE = "qwen3"

EMBEDDINGS, HEAD, LAST_NORM = "token_embd.weight", "output.weight", "output_norm.weight"

SMALLEST_WINDOW = 64
"""Fewest tokens of a window: a shorter one would hold little but the query."""

_DEFAULT_BASE = 10000.0
"""llama.cpp's default, for a file without `rope.freq_base`."""

_ANOTHER = "choose a text model of the qwen3 architecture"


@dataclass(frozen=True, slots=True)
class ScorerFile:
    """A checked scorer file.

    Attributes:
        file: its header.
        n_ctx: tokens it was trained for.
        heads: attention heads, the same in every layer.
        kv_heads: heads of keys and values, the same in every layer.
        head_size: width of one attention head.
        n_ff: largest width of a feed-forward part.
        epsilon: of the RMS norms.
        rope_base: base frequency of RoPE.
        head: name of the output matrix, which may be the embeddings.
    """

    file: Header
    n_layer: int
    n_embd: int
    n_vocab: int
    n_ctx: int
    heads: int
    kv_heads: int
    head_size: int
    n_ff: int
    epsilon: float
    rope_base: float
    head: str


def describe(file: Header) -> ScorerFile:
    """Describe a header that passed `gguf.header.check`; ModelFileError if it is not a scorer."""
    if file.architecture != ARCHITECTURE:
        raise ModelFileError(f"{file.path}: is a model of the kind {file.architecture!r}, not a scorer; {_ANOTHER}")
    hparams = HParams(file.architecture, file.metadata)
    scaling = file.metadata.get(f"{ARCHITECTURE}.rope.scaling.type")
    if scaling not in (None, "none"):
        raise ModelFileError(f"{file.path}: it scales its positions ({scaling}); choose the file without that")
    try:
        return _described(file, hparams)
    except Damaged as error:
        raise ModelFileError(f"{file.path}: {error}; download it again, or {_ANOTHER}") from error


def _described(file: Header, hparams: HParams) -> ScorerFile:
    if len(set(hparams.heads)) > 1 or len(set(hparams.kv_heads)) > 1:
        raise Damaged("its layers have different numbers of heads")
    head_size = hparams.head_size
    rotated = hparams.optional("rope.dimension_count", head_size)
    if hparams.value_size != head_size or rotated != head_size:
        raise Damaged(f"its heads have {head_size} numbers, {hparams.value_size} in values, {rotated} are rotated")
    base = hparams.number("rope.freq_base")
    epsilon = hparams.number("attention.layer_norm_rms_epsilon")
    if base == 0 or epsilon is None:
        raise Damaged("it lacks the base of its positions or the epsilon of its norms")
    if hparams.n_ctx < SMALLEST_WINDOW:
        raise Damaged(f"it was made for texts of {hparams.n_ctx} tokens")
    _check_tensors(file, hparams)
    shapes = {info.name: info.shape for info in file.tensors}
    return ScorerFile(
        file=file,
        n_layer=hparams.n_layer,
        n_embd=hparams.n_embd,
        n_vocab=shapes[EMBEDDINGS][1],
        n_ctx=hparams.n_ctx,
        heads=hparams.heads[0],
        kv_heads=hparams.kv_heads[0],
        head_size=head_size,
        n_ff=max(hparams.per_layer("feed_forward_length", 1)),
        epsilon=epsilon,
        rope_base=base or _DEFAULT_BASE,
        head=HEAD if HEAD in shapes else EMBEDDINGS,
    )


def _check_tensors(file: Header, hparams: HParams) -> None:
    found = {info.name: info.shape for info in file.tensors}
    tokens = found[EMBEDDINGS][1]
    expected = {EMBEDDINGS: (hparams.n_embd, tokens), LAST_NORM: (hparams.n_embd,)}
    if HEAD in found:
        expected[HEAD] = (hparams.n_embd, tokens)
    for layer, width in enumerate(hparams.per_layer("feed_forward_length", 1)):
        expected |= {f"blk.{layer}.{name}.weight": shape for name, shape in _layer(hparams, width)}
    for name, shape in expected.items():
        if name not in found:
            raise Damaged(f"the tensor {name} is missing")
        if found[name] != shape:
            raise Damaged(f"{name} has the shape {found[name]}, expected {shape}")
    unknown = sorted(found.keys() - expected.keys())
    if unknown:
        raise Damaged(f"it has {unknown[0]}, which this scorer does not know")


def _layer(hparams: HParams, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the names and shapes of one layer's tensors; `width` is that of its feed-forward part."""
    embd, head = hparams.n_embd, hparams.head_size
    queries, keys = hparams.heads[0] * head, hparams.kv_heads[0] * head
    yield from {"attn_norm": (embd,), "ffn_norm": (embd,), "attn_q_norm": (head,), "attn_k_norm": (head,)}.items()
    yield from {"attn_q": (embd, queries), "attn_k": (embd, keys), "attn_v": (embd, keys)}.items()
    yield from {"attn_output": (queries, embd), "ffn_gate": (embd, width), "ffn_up": (embd, width)}.items()
    yield "ffn_down", (width, embd)
