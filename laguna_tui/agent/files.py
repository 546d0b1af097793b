"""What was read of files in a conversation, as tokens that a copying drafter may propose. Bounded, latest last."""

from collections.abc import Sequence

# About 1,500 lines of code: what a conversation is about at the moment. More only makes wrong matches likelier.
MAX_TOKENS = 16_384


class FilesRead:
    """Tokens of what was read. A stretch that is read again moves to the end and is still the same object."""

    def __init__(self) -> None:
        self._stretches: dict[str, Sequence[int]] = {}

    @property
    def tokens(self) -> tuple[Sequence[int], ...]:
        """Everything that is kept, latest last."""
        return tuple(self._stretches.values())

    @property
    def texts(self) -> tuple[str, ...]:
        """What was read, latest last."""
        return tuple(self._stretches)

    def holds(self, text: str) -> bool:
        """Whether this text is kept; if so, it is the latest now."""
        known = self._stretches.pop(text, None)
        if known is not None:
            self._stretches[text] = known
        return known is not None

    def add(self, text: str, tokens: Sequence[int]) -> None:
        """Keep a text's tokens, its end when it is too long alone, and forget the oldest that no longer fit."""
        self._stretches[text] = tuple(tokens[-MAX_TOKENS:])
        while sum(map(len, self._stretches.values())) > MAX_TOKENS:
            del self._stretches[next(iter(self._stretches))]
