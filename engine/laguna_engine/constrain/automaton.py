"""Grammars over bytes, advanced by derivatives. Knows nothing of tokens.

A grammar is a set of `Part`s, one for each way to parse what was written so far. Advancing a part by some bytes gives
the parts that remain (Brzozowski, "Derivatives of regular expressions", 1964), so a token may span several parts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from laguna_engine.constrain.texts import AnyText, Text

DRAFTED_BYTES = 64
"""Most bytes of a likely continuation: about the longest draft."""


class Part(Protocol):
    """One way to parse what was written."""

    @property
    def settles(self) -> bool:
        """Whether reaching this part rules out every other way to parse."""
        ...

    @property
    def least(self) -> float:
        """Least share of the probability that its tokens must hold; 0 for no limit."""
        ...

    @property
    def free(self) -> bool:
        """Whether it allows any bytes."""
        ...

    def after(self, piece: bytes) -> "Parts":
        """The parts after `piece`, at least one byte; empty if `piece` is not allowed."""
        ...

    def allows(self, piece: bytes) -> bool:
        """Whether `piece`, at least one byte, is allowed next."""
        ...

    def children(self) -> "Children":
        """Every byte that is allowed next, with the parts after it; a byte may occur twice."""
        ...

    @property
    def is_wide(self) -> bool:
        """Whether listing what is allowed costs more than testing a few tokens."""
        ...

    def likely(self, most: int) -> bytes:
        """The likely continuation, up to where there is a choice; at most `most` bytes."""
        ...

    def freed(self) -> "Part":
        """The same part with its value replaced by free text, once the model means something else."""
        ...


Parts = tuple[Part, ...]
Children = list[tuple[bytes, Parts]]


def after(parts: Parts, piece: bytes) -> Parts:
    """The grammar after `piece`."""
    return settled(tuple(following for part in parts for following in part.after(piece))) if piece else parts


def settled(parts: Parts) -> Parts:
    """Only the parts that settle the parse, if there are any; otherwise all."""
    return tuple(part for part in parts if part.settles) or parts if len(parts) > 1 else parts


@dataclass(frozen=True, slots=True)
class End:
    """The end of the grammar: what follows is free and not part of it."""

    settles: bool = True
    least: float = 0.0
    free: bool = True
    is_wide: bool = False

    def after(self, piece: bytes) -> Parts:
        """See `Part`."""
        return ()

    def allows(self, piece: bytes) -> bool:
        """See `Part`."""
        return False

    def children(self) -> Children:
        """See `Part`."""
        return []

    def likely(self, most: int) -> bytes:
        """See `Part`."""
        return b""

    def freed(self) -> Part:
        """See `Part`."""
        return self


@dataclass(frozen=True, slots=True)
class Literal:
    """Fixed bytes, at least one, and what follows them."""

    text: bytes
    then: Callable[[], Parts]
    settles: bool = False
    least: float = 0.0
    free: bool = False

    def after(self, piece: bytes) -> Parts:
        """See `Part`."""
        if self.text.startswith(piece):
            rest = self.text[len(piece) :]
            return (replace(self, text=rest, settles=False),) if rest else self.then()
        return after(self.then(), piece[len(self.text) :]) if piece.startswith(self.text) else ()

    def allows(self, piece: bytes) -> bool:
        """See `Part`."""
        return self.text.startswith(piece) or bool(self.after(piece))

    def children(self) -> Children:
        """See `Part`."""
        return [(self.text[:1], self.after(self.text[:1]))]

    @property
    def is_wide(self) -> bool:
        """See `Part`."""
        return False

    def likely(self, most: int) -> bytes:
        """See `Part`."""
        text = self.text[:most]
        return text + _likely(self.then(), most - len(text)) if len(text) < most else text

    def freed(self) -> Part:
        """See `Part`."""
        return self


@dataclass(frozen=True, slots=True)
class Blanks:
    """At most `most` blanks and line breaks, usually `usual`, and what follows them."""

    most: int
    usual: bytes
    then: Callable[[], Parts]
    settles: bool = False
    least: float = 0.0
    free: bool = False

    def after(self, piece: bytes) -> Parts:
        """See `Part`."""
        rest = piece.lstrip(_BLANKS)
        blanks = len(piece) - len(rest)
        if blanks > self.most:
            return ()
        if rest:
            return after(self.then(), rest)
        return (replace(self, most=self.most - blanks, usual=b"", settles=False),)

    def allows(self, piece: bytes) -> bool:
        """See `Part`."""
        return bool(self.after(piece))

    def children(self) -> Children:
        """See `Part`."""
        blanks = [bytes((byte,)) for byte in _BLANKS] if self.most else []
        following = [child for part in self.then() for child in part.children()]
        return [*((blank, self.after(blank)) for blank in blanks), *following]

    @property
    def is_wide(self) -> bool:
        """See `Part`."""
        return any(part.is_wide for part in self.then())

    def likely(self, most: int) -> bytes:
        """See `Part`."""
        text = self.usual[:most]
        return text + _likely(self.then(), most - len(text))

    def freed(self) -> Part:
        """See `Part`."""
        return self


_BLANKS = b"\n "


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A text up to one of several closings, each with what follows it for what was said.

    Attributes:
        text: what may still be said.
        closings: bytes that end it, at least one, and what follows.
        said: so far.
    """

    text: Text
    closings: Sequence[tuple[bytes, Callable[[bytes], Parts]]]
    said: bytes = b""
    settles: bool = False

    @property
    def least(self) -> float:
        """See `Part`."""
        return self.text.least

    @property
    def free(self) -> bool:
        """See `Part`."""
        return self.text.free

    def after(self, piece: bytes) -> Parts:
        """See `Part`."""
        going_on = self.text.after(piece)
        parts: Parts = ()
        if going_on is not None:
            parts = (replace(self, text=going_on, said=self.said + piece, settles=False),)
        for closing, then in self.closings:
            parts += self._closed(piece, closing, then)
        return parts

    def _closed(self, piece: bytes, closing: bytes, then: Callable[[bytes], Parts]) -> Parts:
        """The ways in which the text ends inside `piece`, or right before it, with `closing`."""
        parts: Parts = ()
        place = piece.find(closing[:1])
        while place >= 0:
            head = self.text.after(piece[:place]) if place else self.text
            if head is not None and head.may_end:
                said = self.said + piece[:place]
                parts += Literal(closing, lambda said=said: then(said)).after(piece[place:])  # type: ignore[misc]
            place = piece.find(closing[:1], place + 1)
        return parts

    def allows(self, piece: bytes) -> bool:
        """See `Part`."""
        return self.text.allows(piece) or any(self._closed(piece, *closing) for closing in self.closings)

    def children(self) -> Children:
        """See `Part`."""
        found: Children = [
            (byte, (replace(self, text=text, said=self.said + byte, settles=False),))
            for byte, text in self.text.children()
        ]
        if self.text.may_end:
            found += [(closing[:1], self._closed(closing[:1], closing, then)) for closing, then in self.closings]
        return found

    @property
    def is_wide(self) -> bool:
        """See `Part`."""
        return self.text.is_wide

    def likely(self, most: int) -> bytes:
        """See `Part`."""
        text = self.text.common(most)
        ended = self.text.after(text) if text else self.text
        if len(text) == most or ended is None or not ended.may_end or ended.children():
            return text
        closing, then = self.closings[0]
        return text + Literal(closing, lambda: then(self.said + text)).likely(most - len(text))

    def freed(self) -> Part:
        """See `Part`."""
        return replace(self, text=AnyText()) if self.least else self


def _likely(parts: Parts, most: int) -> bytes:
    return parts[0].likely(most) if len(parts) == 1 and most > 0 else b""


def likely(parts: Parts) -> bytes:
    """The likely continuation; empty while there are several ways to parse."""
    return _likely(parts, DRAFTED_BYTES)


def freed(parts: Parts) -> Parts:
    """The grammar with its values replaced by free text."""
    return tuple(part.freed() for part in parts)
