"""Splitting text and identifiers into the words that are indexed: `parseConfigFile` gives parse, config and file too.

Also the names in the languages' standard libraries: a call of `join` is no reference to a file that defines `join`.
"""

import builtins
import collections.abc
import pathlib
import re
import typing
from functools import lru_cache
from threading import Lock

from snowballstemmer.english_stemmer import EnglishStemmer

# Longer runs are hashes, keys and encoded data: nobody searches for them, and each would be a word of its own.
WORD_LIMIT_CHARS = 64
# Split names are cached across files; data files full of different names must not fill the memory.
_CACHED_TOKENS = 200_000
_TOKEN = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_BETWEEN = re.compile(r"[\W_]+")
_MIXED = re.compile(r"[a-z0-9][A-Z]|\w_\w")

STOP_WORDS = frozenset(
    "a an and are as at be by can do does for from get has have how i if in into is it its of on or that the their"
    " them then there these this to was we were what when where which who why will with you".split()
)
"""Words of a question that are not about code."""


def tokens(text: str) -> list[str]:
    """Return the names, words and numbers of a text, as written."""
    found: list[str] = _TOKEN.findall(text)
    return found


def words(text: str) -> list[str]:
    """Return the words of a text in order and in lower case, with identifiers split and joined."""
    return [word for token in tokens(text) for word in _split(token)]


def question_words(text: str) -> list[str]:
    """Return the words of a question without stop words; all of them if nothing else is left."""
    found = words(text)
    return [word for word in found if word not in STOP_WORDS and len(word) > 1] or found


def stemmed_words(text: str) -> list[str]:
    return [stem for token in tokens(text) for stem in stems(token)]


def parts(name: str) -> list[str]:
    """Return the words of one name, without the joined one: `HTTPServer` gives http and server."""
    if name.isascii():
        return [part.lower() for part in _PART.findall(name)]
    return [part.lower() for part in _BETWEEN.split(name) if part]


def looks_like_code(token: str) -> bool:
    """Return whether a word of a question is written like an identifier: with an underscore or a capital inside."""
    return _MIXED.search(token) is not None


# The stemmer holds the word that it works on.
_STEMMER, _STEMMER_LOCK = EnglishStemmer(), Lock()
# Longer words are joined names and codes, of which there are many and no two of one stem.
_STEMMED_CHARS = 16


@lru_cache(maxsize=_CACHED_TOKENS)
def stem(word: str) -> str:
    """Return what an English word in lower case has in common with its other forms (Snowball's stemmer)."""
    if len(word) > _STEMMED_CHARS or not word.isalpha() or not word.isascii():
        return word
    with _STEMMER_LOCK:
        return str(_STEMMER.stemWord(word))


@lru_cache(maxsize=_CACHED_TOKENS)
def stems(token: str) -> tuple[str, ...]:
    return tuple(map(stem, _split(token)))


def _split(token: str) -> tuple[str, ...]:
    if len(token) > WORD_LIMIT_CHARS:
        return ()
    pieces = tuple(parts(token))
    return pieces if len(pieces) < 2 else (*pieces, "".join(pieces))


_TYPES = (str, bytes, list, dict, set, tuple, int, float, object, type, Exception, pathlib.Path)
_ELSEWHERE = """
    assert bool byte char console double error float interface long nil null option result self short string super this
    void Array Boolean Buffer Date Document Double Err Error Event Float Integer Iterator Long Map Math Node Number None
    Object Ok Option Promise Record RegExp Result Rc Arc Self Set Some String StringBuilder Symbol Vec Void
    addEventListener append apply assign bind call catch charAt clone concat contains containsKey default equals every
    fetch filter find findIndex first flat flatMap forEach from fromEntries get getOrDefault getClass has hashCode
    includes indexOf init insert into isEmpty iter iterator join keys last len length log main make map match max min
    new next now parse push print println printf Printf Println Sprintf Errorf reduce remove replace require resolve
    reject run set setTimeout shift size slice some sort splice split start stop stringify substring test then toFixed
    toLowerCase toString toUpperCase trim unwrap unshift update use value values with write read close open
    malloc free memcpy memset sizeof strlen strcmp size_t uint8_t uint32_t uint64_t int32_t int64_t vector begin end
""".split()

COMMON_NAMES = frozenset(
    [
        *dir(builtins),
        *(name for kind in _TYPES for name in dir(kind)),
        *typing.__all__,
        *collections.abc.__all__,
        *_ELSEWHERE,
    ]
)
"""Python's from the running version; of the other languages the most frequent ones."""
