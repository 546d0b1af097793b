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
    epsilon: float
    rope_base: float
    head: str


def describe(file: Header) -> ScorerFile:
    """Describe a header that passed `gguf.header.check`; ModelFileError if it is not a scorer."""
    if file.architecture != ARCHITECTURE:
        raise ModelFileError(f"{file.path}: is a model of the kind {file.architecture!r}, not a scorer; {_ANOTHER}")
    dimensions = HParams(file.architecture, file.metadata)
    scaling = file.metadata.get(f"{ARCHITECTURE}.rope.scaling.type")
    if scaling not in (None, "none"):
        raise ModelFileError(f"{file.path}: it scales its positions ({scaling}); choose the file without that")
    try:
        return _described(file, dimensions)
    except Damaged as error:
        raise ModelFileError(f"{file.path}: {error}; download it again, or {_ANOTHER}") from error


def _described(file: Header, dimensions: HParams) -> ScorerFile:
    if len(set(dimensions.heads)) > 1 or len(set(dimensions.kv_heads)) > 1:
        raise Damaged("its layers have different numbers of heads")
    head_size = dimensions.head_size
    rotated = dimensions.optional("rope.dimension_count", head_size)
    if dimensions.value_size != head_size or rotated != head_size:
        raise Damaged(f"its heads have {head_size} numbers, {dimensions.value_size} in values, {rotated} are rotated")
    base = dimensions.number("rope.freq_base")
    epsilon = dimensions.number("attention.layer_norm_rms_epsilon")
    if base == 0 or epsilon is None:
        raise Damaged("it lacks the base of its positions or the epsilon of its norms")
    if dimensions.n_ctx < SMALLEST_WINDOW:
        raise Damaged(f"it was made for texts of {dimensions.n_ctx} tokens")
    _check_tensors(file, dimensions)
    shapes = {info.name: info.shape for info in file.tensors}
    return ScorerFile(
        file=file,
        n_layer=dimensions.n_layer,
        n_embd=dimensions.n_embd,
        n_vocab=shapes[EMBEDDINGS][1],
        n_ctx=dimensions.n_ctx,
        heads=dimensions.heads[0],
        kv_heads=dimensions.kv_heads[0],
        head_size=head_size,
        epsilon=epsilon,
        rope_base=base or _DEFAULT_BASE,
        head=HEAD if HEAD in shapes else EMBEDDINGS,
    )


def _check_tensors(file: Header, dimensions: HParams) -> None:
    found = {info.name: info.shape for info in file.tensors}
    tokens = found[EMBEDDINGS][1]
    expected = {EMBEDDINGS: (dimensions.n_embd, tokens), LAST_NORM: (dimensions.n_embd,)}
    if HEAD in found:
        expected[HEAD] = (dimensions.n_embd, tokens)
    for layer, width in enumerate(dimensions.per_layer("feed_forward_length", 1)):
        expected |= {f"blk.{layer}.{name}.weight": shape for name, shape in _layer(dimensions, width)}
    for name, shape in expected.items():
        if name not in found:
            raise Damaged(f"the tensor {name} is missing")
        if found[name] != shape:
            raise Damaged(f"{name} has the shape {found[name]}, expected {shape}")
    unknown = sorted(found.keys() - expected.keys())
    if unknown:
        raise Damaged(f"it has {unknown[0]}, which this scorer does not know")


def _layer(dimensions: HParams, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of one layer's tensors; `width` is that of its feed-forward part."""
    embd, head = dimensions.n_embd, dimensions.head_size
    queries, keys = dimensions.heads[0] * head, dimensions.kv_heads[0] * head
    yield from {"attn_norm": (embd,), "ffn_norm": (embd,), "attn_q_norm": (head,), "attn_k_norm": (head,)}.items()
    yield from {"attn_q": (embd, queries), "attn_k": (embd, keys), "attn_v": (embd, keys)}.items()
    yield from {"attn_output": (queries, embd), "ffn_gate": (embd, width), "ffn_up": (embd, width)}.items()
    yield "ffn_down", (width, embd)
