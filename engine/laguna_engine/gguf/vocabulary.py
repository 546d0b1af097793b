"""The vocabulary inside a header: texts that would make llama.cpp abort are found while they are read.

Token texts must differ (llama.cpp asserts it), merges must be pairs, and every table must be as long as the others.
The texts themselves are not kept: 100,352 of them take tens of megabytes in Python.
"""

from collections.abc import Mapping

from laguna_engine.gguf.formats import ValueType
from laguna_engine.gguf.reader import Damaged, LongArray, Reader, Value
from laguna_engine.gguf.unsuitable import Unsuitable

MAX_VOCABULARY = 1 << 19
"""Twice the largest vocabulary in use (262,144); bounds the memory of the check."""

TOKENS, MERGES = "tokenizer.ggml.tokens", "tokenizer.ggml.merges"
TOKEN_TYPES, SCORES = "tokenizer.ggml.token_type", "tokenizer.ggml.scores"

TOKENIZERS = ("gpt2", "llama")
"""Byte-level BPE and SentencePiece BPE; the others belong to encoders or parse binary tables."""

_SPECIAL_IDS = "bos eos eot eom unknown seperator padding mask fim_pre fim_suf fim_mid fim_pad fim_rep fim_sep".split()
"""llama.cpp's own names, its spelling of "separator" included."""


class _TokenTexts:
    """Sees every token once and knows whether two are the same."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._count = 0

    def __call__(self, text: bytes) -> None:
        # What llama.cpp calls an empty token.
        self._seen.add(text or b"[EMPTY_%d]" % self._count)
        self._count += 1
        if self._count > MAX_VOCABULARY:
            raise Damaged(f"its vocabulary has more than {MAX_VOCABULARY} tokens")

    def check(self) -> None:
        if len(self._seen) != self._count:
            raise Damaged(f"{self._count - len(self._seen)} of its tokens have the text of another")


def _check_merge(text: bytes) -> None:
    if text.find(b" ", 1) < 0:
        raise Damaged(f"the merge {text[:40].decode('utf-8', 'replace')!r} is not a pair")


def read(reader: Reader, key: str, kind: ValueType) -> Value:
    """The value of metadata `key`, inspected on the way if it is part of the vocabulary."""
    if key == TOKENS:
        texts = _TokenTexts()
        value = reader.value(kind, key, texts)
        texts.check()
        return value
    return reader.value(kind, key, _check_merge if key == MERGES else None)


def check(metadata: Mapping[str, Value]) -> int:
    """Compare the vocabulary's tables with one another; returns the number of tokens."""
    model = metadata.get("tokenizer.ggml.model")
    if model not in TOKENIZERS:
        raise Unsuitable(
            f"has the tokenizer {model!r}, this engine reads {' and '.join(TOKENIZERS)}; choose another model"
        )
    size = _texts(metadata, TOKENS)
    if size == 0:
        raise Damaged("its vocabulary is empty")
    if model == "gpt2":
        _texts(metadata, MERGES)
    for key, kinds in ((TOKEN_TYPES, (ValueType.INT32,)), (SCORES, (ValueType.FLOAT32, ValueType.INT32))):
        _check_table(metadata, key, size, kinds)
    _check_special_ids(metadata, size)
    return size


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


def _check_special_ids(metadata: Mapping[str, Value], size: int) -> None:
    for name in _SPECIAL_IDS:
        key = f"tokenizer.ggml.{name}_token_id"
        token = metadata.get(key)
        if token is not None and (type(token) is not int or not 0 <= token < size):
            raise Damaged(f"{key} is {token!r}, outside its {size} tokens")
