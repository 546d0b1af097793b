"""Counting tokens without counting twice, and finding what fits into a number of them. Knows no vocabulary itself."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

# Texts whose count is remembered: a folder's files and every piece that a shortening tries, a few times over.
_REMEMBERED = 20_000
# Code has three or four characters a token, indented JSON seven. What has more is blanks: not worth counting.
MOST_CHARS_A_TOKEN = 12


class Counter:
    """Tokens of texts, remembered by their contents. Any thread."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """How many tokens a text has."""
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        tokens = self._count(text)
        with self._lock:
            self._known[key] = tokens
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return tokens

    def within(self, text: str, limit: int) -> int | None:
        """A text's tokens when there are at most `limit`, else None; of a text that is far too long, at no cost."""
        if len(text) > limit * MOST_CHARS_A_TOKEN:
            return None
        tokens = self(text)
        return tokens if tokens <= limit else None


def largest(high: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `high` that fits, where everything smaller fits too; 0 when not even 1 does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
