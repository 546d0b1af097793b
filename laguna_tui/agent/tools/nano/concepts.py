"""What the words of a question are in code, where no file has them: other words for it, German and Chinese ones."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_ENDING = re.compile(r"(?:e?[nrsmd]|e?t?e?|e?ten|e?st|ung(?:en|s)?|e?ne[nr]?|end(?:e[nr]?)?|ing)?")
_LINKS = ("", "s", "n", "en", "es", "er", "e", "ungs")
"""Letters between the parts of a German compound."""


def in_code(word: str) -> list[Sequence[str]]:
    """Return English words for a word, or for each of its parts, several that are worth the same; empty for none."""
    if word.isascii() or not (parts := _chinese().findall(word)):
        return _taken_apart(word.lower())
    return [_table()[part] for part in parts]


def _taken_apart(word: str) -> list[Sequence[str]]:
    for length in range(len(word), 1, -1):
        if not (english := _table().get(word[:length])):
            continue
        rest = word[length:]
        if _ENDING.fullmatch(rest):
            return [english]
        for link in _LINKS:
            if rest.startswith(link) and (more := _taken_apart(rest.removeprefix(link))):
                return [english, *more]
    return []


@cache
def _table() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    lines = Path(__file__).with_name("concepts.txt").read_text(encoding="utf-8").splitlines()
    for entry in " ".join(line for line in lines if not line.startswith("#")).split(";"):
        english, _, others = entry.partition(":")
        for other in others.split():
            found.setdefault(other, []).extend(english.split())
        # German compounds have English words too, and where no file has one, the words beside it say the same.
        for word in english.split():
            found.setdefault(word, english.split())
    return found


@cache
def _chinese() -> re.Pattern[str]:
    words = sorted((word for word in _table() if "\u3400" <= word[0] <= "\u9fff"), key=len, reverse=True)
    return re.compile("|".join(words))
