"""The stems of a file's units and how often each has them, as flat arrays that a worker sends cheaply.

Indexed text and questions are stemmed alike: `validate`, `validation` and `validator` are one word.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from laguna_tui.repo.search.identifiers import stemmed_words, stems, tokens

TITLE_WEIGHT, PATH_WEIGHT = 4, 2
"""How many times a word of a unit's title and of its path counts as much as one of its body."""


class FileWords(NamedTuple):
    """The words of one file's units.

    Attributes:
        words: Every stem once.
        word: [n] uint32, indexes into `words`; with `unit` and `weight` the occurrences of one word in one unit.
        unit: [n] uint32, places of the units in the file.
        weight: [n] uint32, number of occurrences, weighted by where they are.
        lengths: [units] uint32, number of words.
    """

    words: tuple[str, ...] = ()
    word: bytes = b""
    unit: bytes = b""
    weight: bytes = b""
    lengths: bytes = b""


def file_words(path: str, units: Iterable[tuple[str, Sequence[str]]], limit: int) -> FileWords:
    """Return the words of a file's units.

    Args:
        path: Of the file; its words are every unit's.
        units: For each its title and its pieces of text.
        limit: Most tokens of text; those after it are left out.
    """
    numbers: dict[str, int] = {}
    word, unit, weight, lengths = (array("I") for _ in range(4))
    of_path = Counter(stemmed_words(path))
    for place, (title, pieces) in enumerate(units):
        body = [token for piece in pieces for token in tokens(piece)][:limit]
        limit -= len(body)
        counted: Counter[str] = Counter()
        for token, count in Counter(body).items():
            for stem in stems(token):
                counted[stem] += count
        of_title = Counter(stemmed_words(title))
        lengths.append(counted.total() + of_title.total() + of_path.total())
        for extra, times in ((of_title, TITLE_WEIGHT), (of_path, PATH_WEIGHT)):
            for stem, count in extra.items():
                counted[stem] += count * times
        for stem, count in counted.items():
            word.append(numbers.setdefault(stem, len(numbers)))
            unit.append(place)
            weight.append(count)
    return FileWords(tuple(numbers), word.tobytes(), unit.tobytes(), weight.tobytes(), lengths.tobytes())
