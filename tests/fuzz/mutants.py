"""Model files with something wrong in them: whole tiny files of every kind, each changed at random in a few places.

Changes know what they change (a key, its type, a table entry, a token), so that most mutants get past the first checks;
some are made to the bytes. Everything follows from the number of the mutant.
"""

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))

from laguna_engine.chat.chat_template import CHATML
from laguna_engine.gguf.target_check import LAYOUTS
from tests.engine import drafters, families, generic, scorers, tiny
from tests.engine.chat.test_hostile_templates import ENDLESS, REFUSED

TARGET, DRAFTER, ADAPTER, SCORER = "target", "drafter", "adapter", "scorer"

FAMILY = "family"
"""What the names begin with of architectures that the engine has no table of."""

_WHOLE = (tiny.I32, tiny.U32, 10, 11, 0, 1, 2, 3)
"""Value types of whole numbers: int32, uint32, uint64, int64, and the narrow ones."""

_NUMBERS = (
    0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 511, 512, 513, 1023, 1024, 4096,
    65_535, 65_536, 1 << 20, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 32) + 5, (1 << 63) - 1,
    -1, -2, -32, -(1 << 31),
)  # fmt: skip
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e-30, 1e30, 3e38, float("inf"), float("-inf"), float("nan"))
_TEXTS = ("", " ", "a", "yarn", "linear", "longrope", "gpt2", "llama", "gpt-2", "default", "\u0120", "x" * 300)
_RANGES = {"b": 8, "h": 16, "i": 32, "q": 64, "B": 8, "H": 16, "I": 32, "Q": 64}


@dataclass(frozen=True)
class Kind:
    """What is mutated, and how the app opens it (`TARGET`, `DRAFTER`, `ADAPTER` or `SCORER`)."""

    name: str
    role: str
    make: Callable[[], tiny.GgufFile]


def _quantized() -> tiny.GgufFile:
    """A Laguna with matrices in blocks."""
    from laguna_engine.ggml.gguf_writer import quantized
    from laguna_engine.ggml.tensor import Type

    file = tiny.laguna(tiny.Shape(n_ff=128))
    for name, array in file.tensors.items():
        if array.ndim == 2 and array.dtype == np.float16:
            data = quantized(array.astype(np.float32).ravel(), array.shape[1], Type.Q8_0)
            file.tensors[name] = tiny.Quantized(Type.Q8_0, array.shape, data)
    return file


def _tokenizers(architecture: str) -> list[Kind]:
    return [
        Kind(f"{architecture}/{kind}", TARGET, lambda kind=kind: generic.model(architecture, kind))
        for kind in (generic.BPE, generic.SENTENCEPIECE)
    ]


KINDS = (
    # As many of Laguna's as of five others: no child opens them first.
    *[Kind("laguna", TARGET, tiny.laguna)] * 6,
    *[Kind("laguna/q8_0", TARGET, _quantized)] * 2,
    *(kind for architecture in sorted(LAYOUTS) for kind in _tokenizers(architecture)),
    *(Kind(f"{FAMILY} {name}", TARGET, partial(families.model, name)) for name in families.NAMES),
    Kind("llama/experts", TARGET, lambda: generic.model("llama", experts=True)),
    Kind("granite/experts", TARGET, lambda: generic.model("granite", experts=True)),
    Kind("dflash", DRAFTER, lambda: drafters.make(drafters.Variant(window=64, causal=True))),
    Kind("dflash/laguna", DRAFTER, lambda: drafters.make(drafters.Variant(gate=True, tap_norm=True, window=48))),
    Kind("dspark", DRAFTER, lambda: drafters.make(drafters.Variant(rank=16, confidence="both", reduced=300))),
    Kind("lora", ADAPTER, lambda: drafters.adapter(drafters.Variant(), "blk.0.attn_k.weight", "blk.1.ffn_down.weight")),
    *[Kind("scorer", SCORER, lambda: scorers.make(scorers.Variant(n_layer=2)))] * 2,
)
"""The architectures that the app opens, and what goes with them."""


@cache
def _whole(kind: Kind) -> bytes:
    return kind.make().to_bytes()


def kind_of(number: int) -> Kind:
    """What mutant `number` was before."""
    return KINDS[number % len(KINDS)]


def mutant(number: int) -> bytes:
    """The file."""
    kind, random = kind_of(number), Random(number)
    if random.random() < 0.15:
        return _bytes_changed(_whole(kind), random)
    file = kind.make()
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        random.choice(_CHANGES)(file, random)
    data = file.to_bytes()
    return _bytes_changed(data, random) if random.random() < 0.05 else data


def _packed(kind: int, number: int) -> int:
    """`number`, cut to what the type holds."""
    code = tiny._CODES[kind]
    wide = _RANGES[code]
    number &= (1 << wide) - 1
    return number - (1 << wide) if code.islower() and number >> (wide - 1) else number


def _odd(random: Random) -> tuple[int, Any]:
    """A value of any kind."""
    match random.randrange(8):
        case 0:
            return tiny.F32, random.choice(_FLOATS)
        case 1:
            return tiny.STRING, random.choice(_TEXTS)
        case 2:
            return tiny.BOOL, random.random() < 0.5
        case 3:
            length = random.choice((0, 1, 2, 3, 4, 5, 600))
            return tiny.ARRAY, [_packed(tiny.I32, random.choice(_NUMBERS)) for _ in range(length)]
        case 4:
            return tiny.ARRAY, [random.random() < 0.5 for _ in range(random.choice((1, 2, 4, 600)))]
        case _:
            kind = random.choice(_WHOLE)
            return kind, _packed(kind, random.choice(_NUMBERS))


def _change_number(file: tiny.GgufFile, random: Random) -> None:
    """Another number where there was one, mostly of the same type."""
    keys = [key for key, (kind, _) in file.metadata.items() if kind in (*_WHOLE, tiny.F32)]
    if keys:
        key = random.choice(keys)
        kind = file.metadata[key][0]
        number = random.choice(_NUMBERS)
        file.metadata[key] = (kind, random.choice(_FLOATS) if kind == tiny.F32 else _packed(kind, number))


def _change_value(file: tiny.GgufFile, random: Random) -> None:
    file.metadata[random.choice(list(file.metadata))] = _odd(random)


def _add_key(file: tiny.GgufFile, random: Random) -> None:
    """A key that llama.cpp reads from some files."""
    prefix = file.metadata.get("general.architecture", (0, "llama"))[1]
    key = random.choice(_KEYS)
    file.metadata[key if "." in key and key.startswith(("tokenizer", "general", "split")) else f"{prefix}.{key}"] = (
        _odd(random)
    )


_KEYS = """
attention.causal attention.clamp_kqv attention.key_length attention.key_length_swa attention.max_alibi_bias
attention.scale attention.sliding_window attention.sliding_window_pattern attention.value_length
attention.value_length_swa attn_logit_softcapping classifier.output_labels deepstack_mapping embedding_length_out
embedding_scale expert_count expert_feed_forward_length expert_gating_func expert_group_count expert_group_used_count
expert_shared_count expert_shared_feed_forward_length expert_used_count expert_weights_norm expert_weights_scale
feed_forward_length final_logit_softcapping leading_dense_block_count logit_scale nextn_predict_layers pooling_type
residual_scale rope.dimension_count rope.dimension_count_swa rope.dimension_sections rope.freq_base rope.freq_base_swa
rope.scale_linear rope.scaling.alpha rope.scaling.attn_factor rope.scaling.factor rope.scaling.finetuned
rope.scaling.original_context_length rope.scaling.type rope.scaling.yarn_beta_fast rope.scaling.yarn_ext_factor
tensor_data_layout use_parallel_residual vocab_size
attention.recurrent_layers attention.shared_kv_layers embedding_length_per_layer_input full_attention_interval
rope.dimension_sections shortconv.l_cache ssm.conv_kernel ssm.group_count ssm.inner_size ssm.state_size
ssm.time_step_rank
general.alignment general.file_type general.name general.quantization_version general.type split.count split.no
tokenizer.ggml.add_bos_token tokenizer.ggml.add_eos_token tokenizer.ggml.add_sep_token tokenizer.ggml.add_space_prefix
tokenizer.ggml.bos_token_id tokenizer.ggml.eos_token_id tokenizer.ggml.eot_token_id tokenizer.ggml.fim_pre_token_id
tokenizer.ggml.mask_token_id tokenizer.ggml.precompiled_charsmap tokenizer.ggml.pre
tokenizer.ggml.remove_extra_whitespaces tokenizer.ggml.scores tokenizer.ggml.suppress_tokens
tokenizer.ggml.token_type_count tokenizer.ggml.unknown_token_id tokenizer.chat_template
""".split()


def _remove_key(file: tiny.GgufFile, random: Random) -> None:
    file.metadata.pop(random.choice(list(file.metadata)))


def _change_array(file: tiny.GgufFile, random: Random) -> None:
    """One entry of a list, or its length."""
    keys = [key for key, (kind, value) in file.metadata.items() if kind == tiny.ARRAY and value]
    if not keys:
        return
    key = random.choice(keys)
    entries = list(file.metadata[key][1])
    place = random.randrange(len(entries))
    match random.randrange(6):
        case 0:
            entries.pop(place)
        case 1:
            entries.insert(place, entries[random.randrange(len(entries))])
        case 2:
            entries = entries[:place] or entries
        case _:
            entries[place] = _entry(entries[place], random)
    file.metadata[key] = (tiny.ARRAY, entries)


def _entry(entry: Any, random: Random) -> Any:
    match entry:
        case bool():
            return not entry
        case float():
            return random.choice(_FLOATS)
        case int():
            return random.choice((*range(-1, 8), *(_packed(tiny.I32, number) for number in _NUMBERS)))
    texts = ("", " ", "  ", "a b c", "<0x0A>", "<0x", "<unk>", "\u2581", "\n", "\u0120\u0120", "x" * 5000, "\U0001f600")
    return random.choice((*texts, entry[1:], entry + entry, entry + " "))


def _change_tokenizer(file: tiny.GgufFile, random: Random) -> None:
    """Another kind of tokenizer over the same tokens, or another way to split text."""
    kinds = ("gpt2", "llama", "bert", "t5", "rwkv", "plamo2", "gemma4", "none", "no_vocab")
    ways = ("default", "gpt-2", "llama-bpe", "qwen2", "laguna", "deepseek-llm", "gpt-4o", "tekken", "unknown")
    if random.random() < 0.4:
        file.set("tokenizer.ggml.model", random.choice(kinds))
    else:
        file.set("tokenizer.ggml.pre", random.choice(ways))


def _change_architecture(file: tiny.GgufFile, random: Random) -> None:
    """The same file under another architecture's name, its keys along with it or not."""
    before = file.metadata.get("general.architecture", (0, ""))[1]
    after = random.choice(("laguna", *sorted(LAYOUTS), *families.NAMES, "gemma", "mamba", "rwkv7", "dflash", "bert"))
    if random.random() < 0.7 and isinstance(before, str):
        changed = {key.replace(f"{before}.", f"{after}.", 1): entry for key, entry in file.metadata.items()}
        file.metadata.clear()
        file.metadata.update(changed)
    file.set("general.architecture", after)


def _change_template(file: tiny.GgufFile, random: Random) -> None:
    """A chat template: one that works, one that takes too much, one that is wrong, or half of one."""
    template = random.choice([CHATML, *ENDLESS.values(), *REFUSED.values()])
    file.set("tokenizer.chat_template", random.choice((template, CHATML + template, template[: len(template) // 2])))


def _array(file: tiny.GgufFile, name: str) -> np.ndarray | None:
    array = file.tensors[name]
    return array if isinstance(array, np.ndarray) else None


def _remove_tensor(file: tiny.GgufFile, random: Random) -> None:
    file.tensors.pop(random.choice(list(file.tensors)))


def _rename_tensor(file: tiny.GgufFile, random: Random) -> None:
    name = random.choice(list(file.tensors))
    other = random.choice(
        (name.replace("weight", "bias"), name.replace("blk.0", "blk.1"), name.replace("blk.1", "blk.7"),
         name.replace("attn_q.", "attn_qkv."), name + "s", "output.weight", "rope_freqs.weight", "cls.output.weight")
    )  # fmt: skip
    file.tensors[other] = file.tensors.pop(name)


def _reshape_tensor(file: tiny.GgufFile, random: Random) -> None:
    name = random.choice(list(file.tensors))
    array = _array(file, name)
    if array is None:
        return
    shape = list(array.shape)
    place = random.randrange(len(shape))
    match random.randrange(5):
        case 0:
            shape.reverse()
        case 1:
            shape.append(1)
        case 2:
            shape = [1, *shape]
        case 3:
            shape = [int(np.prod(shape))]
        case _:
            shape[place] = max(1, random.choice((shape[place] * 2, shape[place] // 2, shape[place] + 1, 1, 3)))
    file.tensors[name] = np.resize(array, shape[:5])


def _retype_tensor(file: tiny.GgufFile, random: Random) -> None:
    name = random.choice(list(file.tensors))
    array = _array(file, name)
    if array is not None:
        file.tensors[name] = array.astype(random.choice((np.float32, np.float16, np.int32, np.float64)))


def _poison_tensor(file: tiny.GgufFile, random: Random) -> None:
    array = _array(file, random.choice(list(file.tensors)))
    if array is not None and array.dtype.kind == "f":
        array[... if random.random() < 0.5 else (0,) * array.ndim] = random.choice(_FLOATS)
    elif array is not None:
        array.flat[random.randrange(array.size)] = _packed(tiny.I32, random.choice(_NUMBERS))


def _align(file: tiny.GgufFile, random: Random) -> None:
    """An alignment of its own, kept or only claimed."""
    wanted = random.choice((0, 1, 2, 8, 16, 24, 32, 64, 4096, 1 << 20, 1 << 31))
    file.set("general.alignment", wanted)
    if wanted and random.random() < 0.8:
        file.alignment = min(wanted, 1 << 16)


_CHANGES = (
    _change_number, _change_number, _change_number, _change_value, _add_key, _add_key, _remove_key,
    _change_array, _change_array, _change_array, _change_tokenizer, _change_architecture, _change_template,
    _remove_tensor, _rename_tensor, _reshape_tensor, _reshape_tensor, _retype_tensor, _poison_tensor, _align,
)  # fmt: skip


def _bytes_changed(data: bytes, random: Random) -> bytes:
    """A flip, a number written over, or a cut, in the header."""
    changed = bytearray(data)
    # The weights of tiny files take most of their bytes.
    header = min(len(data), 30_000)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(header)
        match random.randrange(8):
            case 0:
                del changed[at : at + random.randrange(1, 16)]
            case 1:
                changed[at:at] = random.randbytes(random.randrange(1, 16))
            case 2:
                changed[at : at + 8] = struct.pack("<Q", random.choice((0, 1, 1 << 31, (1 << 64) - 1)))
            case 3:
                del changed[random.randrange(len(changed)) :]
                header = max(1, min(header, len(changed)))
            case _:
                changed[at] ^= 1 << random.randrange(8)
        if len(changed) < header:
            header = max(1, len(changed))
    return bytes(changed)
