"""Checks the vocabulary in a header, while it is read, for what would make llama.cpp abort.

Token texts must differ (llama.cpp asserts it), merges must be pairs, all tables must be of the same length, and a
SentencePiece vocabulary must have a token for every byte (llama.cpp throws an exception that nothing catches). The
texts are not held in memory: 100,352 of them take tens of megabytes in Python.
"""

import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from laguna_engine.gguf.formats import ValueType
from laguna_engine.gguf.laguna import EOS_TEXT
from laguna_engine.gguf.reader import Damaged, LongArray, Reader, Unsuitable, Value

MAX_VOCABULARY = 1 << 19
"""Twice the largest vocabulary in use (262,144); bounds the memory of the check."""

TOKENS, MERGES = "tokenizer.ggml.tokens", "tokenizer.ggml.merges"
TOKEN_TYPES, SCORES = "tokenizer.ggml.token_type", "tokenizer.ggml.scores"

SENTENCEPIECE = "llama"
"""The tokenizer that falls back to bytes for unknown text."""

_BYTE_FALLBACK = (SENTENCEPIECE, "plamo2")
_MERGED = ("gpt2", "gemma4")
TOKENIZERS = ("gpt2", SENTENCEPIECE, "gemma4", "plamo2", "rwkv")
"""Byte-level BPE, SentencePiece BPE and three families' own; the others are for encoders or parse binary tables."""

_SPECIAL_IDS = "bos eos eot eom unknown seperator padding mask fim_pre fim_suf fim_mid fim_pad fim_rep fim_sep".split()
"""llama.cpp's names, including its spelling of "separator"."""


_BYTE = re.compile(rb"<0x[0-9A-F]{2}>")
_BYTES = 256
_ASCII = 128
_CONTROL_TYPE, _DEFINED_TYPE, _BYTE_TYPE = 3, 4, 6
"""`llama_token_type`."""


@dataclass(frozen=True, slots=True)
class Tokens(LongArray):
    """The token texts, which are not held in memory.

    Attributes:
        missing_bytes: bytes without a token.
        byte_ids: ids of tokens with a text such as "<0x0A>".
        has_eos_text: whether one has the text that begins a transcript of Laguna's.
    """

    missing_bytes: frozenset[int] = frozenset()
    byte_ids: frozenset[int] = frozenset()
    has_eos_text: bool = False


@dataclass(frozen=True, slots=True)
class TokenTypes(LongArray):
    """The token types, which are not held in memory.

    Attributes:
        byte_ids: ids of tokens of type BYTE.
        special_ids: ids of those of type CONTROL or USER_DEFINED.
    """

    byte_ids: frozenset[int] = frozenset()
    special_ids: frozenset[int] = frozenset()

    @classmethod
    def of(cls, data: bytes) -> "TokenTypes":
        types = struct.unpack(f"<{len(data) // 4}i", data)
        byte_ids = frozenset(token for token, kind in enumerate(types) if kind == _BYTE_TYPE)
        return cls(ValueType.INT32, len(types), byte_ids, _special(types))


def _special(types: Iterable[object]) -> frozenset[int]:
    return frozenset(token for token, kind in enumerate(types) if kind in (_CONTROL_TYPE, _DEFINED_TYPE))


class _TokenTexts:
    """Called with every token text in order; finds duplicates and the tokens for bytes."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._count = 0
        self._byte_ids: set[int] = set()

    def __call__(self, text: bytes) -> None:
        if _BYTE.fullmatch(text):
            self._byte_ids.add(self._count)
        # llama.cpp's name for an empty token.
        self._seen.add(text or b"[EMPTY_%d]" % self._count)
        self._count += 1
        if self._count > MAX_VOCABULARY:
            raise Damaged(f"its vocabulary has more than {MAX_VOCABULARY} tokens")

    def check(self) -> None:
        if len(self._seen) != self._count:
            raise Damaged(f"{self._count - len(self._seen)} of its tokens have the text of another")

    def summary(self) -> Tokens:
        # Looked up as by `llama_vocab::byte_to_token`.
        made = (byte for byte in range(_BYTES) if b"<0x%02X>" % byte in self._seen)
        plain = (byte for byte in range(_ASCII) if bytes([byte]) in self._seen)
        missing_bytes = frozenset(range(_BYTES)).difference(made, plain)
        has_eos_text = EOS_TEXT.encode() in self._seen
        return Tokens(ValueType.STRING, self._count, missing_bytes, frozenset(self._byte_ids), has_eos_text)


def _check_merge(text: bytes) -> None:
    if text.find(b" ", 1) < 0:
        raise Damaged(f"the merge {text[:40].decode('utf-8', 'replace')!r} is not a pair")


def read(reader: Reader, key: str, kind: ValueType) -> Value:
    """Read the value of metadata `key`, checking it if it is part of the vocabulary."""
    if key == TOKENS:
        texts = _TokenTexts()
        value = reader.value(kind, key, texts)
        texts.check()
        return texts.summary() if _holds(value, str) else value
    if key == TOKEN_TYPES:
        numbers: list[bytes] = []
        value = reader.value(kind, key, numbers.append)
        return TokenTypes.of(numbers[0]) if numbers and _holds(value, int) else value
    return reader.value(kind, key, _check_merge if key == MERGES else None)


def _holds(value: Value, kind: type) -> bool:
    """Return whether `value` is an array of strings (`kind` str) or of int32 (int)."""
    if isinstance(value, LongArray):
        return value.kind is (ValueType.STRING if kind is str else ValueType.INT32)
    return isinstance(value, tuple) and all(type(entry) is kind for entry in value)


def check(metadata: Mapping[str, Value]) -> int:
    """Check the vocabulary's tables against each other; returns the number of tokens."""
    model = metadata.get("tokenizer.ggml.model")
    if model not in TOKENIZERS:
        raise Unsuitable(
            f"has the tokenizer {model!r}, this engine reads {', '.join(TOKENIZERS)}; choose another model"
        )
    size = _texts(metadata, TOKENS)
    if size == 0:
        raise Damaged("its vocabulary is empty")
    if model in _BYTE_FALLBACK:
        _check_bytes(metadata)
    if model in _MERGED:
        _texts(metadata, MERGES)
    for key, kinds in ((TOKEN_TYPES, (ValueType.INT32,)), (SCORES, (ValueType.FLOAT32, ValueType.INT32))):
        _check_table(metadata, key, size, kinds)
    _check_special_ids(metadata, size)
    return size


def has_eos_text(metadata: Mapping[str, Value]) -> bool:
    """Return whether a token has the text that begins a transcript of Laguna's, without which no chat is possible."""
    tokens = metadata.get(TOKENS)
    return tokens.has_eos_text if isinstance(tokens, Tokens) else isinstance(tokens, tuple) and EOS_TEXT in tokens


def special_ids(metadata: Mapping[str, Value]) -> frozenset[int] | None:
    """Return the control and user-defined tokens; None if the file does not say what its tokens are."""
    types = metadata.get(TOKEN_TYPES)
    if isinstance(types, TokenTypes):
        return types.special_ids
    return _special(types) if isinstance(types, tuple) else None


def end_ids(metadata: Mapping[str, Value]) -> frozenset[int]:
    """Return the tokens that the file names as the end of a text, a turn or a message."""
    found = (metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom"))
    return frozenset(token for token in found if isinstance(token, int))


def _texts(metadata: Mapping[str, Value], key: str) -> int:
    value = metadata.get(key)
    if isinstance(value, LongArray) and value.kind is ValueType.STRING:
        return value.length
    if isinstance(value, tuple) and all(isinstance(text, str) for text in value):
        return len(value)
    raise Damaged(f"it has no list of texts {key}")


def _check_table(metadata: Mapping[str, Value], key: str, size: int, kinds: tuple[ValueType, ...]) -> None:
    value = metadata.get(key)
    if value is None:
        return
    if isinstance(value, LongArray):
        length, right_kind = value.length, value.kind in kinds
    elif isinstance(value, tuple):
        length, right_kind = len(value), all(isinstance(number, int | float) for number in value)
    else:
        raise Damaged(f"{key} is not a list")
    if length != size or not right_kind:
        raise Damaged(f"{key} has {length} entries for {size} tokens")


def _check_bytes(metadata: Mapping[str, Value]) -> None:
    """Check the tokens for bytes.

    llama.cpp looks up a token for every byte, and parses the byte from the text of every token of type BYTE.
    """
    tokens, types = metadata[TOKENS], metadata.get(TOKEN_TYPES)
    if isinstance(tokens, Tokens) and tokens.missing_bytes:
        raise Damaged(f"{len(tokens.missing_bytes)} of 256 bytes have no token")
    stray = types.byte_ids - tokens.byte_ids if isinstance(types, TokenTypes) and isinstance(tokens, Tokens) else ()
    if stray:
        raise Damaged(f"its token {min(stray)} has the type of a byte and is not one")


def _check_special_ids(metadata: Mapping[str, Value], size: int) -> None:
    for name in _SPECIAL_IDS:
        key = f"tokenizer.ggml.{name}_token_id"
        token = metadata.get(key)
        if token is not None and (type(token) is not int or not 0 <= token < size):
            raise Damaged(f"{key} is {token!r}, outside its {size} tokens")
