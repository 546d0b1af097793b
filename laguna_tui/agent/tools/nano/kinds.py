"""The kind of a question about code: a linear model over its words, in pure Python.

`assets/nano/recipe/kinds.py` trains it in seconds on the wordings of the recipe, with the features of this module, and
writes its weights beside it. Names and files are masked, so that only the words around them decide. German and Chinese
cue words are translated first.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from zlib import crc32

NAME, FILE = "{n}", "{f}"
"""What stands in a question for a name and for a file's path."""
BUCKETS = 1 << 13
WEIGHTS = Path(__file__).with_name("kinds.bin")
SCALE = 32.0
"""Of a weight as it is stored, in a signed byte."""
_TOKEN = re.compile(r"\{[nf]\}|[^\W\d_]+(?:'[^\W\d_]+)?")
_LONG = 5
"""Words with at least so many letters also count by their pieces, so that a typing error does not hide them."""
_PIECE = 4


class QuestionKind(Enum):
    """What a question wants.

    Attributes:
        WORK: Something that this model cannot do at all.
    """

    WHERE = "where is X defined"
    TAKES = "what does f take"
    USES = "who calls g"
    TESTS = "which tests cover X"
    OUTLINE = "what is in file F"
    MEMBERS = "which methods has X"
    SUBCLASSES = "which classes inherit from X"
    BASES = "what does X inherit from"
    FAMILY = "which exceptions are there"
    CONCEPT = "where is the retry logic"
    FILES = "is there a changelog"
    EXPLAIN = "how does X work"
    RENAME = "rename X to Y"
    DOCSTRING = "add a docstring to X"
    TALK = "hello"
    WORK = "write a server"


KINDS = tuple(QuestionKind)


def features(masked: str) -> set[int]:
    """Return the buckets of a masked question: its words, pairs and triples of them, and pieces of long words."""
    return {crc32(each.encode()) % BUCKETS for each in _features(masked)}


def probabilities(masked: str) -> Mapping[QuestionKind, float]:
    """Return how likely a masked question is of each kind."""
    weights, found = _weights(), features(masked)
    rows = [weights[at * (BUCKETS + 1) : (at + 1) * (BUCKETS + 1)] for at in range(len(KINDS))]
    scores = [(row[BUCKETS] + sum(row[bucket] for bucket in found)) / SCALE for row in rows]
    highest = max(scores)
    shares = [math.exp(score - highest) for score in scores]
    return {kind: share / sum(shares) for kind, share in zip(KINDS, shares, strict=True)}


def read_kind(masked: str) -> QuestionKind:
    """Return the most likely kind of a masked question."""
    found = probabilities(masked)
    return max(found, key=lambda kind: found[kind])


@cache
def _weights() -> "array[int]":
    """Return a row for each kind: a weight for each bucket, then the bias."""
    return array("b", WEIGHTS.read_bytes())


def _features(masked: str) -> Iterator[str]:
    words = ["^", *_TOKEN.findall(masked.lower()), "$"]
    for length in (1, 2, 3):
        yield from (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))
    # Words that stand anywhere before or after the first name.
    if NAME in words:
        at = words.index(NAME)
        yield from (f"<{word}" for word in words[:at])
        yield from (f">{word}" for word in words[at + 1 :])
        yield f"names {min(Counter(words)[NAME], 3)}"
    for word in words:
        if len(word) >= _LONG and word[0] != "{":
            yield from (f"#{word[at : at + _PIECE]}" for at in range(len(word) - _PIECE + 1))


def translated(text: str) -> str:
    """Return a question with its German and Chinese cue words in English, and with one way to ask where."""
    for pattern, english in _CUES:
        text = pattern.sub(f" {english} ", text)
    return text


_GERMAN = {
    r"wo (?:ist|sind|wird|werden|wurde|steht|liegt|finde ich|findet man)": "where is",
    r"in welcher datei (?:ist|steht|liegt|wird)?": "in which file is",
    r"(?:definiert|deklariert)": "defined",
    r"(?:implementiert|umgesetzt)": "implemented",
    r"definition von": "definition of",
    r"wer (?:ruft|benutzt|verwendet|nutzt|braucht)": "who calls",
    r"was (?:ruft|benutzt|verwendet|nutzt)": "what uses",
    r"(?:verwendet|benutzt|genutzt|gebraucht|aufgerufen)": "used",
    r"(?:aufrufer|aufrufe|verwendungen|aufrufstellen) von": "callers of",
    r"(?:gibt es|existiert|existieren|gibts) (?:ein|eine|einen)?": "is there a",
    "gibt es": "is there",
    r"welche tests (?:testen|decken|prüfen|gibt es für)": "which tests cover",
    r"(?:getestet|testet)": "tested",
    r"tests? (?:für|zu|von)": "tests for",
    r"welche (?:parameter|argumente) (?:hat|nimmt|erwartet|braucht)": "which arguments does it take",
    r"welche (?:methoden) (?:hat|bietet)": "which methods has",
    r"welche (?:unterklassen) (?:hat)": "which subclasses has",
    r"(?:welche klassen|was|wer) (?:erbt|erben) von": "which classes inherit from",
    r"was (?:ist|steht|steckt) in": "what is in",
    r"(?:was|welche) (?:enthält|definiert)": "what does it define",
    r"wie (?:funktioniert|geht|arbeitet)": "how does it work",
    r"wie (?:wird|werden|ist|kann|lautet)": "how is",
    r"(?:warum|wieso|weshalb)": "why",
    r"wozu (?:dient|ist)": "what is the purpose of",
    r"was (?:macht|tut)": "what does it do",
    r"(?:erklär|erkläre|beschreibe)": "explain",
    r"(?:zeig|zeige) (?:mir)?": "show me",
    r"benenne": "rename",
    r"welche(?:r|s|n)?": "which",
    r"(?:es|sie|ihn)": "it",
    "wo": "where",
    "wer": "who",
    "was": "what",
    "wie": "how",
    r"(?:liegt|liegen|steht|befindet sich)": "is",
    r"(?:methode|methoden)": "methods",
    r"(?:klasse|klassen)": "classes",
    r"(?:funktion|funktionen)": "functions",
    r"(?:unterklasse|unterklassen)": "subclasses",
    r"(?:ausnahme|ausnahmen|exceptions|fehlerklassen)": "exceptions",
    r"(?:datei|dateien)": "files",
    r"(?:lizenz)": "license",
    r"(?:version|versionsnummer)": "version",
    r"(?:anleitung|installationsanleitung)": "install guide",
    r"(?:autor|autoren)": "authors",
    r"(?:abhängigkeit|abhängigkeiten)": "dependencies",
    r"(?:änderungsprotokoll|änderungen|versionshinweise)": "changelog",
    r"(?:dokumentation|doku)": "documentation",
    r"(?:konfiguration|konfig|einstellungen)": "configuration",
    r"(?:beispiel|beispiele)": "examples",
    r"(?:hat)": "has",
    r"(?:ein|eine|einen|einem|einer|der|die|das|den|dem|des)": "the",
    r"(?:ist|sind|wird|werden)": "is",
    r"(?:für)": "for",
    r"(?:und)": "and",
    r"(?:auf)": "",
    r"(?:hier|denn|eigentlich|bitte|mal)": "",
}
_CHINESE = {
    r"(?:在)?(?:哪里|哪儿|哪些地方|什么地方|何处)(?:被)?(?:使用|调用|用到|用)(?:了|到)?": "where is it used",
    r"(?:在|是在)?(?:哪里|哪儿|哪个文件|哪个文件里|什么地方|何处)(?:被)?": "where is",
    r"(?:的)?定义": "defined",
    r"(?:的)?实现": "implemented",
    r"(?:谁|哪些地方|哪里|什么)(?:在)?(?:调用|使用|用到|用)(?:了|到)?": "who calls",
    r"(?:被)?(?:谁)(?:调用|使用)": "who calls",
    r"(?:哪些|有哪些|什么)测试(?:覆盖|用到|测试)?(?:了)?": "which tests cover",
    r"(?:有|有没有)测试(?:吗)?": "is it tested",
    r"测试": "tests",
    r"(?:有哪些|哪些)(?:参数)": "which arguments does it take",
    r"参数": "arguments",
    r"(?:的)?(?:有哪些|哪些)?方法": "methods",
    r"(?:的)?(?:子类|派生类)": "subclasses of",
    r"(?:继承(?:自)?)": "inherits from",
    r"(?:异常)": "exceptions",
    r"(?:里|里面|中)?有(?:什么|哪些|些什么)": "what is in",
    r"(?:有没有|是否有)": "is there a",
    r"(?:如何|怎么|怎样)": "how does",
    r"(?:为什么|为何)": "why",
    r"(?:做什么|干什么|的作用|是什么)": "what does it do",
    r"(?:解释|说明)": "explain",
    r"(?:重命名)": "rename",
    r"(?:被)?(?:使用|调用|用到)": "used",
    r"(?:更新日志|变更日志|变更记录)": "changelog",
    r"(?:许可证|协议|授权)": "license",
    r"(?:依赖)": "dependencies",
    r"(?:文档)": "documentation",
    r"(?:配置)": "configuration",
    r"(?:版本)": "version",
    r"(?:它们?|那个)": "it",
    r"(?:类)": "classes",
    r"(?:函数)": "function",
    r"(?:文件)": "file",
    r"(?:吗|呢|的|了|在|请问|请|被|把|将|从|？|。)": "",
}
_FIND = r"\bhow (?:do|can|could|would|to)(?: i| we| you| one)? (?:find|locate|spot|get to)\b"
_CUES = [
    (re.compile(_FIND, re.IGNORECASE), "where is"),
    *((re.compile(rf"(?<!\w){german}(?!\w)", re.IGNORECASE), english) for german, english in _GERMAN.items()),
    *((re.compile(chinese), english) for chinese, english in _CHINESE.items()),
]
