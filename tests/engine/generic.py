"""Makes tiny files of the other architectures: random weights, one of two kinds of tokenizer.

The tensors come from the engine's own table, so that llama.cpp opening a file verifies the table:
it refuses a file with one tensor less, or one more.
"""

import numpy as np

from laguna_engine.gguf import target_check
from laguna_engine.gguf.hparams import HParams
from tests.engine import tiny

BPE, SENTENCEPIECE = "gpt2", "llama"
EMBD, HEAD, HEADS, KV_HEADS, FF, LAYERS, N_CTX, VOCABULARY = 64, 16, 4, 2, 96, 2, 512, 512
EXPERTS, EXPERTS_USED, EXPERT_FF = 4, 2, 32

_WINDOWS = ("gemma2", "gemma3", "olmo2")
_GRANITES = ("granite", "granitemoe")


def model(architecture: str, tokenizer: str = BPE, *, experts: bool | None = None, seed: int = 1) -> tiny.GgufFile:
    """A complete file; `experts` chooses for architectures whose files may or may not have experts."""
    layout = target_check.LAYOUTS[architecture]
    with_experts = layout.experts == "always" if experts is None else experts
    file = describe(architecture, experts=with_experts)
    add_tokenizer(file, tokenizer)
    metadata = {key: tuple(value) if isinstance(value, list) else value for key, (_, value) in file.metadata.items()}
    dimensions = HParams(architecture, metadata)
    names = [f"blk.{layer}.attn_qkv.weight" for layer in range(LAYERS)] if architecture == "phi3" else []
    random = np.random.default_rng(seed)
    _add(file, random, "token_embd.weight", (EMBD, VOCABULARY))
    for name, shape in target_check.required(architecture, dimensions, names, VOCABULARY):
        _add(file, random, name, shape)
    return file


def common_keys(layers: int, n_ctx: int) -> dict[str, object]:
    """The keys that all architectures have, without their prefix."""
    return {
        "vocab_size": VOCABULARY,
        "context_length": n_ctx,
        "embedding_length": EMBD,
        "block_count": layers,
        "feed_forward_length": FF,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 10000.0,
        "rope.dimension_count": HEAD,
    }


def describe(architecture: str, *, experts: bool) -> tiny.GgufFile:
    """Metadata without a tokenizer."""
    file = tiny.GgufFile().set("general.architecture", architecture).set("general.name", "tiny")
    values = {**common_keys(LAYERS, N_CTX), "attention.layer_norm_epsilon": 1e-5}
    if architecture in _WINDOWS:
        values["attention.sliding_window"] = 64
    if architecture in _GRANITES:
        values["logit_scale"] = 8.0
    if experts:
        values |= {"expert_count": EXPERTS, "expert_used_count": EXPERTS_USED}
    if target_check.LAYOUTS[architecture].experts == "always":
        values["expert_feed_forward_length"] = EXPERT_FF
    for key, value in values.items():
        file.set(f"{architecture}.{key}", value)
    return file


def add_tokenizer(file: tiny.GgufFile, tokenizer: str) -> None:
    """Adds a vocabulary of either kind."""
    if tokenizer == BPE:
        tiny.add_tokenizer(file, VOCABULARY)
        file.set("tokenizer.ggml.pre", "gpt-2")
        return
    bytelike = [f"<0x{byte:02X}>" for byte in range(256)]
    words = ["\u2581", *"etaoinshrdlu", "\u2581a", "\u2581th", "he", "\u2581the"]
    texts = ["<unk>", "<s>", "</s>", *bytelike, *words]
    kinds = [tiny.UNKNOWN, tiny.CONTROL, tiny.CONTROL, *[6] * 256, *[tiny.NORMAL] * len(words)]
    spare = VOCABULARY - len(texts)
    file.set("tokenizer.ggml.model", tokenizer)
    file.set("tokenizer.ggml.tokens", [*texts, *(f"[UNUSED_{index}]" for index in range(spare))])
    file.set("tokenizer.ggml.token_type", [*kinds, *[tiny.UNUSED] * spare])
    file.set("tokenizer.ggml.scores", [0.0] * 259 + [-float(index) for index in range(len(words) + spare)])
    for name, token in (("unknown", 0), ("bos", 1), ("eos", 2)):
        file.set(f"tokenizer.ggml.{name}_token_id", token)


def _add(file: tiny.GgufFile, random: np.random.Generator, name: str, shape: tuple[int, ...]) -> None:
    values = random.standard_normal(shape[::-1])
    if len(shape) == 1:
        file.tensors[name] = (1 + 0.1 * values).astype(np.float32)
    elif "gate_inp" in name:
        file.tensors[name] = values.astype(np.float32)
    else:
        file.tensors[name] = (values / np.sqrt(shape[0])).astype(np.float16)
