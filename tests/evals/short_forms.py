"""Questions that have a word in full where the code has its short form (cfg for configuration), or the other way.

Made by a rule from code and its comments: a word of a definition's name is a short form of a word of its comment when
it begins with the same letter, has its letters in order, is its beginning or leaves out vowels, and is no word of
prose. Questions that have the name's own word too, and definitions that have the question's word too, are left out, so
that only who knows that the two are one finds the answer by it.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from tests.evals.golds import Gold

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_IDENTIFIER = re.compile(r"\w+")
# Of a definition, so much is looked at for the question's word.
_CODE_CHARS = 1_500
_MIN_LONG = 5
_MIN_BEGINNING = 3
# A word that stands in so many comments is one of prose.
_PROSE = 3
_INFLECTION = re.compile(r"(?:.?(?:s|es|ed|er|ers|or|ing|ings|ly|able|al|ion|ions|ment|ness|ity|ive|ally))$")


def short_forms(golds: Sequence[Gold], root: Path) -> list[Gold]:
    """Those of some questions about definitions below a folder that ask with another form of a word than the code."""
    prose = Counter(word for gold in golds for word in set(_words(gold.question)))
    asked = [(gold, *_parts(gold, root)) for gold in golds]
    pairs = {
        (short, long)
        for gold, name, _ in asked
        for short in name
        for long in _words(gold.question)
        if prose[short] < _PROSE and is_short(short, long)
    }
    return [
        gold for gold, name, code in asked if any(_differ(_words(gold.question), name, code, *pair) for pair in pairs)
    ]


def is_short(short: str, long: str) -> bool:
    """Return whether a word looks like a short form of another one."""
    if len(long) < _MIN_LONG or not 1 < len(short) <= len(long) - 2 or short[0] != long[0]:
        return False
    if long.startswith(short):
        return len(short) >= _MIN_BEGINNING and not _INFLECTION.match(long[len(short) :])
    letters = iter(long)
    return all(letter in letters for letter in short) and not re.search("[aeiou]", short[1:])


def _differ(question: Collection[str], name: Collection[str], code: Collection[str], short: str, long: str) -> bool:
    in_full = long in question and short in name and short not in question and long not in code
    return in_full or (short in question and long in name and long not in question and short not in code)


def _parts(gold: Gold, root: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of the definition's name, and of its code."""
    [(path, at)] = gold.answers
    text = (root / path).read_text(encoding="utf-8")
    name = _IDENTIFIER.match(text, at)
    return frozenset(_words(name.group() if name else "")), frozenset(_words(text[at : at + _CODE_CHARS]))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
