"""Counting tokens without counting twice. Knows no vocabulary itself."""

import hashlib
from collections.abc import Callable

from laguna_tui.context.bounded_cache import BoundedCache

# Texts whose count is remembered: a folder's files and every piece that a shortening tries, a few times over.
_REMEMBERED = 20_000
# Code has three or four characters a token, indented JSON seven. What has more is blanks: not worth counting.
MOST_CHARS_A_TOKEN = 12


class CachedTokenCounter:
    """Counts tokens, cached by the text's content. Callable from any thread."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known = BoundedCache[bytes, int](_REMEMBERED)

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        tokens = self._known.get(key)
        if tokens is None:
            tokens = self._count(text)
            self._known.put(key, tokens)
        return tokens

    def within(self, text: str, limit: int) -> int | None:
        """Return a text's tokens if there are at most `limit`, else None; far too long texts are not counted."""
        if len(text) > limit * MOST_CHARS_A_TOKEN:
            return None
        tokens = self(text)
        return tokens if tokens <= limit else None


def largest(high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `high` that fits, where everything smaller fits too; 0 when not even 1 does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
