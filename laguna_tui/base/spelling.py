"""Which known words a misspelt one may have meant.

For words that were meant to be whole; letters typed to find a longer name are `repo.search.fuzzy`'s.
"""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], count: int) -> list[str]:
    """The known words most like a misspelt one, the best first; none that is unlike."""
    # Imported when something is wrong, because every command would wait for it.
    from difflib import get_close_matches

    return get_close_matches(word, list(known), count)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known word nearest to a misspelt one, as a part of a sentence in brackets; empty if none is near."""
    return "".join(f" (did you mean {near}?)" for near in nearest(word, known, 1))
