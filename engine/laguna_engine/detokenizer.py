"""Streaming detokenization and stop texts.

A byte-level vocabulary splits characters across tokens. Incomplete bytes wait for the next token; invalid ones become
U+FFFD; a character still incomplete at the end of a generation is dropped, until another one continues from there.

Stop texts are found across token boundaries. A token is held back while its text may begin a stop text. It is then
released unchanged, or, if the stop text is complete, without that part of its text: the token itself stays because it
is in the KV cache and belongs to the transcript.
"""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import replace

from laguna_engine.events import Token

_UTF8 = codecs.getincrementaldecoder("utf-8")
# A token is a byte or more, so that no more tokens share a character.
_CHARACTER_BYTES = 4


class Detokenizer:
    """The text of one generation, token by token.

    Args:
        piece: returns a token's bytes (`Vocab.piece`).
        silent: tokens without text (those that end a generation). Other special tokens have their literal text, so that
            a reader of plain text sees tool-call markup too.
        before: the transcript's tokens, whose last character may be incomplete.
    """

    def __init__(self, piece: Callable[[int], bytes], silent: frozenset[int], before: Sequence[int] = ()) -> None:
        self._piece = piece
        self._silent = silent
        self._decode = _UTF8("replace").decode
        for token in before[-_CHARACTER_BYTES:]:
            self.feed(token)

    def feed(self, token: int) -> str:
        """Return the characters that `token` completes; "" while one is incomplete."""
        return "" if token in self._silent else self._decode(self._piece(token))


class StopTextFilter:
    """Finds stop texts in the tokens of one generation; `stops` must not contain an empty text."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._held: list[Token] = []

    def push(self, token: Token) -> tuple[list[Token], bool]:
        """Return the tokens released now, and whether a stop text is complete; then they are the last ones."""
        self._held.append(token)
        text = "".join(held.text for held in self._held)
        found = min((at for at in map(text.find, self._stops) if at >= 0), default=None)
        if found is not None:
            return self._truncate(found), True
        return self._release(len(text) - self._open_length(text)), False

    def flush(self) -> list[Token]:
        """Return the tokens still held, when the generation ends for another reason."""
        held, self._held = self._held, []
        return held

    def _open_length(self, text: str) -> int:
        """Return the number of characters at the end of `text` that may begin a stop text."""
        longest = min(len(text), max(map(len, self._stops)) - 1)
        for length in range(longest, 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stops):
                return length
        return 0

    def _release(self, length: int) -> list[Token]:
        """Return the leading tokens that end within the first `length` characters."""
        count = end = 0
        for token in self._held:
            end += len(token.text)
            if end > length:
                break
            count += 1
        released, self._held = self._held[:count], self._held[count:]
        return released

    def _truncate(self, length: int) -> list[Token]:
        """Return all held tokens, their text truncated to `length` characters in total."""
        shown: list[Token] = []
        for token in self.flush():
            shown.append(token if len(token.text) <= length else replace(token, text=token.text[:length]))
            length = max(0, length - len(token.text))
        return shown
