"""Laguna's kind of vocabulary at a useful size: about 3.3 characters a token in code and prose, any text as bytes.

The merges beside this file were trained on this repository's own text by `python -m tests.scripted_model.vocabulary`.
They stay as they are when the text changes.
"""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from tests.engine import tiny

_MERGES = Path(__file__).with_name("merges.txt")
_COUNT = 7900
_WORD = re.compile(r"[^\w\s]?[A-Za-z]+|[ _][A-Za-z]+|\d| ?[^\w\s]+|\n+|[^\S\n]+(?!\S)|\s+|_+|\w")


@cache
def _merges() -> tuple[str, ...]:
    return tuple(_MERGES.read_text(encoding="utf-8").splitlines())


SIZE = 8183
"""Tokens."""


def vocabulary(
    control: Sequence[str] = (), defined: Sequence[str] = ()
) -> tuple[list[str], list[int], tuple[str, ...]]:
    """Texts, types and merges of all tokens; Laguna's special ones, unless others are given."""
    specials = [*(control or tiny.special_texts()), *defined]
    texts = [*specials, *dict.fromkeys([*tiny.byte_characters(), *(merge.replace(" ", "") for merge in _merges())])]
    kinds = [tiny.CONTROL] * (len(specials) - len(defined)) + [tiny.USER_DEFINED] * len(defined)
    types = kinds + [tiny.NORMAL] * (len(texts) - len(specials))
    unused = SIZE - len(texts)
    assert unused == 0 or control
    return [*texts, *(f"[UNUSED_{index}]" for index in range(unused))], [*types, *[tiny.UNUSED] * unused], _merges()


def add_tokenizer(file: tiny.GgufFile) -> None:
    """Put the vocabulary into a model file."""
    tiny.put_tokenizer(file, *vocabulary())


def train(text: str, count: int) -> list[str]:
    """Byte-pair merges, the most frequent pair first; ties go to the pair that is smaller."""
    stand_in = tiny.byte_characters()
    counted = Counter(_WORD.findall(text))
    words = [[stand_in[byte] for byte in word.encode()] for word in counted]
    pairs = _Pairs()
    for index, (word, weight) in enumerate(zip(words, counted.values(), strict=True)):
        pairs.add(index, word, weight)
    weights, merges = list(counted.values()), []
    while len(merges) < count and (best := pairs.most_frequent()) is not None:
        merges.append(" ".join(best))
        for index in pairs.words_of(best):
            before, words[index] = words[index], tiny.merged(words[index], best)
            pairs.add(index, before, -weights[index])
            pairs.add(index, words[index], weights[index])
    return merges


class _Pairs:
    """Weighted counts of neighbouring symbols."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._words: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._queue: list[tuple[int, tuple[str, str]]] = []

    def add(self, index: int, word: list[str], weight: int) -> None:
        for pair in pairwise(word):
            self._counts[pair] += weight
            self._words[pair].add(index)
            heapq.heappush(self._queue, (-self._counts[pair], pair))

    def most_frequent(self) -> tuple[str, str] | None:
        """The most frequent pair; counts that changed since they were queued are skipped."""
        while self._queue:
            number, pair = heapq.heappop(self._queue)
            if -number == self._counts[pair] > 0:
                return pair
        return None

    def words_of(self, pair: tuple[str, str]) -> set[int]:
        return self._words.pop(pair)


if __name__ == "__main__":
    _top = Path(__file__).parents[2]
    _kinds = ("*.py", "*.md", "*.toml")
    _files = sorted(path for kind in _kinds for path in _top.rglob(kind) if ".venv" not in path.parts)
    _text = "\n".join(path.read_text(encoding="utf-8") for path in _files)
    _MERGES.write_text("\n".join(train(_text, _COUNT)) + "\n", encoding="utf-8")
