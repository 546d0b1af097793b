"""Which known words a misspelt one may have meant; for searches by parts of a name see `repo.search.fuzzy`."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], count: int) -> list[str]:
    """Return the known words most like a misspelt one, the best first; empty if none is similar."""
    # Imported only when something is wrong, because every command would wait for it.
    from difflib import get_close_matches

    return get_close_matches(word, list(known), count)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the known word nearest to a misspelt one, in brackets for a sentence; empty if none is similar."""
    return "".join(f" (did you mean {near}?)" for near in nearest(word, known, 1))
