"""Counting tokens without counting twice. Knows no vocabulary itself."""

import hashlib
from collections.abc import Callable

from laguna_tui.context.bounded_cache import BoundedCache

# Cached counts: a folder's files and every piece that a shortening tries, several times over.
_CACHED_COUNTS = 20_000
# Code has three or four characters per token, indented JSON seven. More means blanks, which are not worth counting.
MOST_CHARS_A_TOKEN = 12


class CachedTokenCounter:
    """Counts tokens, cached by the text's content. Callable from any thread."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known = BoundedCache[bytes, int](_CACHED_COUNTS)

    def __call__(self, text: str) -> int:
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
