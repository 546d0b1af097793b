"""Checks that a file is a target the engine can run, and that its hyperparameters and tensors are consistent.

Each rule corresponds to an assertion in llama.cpp's `load_hparams` or in a model's graph, which would end the process
instead of returning an error. llama.cpp checks most tensors itself, but not all: a `phi3` file without `attn_qkv` ends
in a SIGSEGV. Optional tensors (biases, a fused `attn_qkv`, rope factors) are left to llama.cpp, which compares their
shapes. The layouts follow llama.cpp's `src/models`; Laguna's is in `laguna`. Files of architectures without a layout
are left to a child process (`llama.trial`): only what the app itself reads of them is checked here.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from laguna_engine.gguf import laguna, vocabulary
from laguna_engine.gguf.hparams import HParams
from laguna_engine.gguf.reader import Damaged, Unsuitable, Value
from laguna_engine.gguf.tensors import NOT_WEIGHTS, Shape, TensorInfo, check_shape

DRAFTERS = frozenset("dflash eagle3 dspark dflash-draft qwen35-dflash-draft".split())
"""Architectures of drafters."""

ENCODERS = frozenset(
    """bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert gemma-embedding t5encoder
    llama-embed clip wavtokenizer-dec""".split()
)
"""Architectures that embed text, see pictures or speak."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The tensor layout of an architecture.

    Attributes:
        square: queries are as wide as the hidden state, whatever the head size.
        norms: norms of each layer, all as wide as the hidden state.
        head_norms: norm of queries and keys: per "head", over "all" heads together, or none ("").
        gate: gate of the feed-forward part: its "own" matrix, "fused" with `ffn_up`, or none ("").
        biases: biases of the layers and of the last norm are required.
        own_output: the output matrix is required.
        experts: "always", "never", or if the file has an `expert_count` ("some").
        shared: there is a shared expert if the file gives its width.
        rotated: llama.cpp asserts that RoPE rotates whole heads.
    """

    square: bool = False
    norms: tuple[str, ...] = ("attn_norm", "ffn_norm")
    head_norms: str = ""
    gate: str = "own"
    biases: bool = False
    own_output: bool = False
    experts: str = "never"
    shared: bool = False
    rotated: bool = True


_POST_NORMS = ("post_attention_norm", "post_ffw_norm")
_FOUR_NORMS = ("attn_norm", "ffn_norm", *_POST_NORMS)

LAYOUTS: Mapping[str, Layout] = {
    "llama": Layout(experts="some"),
    "qwen2": Layout(square=True),
    "qwen2moe": Layout(square=True, own_output=True, experts="always", shared=True),
    "qwen3": Layout(head_norms="head"),
    "qwen3moe": Layout(head_norms="head", experts="always"),
    "gemma2": Layout(norms=_FOUR_NORMS, rotated=False),
    "gemma3": Layout(norms=_FOUR_NORMS, head_norms="head", rotated=False),
    "phi3": Layout(square=True, gate="fused", rotated=False),
    "granite": Layout(experts="some", shared=True),
    "granitemoe": Layout(experts="some", shared=True),
    "smollm3": Layout(),
    "starcoder2": Layout(square=True, gate="", biases=True),
    "olmo2": Layout(square=True, norms=_POST_NORMS, head_norms="all", own_output=True),
    "glm4": Layout(norms=_FOUR_NORMS, gate="fused", rotated=False),
}


def check(name: str, metadata: Mapping[str, Value], tensors: Sequence[TensorInfo]) -> None:
    """Raise Unsuitable if this is not a target, Damaged if its header is inconsistent."""
    _check_role(metadata, name)
    if not tensors:
        raise Unsuitable("has a vocabulary and no weights; choose the model's own file")
    hparams = hparams_of(name, metadata)
    if is_known(name):
        hparams.check()
    else:
        hparams.check_rotation()
    hparams.check_window()
    for tensor in tensors:
        if tensor.format in NOT_WEIGHTS or (len(tensor.shape) == 1 and tensor.format != "f32"):
            raise Damaged(f"{tensor.name} is stored as {tensor.format}, which cannot be computed with")
    shapes = {tensor.name: tensor.shape for tensor in tensors}
    size = vocabulary.check(metadata)
    _check_embedding(hparams, shapes, size)
    if name == laguna.ARCHITECTURE:
        if metadata.get("tokenizer.ggml.model") == vocabulary.SENTENCEPIECE:
            raise Damaged("its tokenizer is not Laguna's")
        laguna.check(hparams, shapes, size)
        return
    if name not in LAYOUTS:
        return
    _check_heads(LAYOUTS[name], hparams)
    for required_name, expected in required(name, hparams, shapes, size):
        check_shape(required_name, shapes.get(required_name), expected)


def is_known(name: str) -> bool:
    """Return whether the tables here say what a file of architecture `name` must have."""
    return name == laguna.ARCHITECTURE or name in LAYOUTS


def hparams_of(name: str, metadata: Mapping[str, Value]) -> HParams:
    """Return the hyperparameters; layers of unknown architectures may do without attention."""
    return HParams(name, metadata, fewest_heads=1 if is_known(name) else 0)


def _check_role(metadata: Mapping[str, Value], name: str) -> None:
    if name in DRAFTERS:
        raise Unsuitable("is a drafter, which only speeds up another model; choose its target model instead")
    if metadata.get("general.type", "model") != "model":
        raise Unsuitable(f"holds {metadata['general.type']!r} instead of a model; choose the model it belongs to")
    if name in ENCODERS:
        raise Unsuitable(f"has the architecture {name!r}, which writes no text; choose a model that does")
    if metadata.get(f"{name}.attention.causal") not in (None, True) or metadata.get(f"{name}.pooling_type", 0):
        raise Unsuitable("is set up to embed text, not to generate it; choose a model that writes text")


def _check_embedding(hparams: HParams, shapes: Mapping[str, tuple[int, ...]], tokens: int) -> None:
    expected = (hparams.n_embd, tokens)
    found = shapes.get("token_embd.weight")
    if found != expected:
        raise Damaged(f"token_embd.weight has the shape {found}, its vocabulary and hidden size need {expected}")
    declared = hparams.optional("vocab_size", tokens)
    if declared != tokens:
        raise Damaged(f"it declares {declared} tokens and lists {tokens}")


def _check_heads(layout: Layout, hparams: HParams) -> None:
    head = hparams.head_size
    sizes = {
        hparams.value_size,
        *(hparams.optional(f"attention.{key}_swa", head) for key in ("key_length", "value_length")),
    }
    if sizes != {head}:
        raise Damaged(f"its keys of {head} and values of {hparams.value_size} differ in size")
    if layout.rotated and hparams.optional("rope.dimension_count", head) != head:
        raise Damaged(f"it rotates {hparams.optional('rope.dimension_count', head)} numbers of heads of {head}")
    if layout.square and {heads * head for heads in hparams.heads} != {hparams.n_embd}:
        raise Damaged(f"its heads of {head} do not add up to its hidden size of {hparams.n_embd}")
    if (layout.experts == "always") > (hparams.experts > 0):
        raise Damaged("it has expert layers but no experts")


def required(name: str, hparams: HParams, found: Collection[str], tokens: int) -> Iterator[tuple[str, Shape]]:
    """Yield names and shapes of the tensors that architecture `name` requires; `found` are the names in the file."""
    layout, embd = LAYOUTS[name], hparams.n_embd
    yield "output_norm.weight", (embd,)
    if layout.biases:
        yield "output_norm.bias", (embd,)
    if layout.own_output or "output.weight" in found:
        yield "output.weight", (embd, tokens)
    for layer in range(hparams.n_layer - hparams.optional("nextn_predict_layers", 0)):
        prefix = f"blk.{layer}."
        for norm in layout.norms:
            yield f"{prefix}{norm}.weight", (embd,)
        fused = f"{prefix}attn_qkv.weight" in found
        parts = [*_attention(layout, hparams, layer, fused=fused), *_feed_forward(layout, hparams, layer)]
        yield from ((prefix + name, shape) for name, shape in parts)


def _attention(layout: Layout, hparams: HParams, layer: int, *, fused: bool) -> Iterator[tuple[str, Shape]]:
    yield from hparams.attention_shapes(layer, fused=fused)
    if layout.biases:
        for name in ("attn_norm.bias", "attn_output.bias", "ffn_norm.bias"):
            yield name, (hparams.n_embd,)
    if layout.head_norms:
        queries, keys = (hparams.heads[layer], hparams.kv_heads[layer]) if layout.head_norms == "all" else (1, 1)
        yield "attn_q_norm.weight", (queries * hparams.head_size,)
        yield "attn_k_norm.weight", (keys * hparams.head_size,)


def _feed_forward(layout: Layout, hparams: HParams, layer: int) -> Iterator[tuple[str, Shape]]:
    if layout.experts != "never" and hparams.experts:
        yield from _experts(layout, hparams, layer)
        return
    embd, width = hparams.n_embd, hparams.per_layer("feed_forward_length", 1)[layer]
    if layout.gate == "own":
        yield "ffn_gate.weight", (embd, width)
    yield "ffn_up.weight", (embd, width * (2 if layout.gate == "fused" else 1))
    yield "ffn_down.weight", (width, embd)
    if layout.biases:
        yield from {"ffn_up.bias": (width,), "ffn_down.bias": (embd,)}.items()


def _experts(layout: Layout, hparams: HParams, layer: int) -> Iterator[tuple[str, Shape]]:
    embd, count = hparams.n_embd, hparams.experts
    dense = hparams.per_layer("feed_forward_length", 0, (0,) * hparams.n_layer)[layer]
    width = dense
    if layout.experts == "always":
        own = hparams.per_layer("expert_feed_forward_length", 0, (0,) * hparams.n_layer)[0]
        width = own or dense // max(1, hparams.experts_used[layer])
    yield "ffn_gate_inp.weight", (embd, count)
    yield "ffn_gate_exps.weight", (embd, width, count)
    yield "ffn_up_exps.weight", (embd, width, count)
    yield "ffn_down_exps.weight", (width, embd, count)
    shared = hparams.optional("expert_shared_feed_forward_length", 0)
    if layout.square:
        yield "ffn_gate_inp_shexp.weight", (embd,)
        shared = shared or dense
    if shared and layout.shared:
        yield "ffn_gate_shexp.weight", (embd, shared)
        yield "ffn_up_shexp.weight", (embd, shared)
        yield "ffn_down_shexp.weight", (shared, embd)
