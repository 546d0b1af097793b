"""Makes tiny files of other families, with random weights: hybrid memory, sliding windows, experts.

Unlike `generic`, their tensors are not in the engine's tables: llama.cpp is asked about them, in a child process. The
tensors are those of `src/models` of the pinned llama.cpp, which refuses a file with one more or one less.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tests.engine import tiny
from tests.engine.generic import EXPERT_FF, EXPERTS, EXPERTS_USED, FF, VOCABULARY, common_keys

LAYERS, N_CTX, WINDOW = 4, 2048, 32
EMBD, HEADS, KV_HEADS, HEAD = 128, 2, 1, 64
"""Heads as wide as llama.cpp wants them to be to rotate quantized keys and values."""

CONV, INNER, STATE, GROUPS, SSM_HEADS = 4, 2 * EMBD, 16, 2, 8

Part = tuple[str, tuple[int, ...]]
"""A tensor's name and ggml shape."""

_KEYS = {
    **common_keys(LAYERS, N_CTX),
    "embedding_length": EMBD,
    "attention.head_count": HEADS,
    "attention.head_count_kv": KV_HEADS,
    "attention.key_length": HEAD,
    "attention.value_length": HEAD,
    "rope.dimension_count": HEAD,
}
_EXPERT_KEYS = {
    "expert_count": EXPERTS,
    "expert_used_count": EXPERTS_USED,
    "expert_feed_forward_length": EXPERT_FF,
}
_MAMBA_KEYS = {
    "ssm.conv_kernel": CONV,
    "ssm.inner_size": INNER,
    "ssm.state_size": STATE,
    "ssm.group_count": GROUPS,
    "ssm.time_step_rank": SSM_HEADS,
}
_ATTENDS = (False, True, False, True)
"""Which layers of a hybrid model attend to keys and values; the others have a state."""

_KV_BY_LAYER = [KV_HEADS if attends else 0 for attends in _ATTENDS]


def _dense(prefix: str = "ffn_") -> Iterator[Part]:
    yield f"{prefix}gate.weight", (EMBD, FF)
    yield f"{prefix}up.weight", (EMBD, FF)
    yield f"{prefix}down.weight", (FF, EMBD)


def _experts() -> Iterator[Part]:
    yield "ffn_gate_inp.weight", (EMBD, EXPERTS)
    yield "ffn_gate_exps.weight", (EMBD, EXPERT_FF, EXPERTS)
    yield "ffn_up_exps.weight", (EMBD, EXPERT_FF, EXPERTS)
    yield "ffn_down_exps.weight", (EXPERT_FF, EMBD, EXPERTS)


def _attention(*, queries: int = HEADS * HEAD, normed: bool = False) -> Iterator[Part]:
    yield "attn_q.weight", (EMBD, queries)
    yield "attn_k.weight", (EMBD, KV_HEADS * HEAD)
    yield "attn_v.weight", (EMBD, KV_HEADS * HEAD)
    yield "attn_output.weight", (HEADS * HEAD, EMBD)
    if normed:
        yield "attn_q_norm.weight", (HEAD,)
        yield "attn_k_norm.weight", (HEAD,)


def _norms(*names: str) -> Iterator[Part]:
    yield from ((f"{name}.weight", (EMBD,)) for name in names)


def _lfm2(layer: int) -> Iterator[Part]:
    yield from _norms("attn_norm", "ffn_norm")
    yield from _dense()
    yield from _lfm2_mixer(layer)


def _lfm2_mixer(layer: int) -> Iterator[Part]:
    if _ATTENDS[layer]:
        yield from _attention(normed=True)
        return
    yield "shortconv.conv.weight", (3, EMBD)
    yield "shortconv.in_proj.weight", (EMBD, 3 * EMBD)
    yield "shortconv.out_proj.weight", (EMBD, EMBD)


def _lfm2moe(layer: int) -> Iterator[Part]:
    yield from _norms("attn_norm", "ffn_norm")
    yield from _lfm2_mixer(layer)
    if layer == 0:
        yield from _dense()
        return
    yield from _experts()
    yield "exp_probs_b.bias", (EXPERTS,)


def _qwen35(layer: int) -> Iterator[Part]:
    yield from _norms("attn_norm", "post_attention_norm")
    yield from _dense()
    if _ATTENDS[layer]:
        # Each query head has a gate beside it.
        yield from _attention(queries=2 * HEADS * HEAD, normed=True)
        return
    keys, values = STATE * GROUPS, STATE * SSM_HEADS
    yield "attn_qkv.weight", (EMBD, 2 * keys + values)
    yield "attn_gate.weight", (EMBD, values)
    yield "ssm_conv1d.weight", (CONV, 2 * keys + values)
    yield "ssm_dt.bias", (SSM_HEADS,)
    yield "ssm_a", (SSM_HEADS,)
    yield "ssm_beta.weight", (EMBD, SSM_HEADS)
    yield "ssm_alpha.weight", (EMBD, SSM_HEADS)
    yield "ssm_norm.weight", (STATE,)
    yield "ssm_out.weight", (values, EMBD)


def _granitehybrid(layer: int) -> Iterator[Part]:
    yield from _norms("attn_norm", "ffn_norm")
    yield from _dense()
    if _ATTENDS[layer]:
        yield from _attention()
        return
    convolved = INNER + 2 * GROUPS * STATE
    yield "ssm_in.weight", (EMBD, INNER + convolved + SSM_HEADS)
    yield "ssm_conv1d.weight", (CONV, convolved)
    yield "ssm_conv1d.bias", (convolved,)
    yield "ssm_dt.bias", (SSM_HEADS,)
    yield "ssm_a", (1, SSM_HEADS)
    yield "ssm_d", (1, SSM_HEADS)
    yield "ssm_norm.weight", (INNER // GROUPS, GROUPS)
    yield "ssm_out.weight", (INNER, EMBD)


def _gemma(_layer: int) -> Iterator[Part]:
    yield from _norms("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    yield from _attention(normed=True)
    yield from _dense()


def _gpt_oss(_layer: int) -> Iterator[Part]:
    yield from _norms("attn_norm", "post_attention_norm")
    yield from _attention()
    yield "attn_output.bias", (EMBD,)
    yield "attn_sinks.weight", (HEADS,)
    yield from _experts()
    yield "ffn_gate_inp.bias", (EXPERTS,)
    yield "ffn_gate_exps.bias", (EXPERT_FF, EXPERTS)
    yield "ffn_up_exps.bias", (EXPERT_FF, EXPERTS)
    yield "ffn_down_exps.bias", (EMBD, EXPERTS)


def _mistral3(_layer: int) -> Iterator[Part]:
    yield from _norms("attn_norm", "ffn_norm")
    yield from _attention()
    yield from _dense()


_Layer = Callable[[int], Iterator[Part]]
_LFM2_KEYS = {"attention.head_count_kv": _KV_BY_LAYER, "shortconv.l_cache": 3}
_FAMILIES: Mapping[str, tuple[_Layer, Mapping[str, object]]] = {
    "lfm2": (_lfm2, _LFM2_KEYS),
    "lfm2moe": (
        _lfm2moe,
        {**_LFM2_KEYS, **_EXPERT_KEYS, "leading_dense_block_count": 1, "expert_gating_func": 2},
    ),
    "qwen35": (
        _qwen35,
        {
            **_MAMBA_KEYS,
            "ssm.inner_size": STATE * SSM_HEADS,
            "full_attention_interval": 2,
            "rope.dimension_sections": [8, 12, 12, 0],
        },
    ),
    "granitehybrid": (
        _granitehybrid,
        {**_MAMBA_KEYS, "attention.head_count_kv": _KV_BY_LAYER, "logit_scale": 4.0},
    ),
    "gemma3": (_gemma, {"attention.sliding_window": WINDOW, "attention.sliding_window_pattern": 2}),
    "gemma4": (
        _gemma,
        {
            "attention.sliding_window": WINDOW,
            "attention.sliding_window_pattern": [not attends for attends in _ATTENDS],
            "attention.key_length_swa": HEAD,
            "attention.value_length_swa": HEAD,
            "attention.shared_kv_layers": 0,
            "embedding_length_per_layer_input": 0,
            "rope.freq_base_swa": 1000.0,
            "rope.dimension_count_swa": HEAD,
        },
    ),
    "gpt-oss": (_gpt_oss, {**_EXPERT_KEYS, "attention.sliding_window": WINDOW}),
    "mistral3": (_mistral3, {}),
}

NAMES = tuple(_FAMILIES)
ROLLS_BACK = ("lfm2", "lfm2moe", "qwen35")
"""Hybrid ones whose state llama.cpp can roll back."""

CANNOT = ("granitehybrid",)
"""Hybrid ones whose state it cannot."""

SLIDING = ("gemma3", "gemma4", "gpt-oss")


def model(name: str, *, seed: int = 1) -> tiny.GgufFile:
    """Return a complete file."""
    layer_parts, keys = _FAMILIES[name]
    file = tiny.GgufFile().set("general.architecture", name).set("general.name", f"tiny-{name}-random")
    for key, value in {**_KEYS, **keys}.items():
        file.set(f"{name}.{key}", value)
    tiny.add_tokenizer(file, VOCABULARY)
    if name == "gemma4":
        file.set("tokenizer.ggml.model", "gemma4")
        file.set("tokenizer.ggml.scores", [-float(index) for index in range(VOCABULARY)])
    else:
        file.set("tokenizer.ggml.pre", "gpt-2")
    random = np.random.default_rng(seed)
    _add(file, random, "token_embd.weight", (EMBD, VOCABULARY))
    _add(file, random, "output.weight", (EMBD, VOCABULARY))
    _add(file, random, "token_embd_norm.weight" if name.startswith("lfm2") else "output_norm.weight", (EMBD,))
    if name == "gemma4":
        _add(file, random, "rope_freqs.weight", (HEAD // 2,))
    for layer in range(LAYERS):
        for part, shape in layer_parts(layer):
            _add(file, random, f"blk.{layer}.{part}", shape)
    return file


def _add(file: tiny.GgufFile, random: np.random.Generator, name: str, shape: tuple[int, ...]) -> None:
    values = random.standard_normal(shape[::-1])
    match name.rpartition(".blk.")[2].split(".", 2)[-1] if name.startswith("blk.") else name:
        case "ssm_a":
            # Negative: the state fades.
            file.tensors[name] = -np.exp(0.3 * values).astype(np.float32)
        case "ssm_d" | "ssm_norm.weight" | "attn_sinks.weight":
            file.tensors[name] = (1 + 0.1 * values).astype(np.float32)
        case "ssm_conv1d.weight" | "shortconv.conv.weight" | "ffn_gate_inp.weight":
            file.tensors[name] = values.astype(np.float32)
        case "ssm_beta.weight" | "ssm_alpha.weight":
            file.tensors[name] = (values / np.sqrt(shape[0])).astype(np.float32)
        case part if part.endswith("bias"):
            file.tensors[name] = (0.1 * values).astype(np.float32)
        case _ if len(shape) == 1:
            file.tensors[name] = (1 + 0.1 * values).astype(np.float32)
        case "output.weight":
            file.tensors[name] = (3 * values / np.sqrt(shape[0])).astype(np.float16)
        case "token_embd.weight":
            file.tensors[name] = values.astype(np.float16)
        case _:
            file.tensors[name] = (2 * values / np.sqrt(shape[0])).astype(np.float16)
