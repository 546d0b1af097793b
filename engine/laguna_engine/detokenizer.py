"""Tokens become text as they come: never half a character, and nothing of a stop text.

A byte-level vocabulary splits characters across tokens. What is incomplete waits for the next token; what can never
become a character turns into U+FFFD; a character still open at the end of a generation is dropped.

Stop texts are found across token boundaries. A token is held back while its text may be the beginning of a stop text.
Then it is released as it was, or the stop text is complete and its tokens come out with that part of their text
removed: their ids are in the KV cache, so the transcript needs them.
"""

import codecs
from collections.abc import Callable
from dataclasses import replace

from laguna_engine.events import Token

_UTF8 = codecs.getincrementaldecoder("utf-8")


class Detokenizer:
    """The text of one generation, token by token.

    Tokens in `silent` (those that end a generation) have no text. Other special tokens have their literal text, so
    that a reader of plain text sees tool-call markup too.
    """

    def __init__(self, piece: Callable[[int], bytes], silent: frozenset[int]) -> None:
        """`piece` gives a token's bytes (`Vocab.piece`)."""
        self._piece = piece
        self._silent = silent
        self._decode = _UTF8("replace").decode

    def feed(self, token: int) -> str:
        """The characters that `token` completes; "" while one is still open."""
        return "" if token in self._silent else self._decode(self._piece(token))


class StopTextFilter:
    """Watches the tokens of one generation for `stops` (none of them empty)."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._held: list[Token] = []

    def push(self, token: Token) -> tuple[list[Token], bool]:
        """The tokens that may be shown now, and whether a stop text is complete (then these are the last ones)."""
        self._held.append(token)
        text = "".join(held.text for held in self._held)
        found = min((at for at in map(text.find, self._stops) if at >= 0), default=None)
        if found is not None:
            return self._cut(found), True
        return self._release(len(text) - self._open_length(text)), False

    def flush(self) -> list[Token]:
        """Whatever is still held, when the generation ends for another reason."""
        held, self._held = self._held, []
        return held

    def _open_length(self, text: str) -> int:
        """How many characters at the end of `text` may be the beginning of a stop text."""
        longest = min(len(text), max(map(len, self._stops)) - 1)
        for length in range(longest, 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stops):
                return length
        return 0

    def _release(self, length: int) -> list[Token]:
        """The leading tokens that end within the first `length` characters."""
        count = end = 0
        for token in self._held:
            end += len(token.text)
            if end > length:
                break
            count += 1
        released, self._held = self._held[:count], self._held[count:]
        return released

    def _cut(self, length: int) -> list[Token]:
        """All tokens, with only the first `length` characters of their text."""
        shown: list[Token] = []
        for token in self.flush():
            shown.append(token if len(token.text) <= length else replace(token, text=token.text[:length]))
            length = max(0, length - len(token.text))
        return shown
