"""What may decide which parts of a prompt are kept: what anybody would try first, and our compressor with and without
each of its features.

A keeper gets the same files, question and budget as every other and answers with the characters that it keeps.
Only our compressor pays for the lines that say what is missing; the others get the whole budget for text.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from laguna_engine.llama.model import Model
from laguna_tui.repo.search.identifiers import words
from laguna_tui.repo.syntax.analysis import analyse
from laguna_tui.repo.syntax.languages import DefinitionKind
from tests.evals.corpora import HERE

NANO = HERE / "assets/nano/laguna-nano.gguf"
Ranges = Mapping[str, Sequence[tuple[int, int]]]
"""Kept characters of each file, in any order."""


@dataclass(frozen=True)
class Task:
    """What is asked, of which files (path, text), in the order of the prompt. `protected` paths stay as they are."""

    query: str
    files: tuple[tuple[str, str], ...]
    protected: frozenset[str] = frozenset()

    @property
    def open_files(self) -> list[tuple[str, str]]:
        return [(path, text) for path, text in self.files if path not in self.protected]

    def budget(self, keep: float) -> int:
        """Return tokens to cut to: the protected files and a share of the others."""
        fixed = sum(measure(text) for path, text in self.files if path in self.protected)
        return fixed + int(keep * sum(measure(text) for _, text in self.open_files))


Keeper = Callable[[Task, int], Ranges]


@cache
def _vocabulary():
    return Model.open(NANO).vocab


@lru_cache(maxsize=1_000_000)
def measure(text: str) -> int:
    """Return tokens of a text, in Laguna Nano's vocabulary: about 3 characters of code each."""
    return len(_vocabulary().tokenize(text, special=False))


@dataclass(frozen=True)
class Piece:
    """A definition, or what lies between two: kept as a whole by the simple keepers."""

    path: str
    spans: tuple[tuple[int, int], ...]
    head: tuple[int, int] | None
    text: str = field(repr=False)


@lru_cache(maxsize=4096)
def pieces(path: str, text: str) -> tuple[Piece, ...]:
    """Return a file's pieces in their order, each with the characters of its signature."""
    syntax = analyse(path, text)
    made = []
    for unit in syntax.units:
        symbol = None if unit.symbol is None else syntax.symbols[unit.symbol]
        head = (symbol.start, symbol.body) if symbol and symbol.kind is not DefinitionKind.VARIABLE else None
        made.append(Piece(path, unit.spans, head, "".join(text[a:b] for a, b in unit.spans)))
    return tuple(made)


class _Room:
    """Fills a budget; what does not fit is passed over."""

    def __init__(self, task: Task, budget: int) -> None:
        self.kept: dict[str, list[tuple[int, int]]] = {}
        self.left = budget
        for path, text in task.files:
            if path in task.protected:
                self.add(path, [(0, len(text))], measure(text))

    def add(self, path: str, spans: Iterable[tuple[int, int]], cost: int) -> None:
        if cost <= self.left:
            self.left -= cost
            self.kept.setdefault(path, []).extend(spans)


def _all_pieces(task: Task) -> list[Piece]:
    return [piece for path, text in task.open_files for piece in pieces(path, text)]


def by_chance(task: Task, budget: int) -> Ranges:
    """Return whole definitions in random order."""
    shuffled = _all_pieces(task)
    random.Random(len(task.query)).shuffle(shuffled)
    return _filled(task, budget, shuffled)


def by_bm25(task: Task, budget: int) -> Ranges:
    """Return whole definitions, best BM25 first (identifiers split into their words)."""
    return _filled(task, budget, _bm25(task))


def by_skeleton(task: Task, budget: int) -> Ranges:
    """Return signatures in the order of the files, and nothing else."""
    room = _Room(task, budget)
    _add_heads(task, room)
    return room.kept


def by_skeleton_then_bm25(task: Task, budget: int) -> Ranges:
    """Return all signatures, then the rest of the best definitions."""
    room = _Room(task, budget)
    _add_heads(task, room)
    for piece in _bm25(task):
        paid = (
            measure(piece.text[: piece.head[1] - piece.head[0]]) if piece.head in room.kept.get(piece.path, ()) else 0
        )
        room.add(piece.path, piece.spans, measure(piece.text) - paid)
    return room.kept


def by_tail(task: Task, budget: int) -> Ranges:
    """Return the last lines of the prompt."""
    room = _Room(task, budget)
    for path, text in reversed(task.open_files):
        stop = len(text)
        for line in reversed(text.splitlines(keepends=True)):
            if (cost := measure(line)) > room.left:
                return room.kept
            room.add(path, [(stop - len(line), stop)], cost)
            stop -= len(line)
    return room.kept


def _filled(task: Task, budget: int, ordered: Iterable[Piece]) -> Ranges:
    room = _Room(task, budget)
    for piece in ordered:
        room.add(piece.path, piece.spans, measure(piece.text))
    return room.kept


def _add_heads(task: Task, room: _Room) -> None:
    for piece in _all_pieces(task):
        if piece.head:
            room.add(piece.path, [piece.head], measure(piece.text[: piece.head[1] - piece.head[0]]))


def _bm25(task: Task) -> list[Piece]:
    """Return the pieces, best first; among equals in the order of the files."""
    every = _all_pieces(task)
    scores = bm25(words(task.query), [piece.text for piece in every])
    return [every[index] for index in sorted(range(len(every)), key=lambda index: -scores[index])]


def bm25(query: Iterable[str], texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Return Okapi BM25 of each text for the query's words (Robertson and Zaragoza, 2009)."""
    counts = [_counted(text) for text in texts]
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / max(len(lengths), 1) or 1.0
    found = Counter(word for count in counts for word in count)
    scores = [0.0] * len(texts)
    for word in dict.fromkeys(query):
        rarity = math.log(1 + (len(texts) - found[word] + 0.5) / (found[word] + 0.5))
        for index, count in enumerate(counts):
            if times := count[word]:
                scores[index] += rarity * times * (k1 + 1) / (times + k1 * (1 - b + b * lengths[index] / average))
    return scores


@lru_cache(maxsize=65536)
def _counted(text: str) -> Counter[str]:
    return Counter(words(text))


def missing(text: str, start: int, stop: int, ranges: Sequence[tuple[int, int]]) -> str:
    """Return what of text[start:stop] lies in no range, without blanks at its ends."""
    left = []
    for low, high in sorted(ranges):
        if high > start and low < stop:
            left.append(text[start : max(low, start)])
            start = max(start, high)
    return "".join([*left, text[start:stop] if start < stop else ""]).strip()


def line_span(text: str, first: int, last: int) -> tuple[int, int]:
    """Return characters of the lines `first` to `last`, counted from 1."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: first - 1])
    return start, start + sum(len(line) + 1 for line in lines[first - 1 : last]) - 1


BASELINES: dict[str, Keeper] = {
    "random definitions": by_chance,
    "tail": by_tail,
    "skeleton only": by_skeleton,
    "BM25": by_bm25,
    "skeleton, then BM25": by_skeleton_then_bm25,
}
