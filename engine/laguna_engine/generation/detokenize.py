"""Tokens become text as they come, and never half a character.

A byte-level vocabulary splits characters across tokens. What is incomplete waits for the next token; what can never
become a character turns into U+FFFD; a character still open at the end of a generation is dropped.
"""

import codecs
from collections.abc import Callable

_UTF8 = codecs.getincrementaldecoder("utf-8")


class TextDecoder:
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
