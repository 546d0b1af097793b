"""Makes tiny model files: the real `laguna` architecture and tokenizer, random weights, half a megabyte.

A `GgufFile` is a GGUF held in Python, so that a test can break exactly one thing before it is written. Everything is
derived from a seed: two runs write the same bytes.
"""

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

U16, U32, I32, F32, BOOL, STRING, ARRAY = 2, 4, 5, 6, 7, 8, 9
"""GGUF value types."""

_CODES = {0: "B", 1: "b", U16: "H", 3: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", 10: "Q", 11: "q", 12: "d"}
_TENSOR_TYPES = {
    np.dtype(np.float32): 0,
    np.dtype(np.float16): 1,
    np.dtype(np.int32): 26,
    np.dtype(np.int64): 27,
    np.dtype(np.float64): 28,
}

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
"""Token types."""

EOS, MASK, THINK, END_THINK, ASSISTANT, END_ASSISTANT, TOOL_CALL, END_TOOL_CALL = 2, 12, 18, 19, 23, 24, 25, 26
"""Ids of these tokens in the released Laguna models; the tiny ones use the same."""

_PLACED = {
    0: "〈|UNK|〉",
    1: "〈|PAD|〉",
    EOS: "〈|EOS|〉",
    MASK: "〈|MASK|〉",
    THINK: "<think>",
    END_THINK: "</think>",
    ASSISTANT: "<assistant>",
    END_ASSISTANT: "</assistant>",
    TOOL_CALL: "<tool_call>",
    END_TOOL_CALL: "</tool_call>",
}
_SPECIAL_COUNT = 27
_CORPUS = """the quick brown fox jumps over the lazy dog. def add(a, b):\n    return a + b\n
class Stack(object):\n    def __init__(self, value):\n        self.value = value\nimport os\nimport sys
for i in range(10):\n    print(i)\n if x is None: return True else False
<user>\nwhere is the function that computes the factorial of a number?\n</user>\n<system>\nyou are a helpful assistant
what is the answer that we have been looking for all along in this text and in the next one"""
_MERGES = 160


@dataclass(frozen=True)
class Shape:
    """The model's dimensions; the defaults keep every branch of the architecture at a few hundred kilobytes."""

    n_layer: int = 4
    n_embd: int = 64
    head: int = 32
    full_heads: int = 2
    sliding_heads: int = 4
    kv_heads: int = 2
    n_ff: int = 96
    experts: int = 4
    experts_used: int = 2
    expert_ff: int = 32
    window: int = 64
    n_ctx: int = 2048
    n_vocab: int = 512
    dense: int = 1
    """First layers without experts."""

    def heads(self, layer: int) -> int:
        return self.sliding_heads if layer % 4 else self.full_heads


XS = Shape(
    n_layer=40, n_embd=2048, head=128, full_heads=48, sliding_heads=64, kv_heads=8, n_ff=8192,
    experts=256, experts_used=8, expert_ff=512, window=512, n_ctx=262_144, n_vocab=100_352,
)  # fmt: skip
"""Laguna XS, for headers without weights and for machines with enough memory."""


@dataclass(frozen=True)
class Quantized:
    """A tensor in one of ggml's block formats, used in place of an array."""

    dtype: int
    shape: tuple[int, ...]
    data: bytes

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return len(self.data)

    def tobytes(self) -> bytes:
        return self.data


@dataclass
class GgufFile:
    """Metadata as (type, value), tensors as numpy arrays (row-major, so shapes are the reverse of ggml's)."""

    metadata: dict[str, tuple[int, Any]] = field(default_factory=dict)
    tensors: dict[str, Any] = field(default_factory=dict)
    version: int = 3
    alignment: int = 32

    def set(self, key: str, value: Any, kind: int | None = None) -> "GgufFile":
        """Set a metadata value; its GGUF type follows from the Python type if `kind` is not given."""
        self.metadata[key] = (_kind_of(value) if kind is None else kind, value)
        return self

    def remove(self, *names: str) -> "GgufFile":
        """Drop metadata keys or tensors."""
        for name in names:
            (self.metadata if name in self.metadata else self.tensors).pop(name)
        return self

    def header(self) -> bytes:
        """The header up to the tensors' data, padded."""
        head = b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), len(self.metadata))
        keys = b"".join(_string(k) + struct.pack("<I", t) + _value(t, v) for k, (t, v) in self.metadata.items())
        table, offset = b"", 0
        for name, array in self.tensors.items():
            offset += -offset % self.alignment
            dims = struct.pack(f"<I{array.ndim}q", array.ndim, *reversed(array.shape))
            kind = _TENSOR_TYPES[array.dtype] if isinstance(array, np.ndarray) else array.dtype
            table += _string(name) + dims + struct.pack("<IQ", kind, offset)
            offset += array.nbytes
        start = head + keys + table
        return start + b"\0" * (-len(start) % self.alignment)

    def to_bytes(self) -> bytes:
        data = b""
        for array in self.tensors.values():
            data += b"\0" * (-len(data) % self.alignment) + array.tobytes()
        return self.header() + data

    def write(self, path: Path) -> Path:
        path.write_bytes(self.to_bytes())
        return path


def _kind_of(value: Any) -> int:
    if isinstance(value, list):
        return ARRAY
    kinds: dict[type, int] = {bool: BOOL, int: U32, float: F32, str: STRING}
    return kinds[type(value)]


def _string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def _value(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return _string(value)
    if kind != ARRAY:
        return struct.pack("<" + _CODES[kind], value)
    item = STRING if value and isinstance(value[0], str | bytes) else BOOL if value and value[0] is True else I32
    item = F32 if value and isinstance(value[0], float) else item
    return struct.pack("<IQ", item, len(value)) + b"".join(_value(item, entry) for entry in value)


@cache
def byte_characters() -> tuple[str, ...]:
    """GPT-2's printable character for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return tuple(chr(byte) if byte in printable else chr(next(others)) for byte in range(256))


def special_texts() -> list[str]:
    """Laguna's special tokens, by id."""
    return [_PLACED.get(i, f"〈|RESERVED_{i}|〉") for i in range(_SPECIAL_COUNT)]


@cache
def vocabulary(size: int) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
    """Texts, types and merges: Laguna's special tokens, bytes, merges of a small corpus, unused tokens."""
    specials = special_texts()
    merges = _train(_MERGES)
    texts = [*specials, *byte_characters(), *dict.fromkeys(merge.replace(" ", "") for merge in merges)]
    types = [CONTROL] * _SPECIAL_COUNT + [NORMAL] * (len(texts) - _SPECIAL_COUNT)
    unused = [f"[UNUSED_{i}]" for i in range(size - len(texts))]
    return (*texts, *unused), (*types, *[UNUSED] * len(unused)), tuple(merges)


def _train(count: int) -> list[str]:
    """Byte-pair merges of the corpus's words, most frequent pair first."""
    stand_in = byte_characters()
    counts = Counter(part for word in _CORPUS.split() for part in (word, " " + word))
    words = {word: [stand_in[byte] for byte in word.encode()] for word in counts}
    merges = []
    while len(merges) < count:
        pairs = Counter()
        for word, symbols in words.items():
            for pair in pairwise(symbols):
                pairs[pair] += counts[word]
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(" ".join(best))
        words = {word: merged(symbols, best) for word, symbols in words.items()}
    return merges


def merged(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """The symbols with every occurrence of the pair as one."""
    out: list[str] = []
    for symbol in symbols:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return out


def laguna(shape: Shape | None = None, seed: int = 1) -> GgufFile:
    """A whole model file of the given shape."""
    shape = shape or Shape()
    file = GgufFile()
    describe(file, shape)
    add_tokenizer(file, shape.n_vocab)
    add_tensors(file, shape, np.random.default_rng(seed))
    return file


def describe(file: GgufFile, shape: Shape) -> None:
    """Put the architecture's metadata into `file`."""
    file.set("general.architecture", "laguna").set("general.name", "tiny-laguna-random")
    values = {
        "vocab_size": shape.n_vocab,
        "context_length": shape.n_ctx,
        "embedding_length": shape.n_embd,
        "block_count": shape.n_layer,
        "feed_forward_length": shape.n_ff,
        "leading_dense_block_count": shape.dense,
        "attention.head_count": [shape.heads(layer) for layer in range(shape.n_layer)],
        "attention.head_count_kv": shape.kv_heads,
        "attention.key_length": shape.head,
        "attention.value_length": shape.head,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": shape.window,
        "rope.freq_base": 500000.0,
        "rope.freq_base_swa": 10000.0,
        "rope.dimension_count": shape.head // 2,
        "rope.dimension_count_swa": shape.head,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 4.0,
        "rope.scaling.original_context_length": shape.n_ctx // 4,
        "rope.scaling.yarn_beta_fast": 32.0,
        "rope.scaling.yarn_beta_slow": 1.0,
        "expert_count": shape.experts,
        "expert_used_count": shape.experts_used,
        "expert_feed_forward_length": shape.expert_ff,
        "expert_shared_feed_forward_length": shape.expert_ff,
        "expert_weights_norm": True,
        "expert_weights_scale": 2.5,
        "expert_gating_func": 2,
    }
    for key, value in values.items():
        file.set(f"laguna.{key}", value)


def in_parts(file: GgufFile, prefix: Path, count: int, *, first_with_tensors: bool = True) -> list[Path]:
    """Write a model in parts, as `llama-gguf-split` does; returns their paths in order."""
    names, holders = list(file.tensors), count if first_with_tensors else count - 1
    share, paths = -(-len(names) // holders), []
    for number in range(count):
        at = (number if first_with_tensors else number - 1) * share
        held = names[max(at, 0) : max(at + share, 0)]
        part = GgufFile(dict(file.metadata) if number == 0 else {}, {name: file.tensors[name] for name in held})
        part.set("split.no", number, U16).set("split.count", count, U16).set("split.tensors.count", len(names), I32)
        paths.append(part.write(prefix.with_name(f"{prefix.name}-{number + 1:05}-of-{count:05}.gguf")))
    return paths


def add_tokenizer(file: GgufFile, size: int) -> None:
    """Laguna's kind of vocabulary, of `size` tokens."""
    put_tokenizer(file, *vocabulary(size))


def put_tokenizer(file: GgufFile, texts: Sequence[str], types: Sequence[int], merges: Sequence[str]) -> None:
    """Put these tokens, their types and merges into `file` as Laguna's kind of vocabulary."""
    file.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.pre", "laguna")
    file.set("tokenizer.ggml.tokens", list(texts)).set("tokenizer.ggml.token_type", list(types))
    file.set("tokenizer.ggml.merges", list(merges))
    for name, token in (("bos", EOS), ("eos", EOS), ("eot", END_ASSISTANT), ("unknown", 0), ("padding", 1)):
        file.set(f"tokenizer.ggml.{name}_token_id", token)
    file.set("tokenizer.ggml.add_bos_token", True)


def never_ends(file: GgufFile) -> GgufFile:
    """Keep the model from ending an answer, which one with random weights does at once on one processor in many."""
    file.tensors["output.weight"][[EOS, END_ASSISTANT]] = 0
    return file


def add_tensors(file: GgufFile, shape: Shape, random: np.random.Generator) -> None:
    """Put random weights of the shape into `file`."""

    def matrix(name: str, *dims: int, scale: float = 1.0) -> None:
        values = random.standard_normal(dims) * scale / np.sqrt(dims[-1])
        # A matrix of one row is a vector to ggml, and computed with in f32 only.
        file.tensors[name] = values.astype(np.float32 if dims[0] == 1 else np.float16)

    def vector(name: str, *dims: int, mean: float = 1.0) -> None:
        file.tensors[name] = (mean + 0.1 * random.standard_normal(dims)).astype(np.float32)

    list_tensors(shape, matrix, vector)


def list_tensors(shape: Shape, matrix: Callable[..., None], vector: Callable[..., None]) -> None:
    """Call `matrix` or `vector` with the name and the dimensions (row-major) of every tensor, in file order.

    `scale` and `mean` say what its numbers should be like.
    """
    embd, head = shape.n_embd, shape.head
    matrix("token_embd.weight", shape.n_vocab, embd, scale=np.sqrt(embd))
    vector("output_norm.weight", embd)
    matrix("output.weight", shape.n_vocab, embd, scale=3.0)
    for layer in range(shape.n_layer):
        block, queries = f"blk.{layer}.", shape.heads(layer) * head
        for name in ("attn_norm", "ffn_norm"):
            vector(f"{block}{name}.weight", embd)
        for name in ("attn_q_norm", "attn_k_norm"):
            vector(f"{block}{name}.weight", head, mean=1.5)
        matrix(block + "attn_q.weight", queries, embd)
        matrix(block + "attn_k.weight", shape.kv_heads * head, embd)
        matrix(block + "attn_v.weight", shape.kv_heads * head, embd, scale=2.0)
        matrix(block + "attn_output.weight", embd, queries, scale=2.0)
        matrix(block + "attn_gate.weight", shape.heads(layer), embd)
        if layer < shape.dense:
            matrix(block + "ffn_gate.weight", shape.n_ff, embd)
            matrix(block + "ffn_up.weight", shape.n_ff, embd)
            matrix(block + "ffn_down.weight", embd, shape.n_ff)
            continue
        vector(block + "ffn_gate_inp.weight", shape.experts, embd, mean=0.0)
        vector(block + "exp_probs_b.bias", shape.experts, mean=0.0)
        for name in ("gate", "up"):
            matrix(f"{block}ffn_{name}_exps.weight", shape.experts, shape.expert_ff, embd)
            matrix(f"{block}ffn_{name}_shexp.weight", shape.expert_ff, embd)
        matrix(block + "ffn_down_exps.weight", shape.experts, embd, shape.expert_ff)
        matrix(block + "ffn_down_shexp.weight", embd, shape.expert_ff)
