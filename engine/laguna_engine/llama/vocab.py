"""The vocabulary: text to tokens and back.

Text is `str`; a token's piece is `bytes`, because it may end in the middle of a character. BOS is never added: most
templates contain it, and some files request a second one.

llama.cpp takes some tokens for special by their spelling: Qwen2.5's ordinary `</s>` would end its answers. Here a token
is what the file says it is.
"""

import ctypes
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from laguna_engine.errors import EngineClosed, RequestError
from laguna_engine.gguf.laguna import END_OF_TURN, EOS_TEXT
from laguna_engine.gguf.reader import Value
from laguna_engine.gguf.vocabulary import end_ids, special_ids
from laguna_engine.native.library import lib
from laguna_engine.native.structs import VocabHandle

_ATTR_CONTROL, _ATTR_USER_DEFINED = 1 << 3, 1 << 4
"""`llama_token_attr`: tokens parsed only on request, and tokens parsed in any text."""

_PIECE_BYTES = 256
"""Initial buffer for a piece; llama.cpp returns the required size if it is too small."""

_AT_ONCE = 4096
"""Tokens whose pieces are looked up before `close` gets a chance: a few milliseconds."""

_INT32_MAX = 2**31 - 1


class Vocab:
    """The vocabulary of an open model; usable until the model is closed. Thread-safe.

    Attributes:
        size: number of tokens.
        bos: the BOS token, None if there is none.
        named: tokens by the names that chat templates have for them.
        add_bos: whether the file requests a BOS where the template has none.
    """

    def __init__(self, handle: VocabHandle, metadata: Mapping[str, Value], template: str = "") -> None:
        """Take a native vocabulary.

        Args:
            handle: it.
            metadata: that of its file.
            template: user-defined tokens are special if this text has them, and otherwise text that is one token, such
                as Gemma's line breaks; empty where all of them are special.
        """
        self._handle = handle
        self._template = template
        self._special, self._ends = special_ids(metadata), end_ids(metadata)
        self.size: int = lib.llama_vocab_n_tokens(handle)
        bos: int = lib.llama_vocab_bos(handle)
        self.bos = bos if bos >= 0 else None
        self.add_bos: bool = lib.llama_vocab_get_add_bos(handle)
        eos: int = lib.llama_vocab_eos(handle)
        self.named = {"bos_token": self.bos, "eos_token": eos if eos >= 0 else None}
        self._pieces: dict[int, bytes] = {}
        # Held briefly, and reentrant, because the garbage collector may close an engine at any point.
        self._changed = threading.Condition(threading.RLock())
        self._open = True
        self._users: Counter[int] = Counter()

    @cached_property
    def eog(self) -> frozenset[int]:
        """Tokens that end an answer.

        Those that the file names; those with the spelling of an end that are special in the file; and Laguna's, of
        which some conversions name only one.
        """
        is_end = lib.llama_vocab_is_eog
        with self._in_use() as handle:
            own = {token for token in self._attributes if is_end(handle, token)}
        own.update(token for text in (END_OF_TURN, EOS_TEXT) if (token := self.id_of(text)) is not None)
        return self._ends | own

    @cached_property
    def _attributes(self) -> dict[int, int]:
        """Attributes of the control and user-defined tokens."""
        attribute, special = lib.llama_vocab_get_attr, _ATTR_CONTROL | _ATTR_USER_DEFINED
        tokens = range(self.size) if self._special is None else sorted(self._special | self._ends)
        with self._in_use() as handle:
            return {token: attr for token in tokens if (attr := attribute(handle, token)) & special}

    @cached_property
    def _texts(self) -> dict[int, str]:
        """The special tokens' texts."""
        texts = {token: self.piece(token).decode("utf-8", "replace") for token in self._attributes}
        return {
            token: text
            for token, text in texts.items()
            if self._attributes[token] & _ATTR_CONTROL
            or not self._template
            or (text.strip() and text in self._template)
        }

    @cached_property
    def markup(self) -> Mapping[str, int]:
        """The special tokens by their texts: control tokens, and user-defined ones that the template writes."""
        # Reversed, so that of two tokens with the same text the first wins, as in llama.cpp.
        return {text: token for token, text in reversed(self._texts.items())}

    @cached_property
    def _parsed_anywhere(self) -> re.Pattern[str] | None:
        """Matches the texts that llama.cpp parses as special tokens even with `parse_special` off."""
        texts = [text for token, text in self._texts.items() if self._attributes[token] & _ATTR_USER_DEFINED]
        # A single character cannot be split, and runs of blanks are ordinary text.
        markers = [re.escape(text) for text in texts if len(text) > 1 and not text.isspace()]
        return re.compile("|".join(markers)) if markers else None

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token; for a special token, its text. RequestError outside the vocabulary."""
        known = self._pieces.get(token)
        if known is None:
            if not 0 <= token < self.size:
                raise RequestError(
                    f"token {token} is outside the vocabulary of {self.size}; use the model's own tokens"
                )
            self._render(range(token, token + 1))
            known = self._pieces[token]
        return known

    def _render(self, tokens: Iterable[int]) -> None:
        """Look up the pieces of tokens."""
        size, buffer, render = _PIECE_BYTES, ctypes.create_string_buffer(_PIECE_BYTES), lib.llama_token_to_piece
        with self._in_use() as handle:
            for token in tokens:
                while (length := render(handle, token, buffer, size, 0, True)) < 0:
                    size = -length
                    buffer = ctypes.create_string_buffer(size)
                self._pieces[token] = ctypes.string_at(buffer, length)

    def _render_all(self) -> None:
        for first in range(0, self.size, _AT_ONCE):
            self._render(range(first, min(first + _AT_ONCE, self.size)))

    @cached_property
    def pieces(self) -> tuple[bytes, ...]:
        """The bytes of every token, by id; empty for special tokens. Takes 0.1 s for 100,000 tokens, once."""
        self._render_all()
        return tuple(b"" if self.is_control(token) else self._pieces[token] for token in range(self.size))

    @cached_property
    def longest_piece(self) -> int:
        """Bytes of the longest token: a text of n bytes has at least n / longest_piece tokens."""
        self._render_all()
        return max(map(len, self._pieces.values()))

    def is_control(self, token: int) -> bool:
        """Return whether `token` is special rather than text."""
        return token in self._texts

    def id_of(self, text: str) -> int | None:
        """Return the special token whose text is exactly `text`, or None."""
        return self.markup.get(text)

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokenize `text`, without BOS. Lone surrogates become "?".

        Args:
            text: the text.
            special: whether texts of special tokens become those tokens. If not, no special token can result: texts of
                special tokens that llama.cpp would parse anyway are split first.
        """
        if special:
            return self._encode(text, True)
        return [token for fragment in self._fragments(text) for token in self._encode(fragment, False)]

    def _fragments(self, text: str) -> Iterator[str]:
        """Split `text` so that no piece contains the whole text of such a token."""
        start = 0
        while self._parsed_anywhere and (found := self._parsed_anywhere.search(text, start)):
            yield text[start : found.start() + 1]
            start = found.start() + 1
        yield text[start:]

    def _encode(self, text: str, special: bool) -> list[int]:
        # On invalid UTF-8 llama.cpp throws through the C interface, which would end the process.
        data = text.encode("utf-8", "replace")
        if len(data) > _INT32_MAX:
            raise RequestError(f"a text of {len(data)} bytes is too long to tokenize; send it in pieces")
        room = len(data) + 1
        tokens = (ctypes.c_int32 * room)()
        with self._in_use() as handle:
            count = lib.llama_tokenize(handle, data, len(data), tokens, room, False, special)
        if count < 0:
            raise RequestError(
                f"{len(data)} bytes gave more than {room} tokens; the model file's vocabulary is damaged"
            )
        return tokens[:count]

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the joined bytes of `tokens`, special ones as their text."""
        return b"".join(map(self.piece, tokens))

    def close(self) -> None:
        """Wait until no other thread uses the native vocabulary, then drop it; called before the model is freed."""
        mine = threading.get_ident()
        with self._changed:
            self._open = False
            self._changed.wait_for(lambda: self._users.keys() <= {mine})
            self._handle.value = None

    @contextmanager
    def _in_use(self) -> Iterator[VocabHandle]:
        """Protect the native vocabulary from `close` inside the block.

        Several threads may use it at once: llama.cpp only reads it (`llama_vocab`'s methods are const).
        """
        mine = threading.get_ident()
        with self._changed:
            if not self._open:
                raise EngineClosed("the model is closed; open the model again")
            self._users[mine] += 1
        try:
            yield self._handle
        finally:
            with self._changed:
                self._users[mine] -= 1
                if not self._users[mine]:
                    del self._users[mine]
                    self._changed.notify_all()
