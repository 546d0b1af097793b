"""What was asked for: the words to look for, and the names among them. Deals in text; asks no index."""

import re
from functools import lru_cache
from typing import NamedTuple

from laguna_tui.repo.identifiers import STOP_WORDS, looks_like_code, parts, stem, words

# More words than this do not make a question clearer, and each costs time.
MAX_WORDS = 32
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->)\w+)*(?P<call>\(\))?")
_QUOTED = re.compile(r"[`'\"]([^`'\"\s]+)[`'\"]")
_TESTING = frozenset({"test", "spec", "fixtur", "mock"})


class Question(NamedTuple):
    """A question taken apart.

    Attributes:
        words: to be looked for, in their order, without what says nothing.
        stems: of the words that are no names joined from several, to be compared with names.
        names: last parts of what is written as code, as it was written.
        wants_tests: whether tests are what is asked for.
    """

    words: tuple[str, ...]
    stems: frozenset[str]
    names: tuple[str, ...]
    wants_tests: bool


def read_question(text: str) -> Question:
    """The question that a text asks; words that only hold a sentence together are kept when there are no others."""
    found = list(dict.fromkeys(words(text)))
    telling = [word for word in found if word not in STOP_WORDS and len(word) > 1] or found
    kept = tuple(telling[:MAX_WORDS])
    single = set(parts(text)) - STOP_WORDS
    return Question(
        kept,
        frozenset(stem(word) for word in kept if word in single),
        _names(text),
        not _TESTING.isdisjoint(map(stem, kept)),
    )


@lru_cache(maxsize=50_000)
def name_stems(name: str) -> frozenset[str]:
    """The stems of a name's words."""
    return frozenset(stem(part) for part in parts(name))


def _names(text: str) -> tuple[str, ...]:
    """What is written as a name: with capitals or underscores inside, quoted, called, dotted, or all there is."""
    quoted = set(_QUOTED.findall(text))
    found = list(_NAME.finditer(text))
    alone = len(text.split()) == 1
    names = []
    for match in found:
        token = match.group().removesuffix("()")
        last = re.split(r"\.|::|->", token)[-1]
        if alone or match["call"] or token in quoted or last != token or looks_like_code(token):
            names.append(last)
    return tuple(dict.fromkeys(names))
