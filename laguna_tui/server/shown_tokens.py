"""Which tokens a text consists of, for their logprobs: the joined bytes of the entries are the text."""

from collections.abc import Callable
from dataclasses import dataclass

from laguna_engine.events import Token


@dataclass(slots=True)
class ShownToken:
    """A token that may add to a text.

    Attributes:
        token: The token.
        left: Its bytes that are not shown yet.
        shown: The bytes that it adds to the text, perhaps part of a character.
    """

    token: Token
    left: bytes
    shown: bytes = b""


class ShownTokens:
    """Assigns the tokens of one generation to its text.

    A text may leave out the beginning of its tokens, such as line breaks. The entry of a token that is shown in part
    comes when no more of it can follow.
    """

    def __init__(self, piece: Callable[[int], bytes]) -> None:
        """piece: Returns the bytes of a token."""
        self._piece = piece
        self._pending: list[ShownToken] = []

    def add(self, token: Token) -> None:
        """Add a token whose bytes may be part of the text."""
        self._pending.append(ShownToken(token, self._piece(token.id)))

    def clear(self) -> None:
        """Drop what is not shown of the tokens so far: it does not belong to the text."""
        self._pending = [each for each in self._pending if each.shown]
        for each in self._pending:
            each.left = b""

    def take(self, text: str) -> list[ShownToken]:
        """Return the tokens that more text completes."""
        more = text.encode()
        start = b"".join(each.left for each in self._pending).find(more)
        if start < 0:
            self._assign(more)
        found = self._consume(max(0, start), shown=False)
        return [*found, *self._consume(len(more), shown=True)]

    def rest(self) -> list[ShownToken]:
        """Return the token that is shown in part, at the end of the text."""
        self.clear()
        return self._consume(0, shown=True)

    def _consume(self, count: int, *, shown: bool) -> list[ShownToken]:
        """Take `count` bytes of the tokens; returns the tokens that this completes."""
        found: list[ShownToken] = []
        while self._pending and (count or not self._pending[0].left):
            first = self._pending[0]
            part, first.left = first.left[:count], first.left[count:]
            first.shown += part if shown else b""
            count -= len(part)
            if not first.left:
                found += [first] if first.shown else []
                del self._pending[0]
        return found

    def _assign(self, text: bytes) -> None:
        """Assign a text to tokens with other bytes: bytes that are not a character, or an escaped marker."""
        for each in self._pending:
            each.left, text = text[: len(each.left)], text[len(each.left) :]
        if self._pending:
            self._pending[-1].left += text
