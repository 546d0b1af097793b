"""Texts that may stand between two tags: any, one without a byte, one of some strings, or one that is in a document."""

from dataclasses import dataclass, replace
from typing import Protocol

from laguna_engine.constrain.sorted_texts import Prefix, Suffixes

_WIDE = 16
"""More texts than this are too many to walk for their continuations."""

NO_TEXT = b"\xff"
"""A byte that never occurs in UTF-8."""


class Text(Protocol):
    """The content of a value: what may stand between two tags."""

    @property
    def free(self) -> bool:
        """Whether any bytes are allowed."""
        ...

    @property
    def least(self) -> float:
        """Least share of the probability that its tokens must hold; below it the value becomes free."""
        ...

    def after(self, piece: bytes) -> "Text | None":
        """The text after `piece`; None if `piece` is not allowed."""
        ...

    def allows(self, piece: bytes) -> bool:
        """Whether `piece` is allowed next."""
        ...

    def children(self) -> "list[tuple[bytes, Text]]":
        """Every byte that is allowed next, with the text after it."""
        ...

    @property
    def is_wide(self) -> bool:
        """Whether listing what is allowed costs more than testing a few tokens."""
        ...

    def common(self, most: int) -> bytes:
        """The only possible continuation, at most `most` bytes."""
        ...

    @property
    def may_end(self) -> bool:
        """Whether the text may end here."""
        ...

    @property
    def prefix(self) -> Prefix | None:
        """The known texts that begin with what was written; None if the texts are not known."""
        ...

    @property
    def once(self) -> bool:
        """Whether it may end only where a single known text is left."""
        ...


@dataclass(frozen=True, slots=True)
class AnyText:
    """Any bytes."""

    free: bool = True
    least: float = 0.0
    may_end: bool = True
    is_wide: bool = True
    prefix: None = None
    once: bool = False

    def after(self, piece: bytes) -> Text:
        """See `Text`."""
        return self

    def allows(self, piece: bytes) -> bool:
        """See `Text`."""
        return True

    def children(self) -> list[tuple[bytes, Text]]:
        """See `Text`."""
        return [(bytes((byte,)), self) for byte in range(256)]

    def common(self, most: int) -> bytes:
        """See `Text`."""
        return b""


@dataclass(frozen=True, slots=True)
class Without:
    """Any bytes but one."""

    excluded: bytes
    free: bool = False
    least: float = 0.0
    may_end: bool = True
    is_wide: bool = True
    prefix: None = None
    once: bool = False

    def after(self, piece: bytes) -> "Without | None":
        """See `Text`."""
        return None if self.excluded in piece else self

    def allows(self, piece: bytes) -> bool:
        """See `Text`."""
        return self.excluded not in piece

    def children(self) -> list[tuple[bytes, Text]]:
        """See `Text`."""
        return [(bytes((byte,)), self) for byte in range(256) if byte != self.excluded[0]]

    def common(self, most: int) -> bytes:
        """See `Text`."""
        return b""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some strings, whole."""

    prefix: Prefix
    least: float = 0.0
    free: bool = False
    once: bool = False

    def after(self, piece: bytes) -> "OneOf | None":
        """See `Text`."""
        prefix = self.prefix.after(piece)
        return None if prefix is None else replace(self, prefix=prefix)

    def allows(self, piece: bytes) -> bool:
        """See `Text`."""
        return self.prefix.allows(piece)

    def children(self) -> list[tuple[bytes, Text]]:
        """See `Text`."""
        return [(byte, replace(self, prefix=prefix)) for byte, prefix in self.prefix.children()]

    @property
    def is_wide(self) -> bool:
        """See `Text`."""
        return self.prefix.count > _WIDE

    def common(self, most: int) -> bytes:
        """See `Text`."""
        return self.prefix.common(most)

    @property
    def may_end(self) -> bool:
        """See `Text`."""
        return self.prefix.is_whole


@dataclass(frozen=True, slots=True)
class Occurring:
    """A text that occurs in a document, exactly `once` or at least once as a whole word, and is more than blanks."""

    document: Suffixes
    prefix: Prefix
    once: bool
    least: float = 0.0
    blank: bool = True
    free: bool = False

    def after(self, piece: bytes) -> "Occurring | None":
        """See `Text`."""
        if not self._begins_well(piece):
            return None
        prefix = self.prefix.after(piece)
        return None if prefix is None else replace(self, prefix=prefix, blank=self.blank and piece.isspace())

    def allows(self, piece: bytes) -> bool:
        """See `Text`."""
        return self._begins_well(piece) and self.prefix.allows(piece)

    def children(self) -> list[tuple[bytes, Text]]:
        """See `Text`."""
        return [
            (byte, replace(self, prefix=prefix, blank=self.blank and byte.isspace()))
            for byte, prefix in self.prefix.children()
            if self._begins_well(byte)
        ]

    @property
    def is_wide(self) -> bool:
        """See `Text`."""
        return self.prefix.count > _WIDE

    def common(self, most: int) -> bytes:
        """See `Text`."""
        return self.prefix.common(most)

    @property
    def may_end(self) -> bool:
        """See `Text`."""
        if self.blank or not self._ends_well:
            return False
        if self.once:
            return self.prefix.count == 1
        return self.document.has_whole(self.prefix.texts.part(self.prefix.low, 0, self.prefix.length))

    def _begins_well(self, piece: bytes) -> bool:
        """Whether the text does not begin in the middle of a character."""
        return self.prefix.length > 0 or piece[0] & 0xC0 != 0x80

    @property
    def _ends_well(self) -> bool:
        """Whether the text does not end in the middle of a character."""
        following = self.prefix.texts.part(self.prefix.low, self.prefix.length, self.prefix.length + 1)
        return not following or following[0] & 0xC0 != 0x80
