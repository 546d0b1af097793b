"""Ranking of units for a question: BM25 multiplied by factors of names, paths and references.

Every feature is a factor around 1 with a weight of its own; a weight of 0 switches it off. A result carries its
factors, so that its rank can be explained. The heuristics are those that improved code search most without a model
(definition boost, words of the path, coherence of a file, penalties for tests and old code).
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from laguna_tui.repo.reference_graph import NEAR_ITERATIONS, ReferenceGraph
from laguna_tui.repo.relative_paths import is_prose, is_secondary, is_test, path_stem
from laguna_tui.repo.retrieval import Candidate, SearchQuery, find_candidates, name_stems, parse_query

# The walk over references starts at the files of this many best units.
_STARTS = 10
# BM25 factor of a unit that has none of the words but defines a name of the question, relative to the best.
_NAMED_ONLY = 0.5


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of each feature; 0 switches it off.

    Attributes:
        definition: The unit defines a name of the question (its score times 1 + this).
        stem: And the file is named like it.
        title: Share of the name's words in the question, and of the question's words in the name.
        path: Share of the question's words in the path.
        coherence: Other units of the same file match too.
        aside: Tests, examples, old and copied code, text and data (divided by 1 + this).
        references: Closeness of the file to the best ones in the reference graph.
    """

    definition: float = 2.0
    stem: float = 0.5
    title: float = 1.0
    path: float = 0.3
    coherence: float = 0.2
    aside: float = 1.0
    references: float = 0.2


BM25_ALONE = Weights(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Found:
    """One result. `score` is the product of `factors`; "bm25" is relative to the best."""

    unit: Candidate
    score: float
    factors: dict[str, float]


class Source(Protocol):
    """An index to search, such as `Index`."""

    @property
    def connection(self) -> sqlite3.Connection: ...

    def graph(self) -> ReferenceGraph: ...


def search(index: Source, text: str, limit: int = 20, weights: Weights = Weights()) -> list[Found]:
    """Return the units that answer a question best, best first; empty when no word is known."""
    question = parse_query(text)
    units = find_candidates(index.connection, question)
    if not units:
        return []
    best = max(unit.bm25 for unit in units) or 1.0
    found = [_scored(unit, question, weights, best) for unit in units]
    found = _with_shares(found, "coherence", weights.coherence, _coherence(found))
    if weights.references:
        found = _with_shares(found, "references", weights.references, _nearness(index.graph(), found))
    return sorted(found, key=lambda result: (-result.score, result.unit.path, result.unit.line))[:limit]


def _scored(unit: Candidate, question: SearchQuery, weights: Weights, best: float) -> Found:
    """Score a unit by itself."""
    factors = {"bm25": unit.bm25 / best or _NAMED_ONLY, **_factors(unit, question, weights)}
    score = 1.0
    for factor in factors.values():
        score *= factor
    return Found(unit, score, factors)


def _factors(unit: Candidate, question: SearchQuery, weights: Weights) -> dict[str, float]:
    factors = {}
    named = {name.lower() for name in question.names}
    defines = unit.name.lower() in named
    stems = name_stems(path_stem(unit.path))
    if defines:
        # A name in a long sentence is more often something that the answer uses.
        factors["definition"] = 1.0 + weights.definition * _overlap(name_stems(unit.name), question.stems) ** 2
    if unit.name and name_stems(unit.name) & question.stems and stems and stems <= question.stems:
        factors["stem"] = 1.0 + weights.stem
    if title := _overlap(name_stems(unit.name or unit.title), question.stems):
        factors["title"] = 1.0 + weights.title * title
    if path := _share(name_stems(unit.path), question.stems):
        factors["path"] = 1.0 + weights.path * path
    if aside := _aside(unit.path, question):
        factors["aside"] = 1.0 / (1.0 + weights.aside * aside)
    return {name: factor for name, factor in factors.items() if factor != 1.0}


def _aside(path: str, question: SearchQuery) -> float:
    """Penalty of a file by its path, from 0."""
    return (is_test(path) and not question.wants_tests) + is_secondary(path) * 0.5 + is_prose(path) * 0.5


def _overlap(name: frozenset[str], asked: frozenset[str]) -> float:
    """Similarity of two sets of stems: the harmonic mean of their common shares."""
    return 2.0 * len(name & asked) / (len(name) + len(asked)) if name and asked else 0.0


def _share(name: frozenset[str], asked: frozenset[str]) -> float:
    return len(name & asked) / len(asked) if asked else 0.0


def _coherence(found: Sequence[Found]) -> dict[int, float]:
    """Each file's sum of scores, relative to the largest."""
    sums: dict[int, float] = {}
    for result in found:
        sums[result.unit.file] = sums.get(result.unit.file, 0.0) + result.score
    largest = max(sums.values())
    return {file: total / largest for file, total in sums.items()}


def _nearness(graph: ReferenceGraph, found: Sequence[Found]) -> dict[int, float]:
    """Each candidate file's rank in a walk from the best files' references, relative to the largest."""
    start: dict[int, float] = {}
    for result in sorted(found, key=lambda result: -result.score)[:_STARTS]:
        start[result.unit.file] = start.get(result.unit.file, 0.0) + result.score
    rank = graph.personalised(graph.nodes(start), NEAR_ITERATIONS)
    largest = float(rank.max(initial=0.0))
    if largest <= 0.0:
        return {}
    return {file: value / largest for file, value in graph.values(rank, {result.unit.file for result in found}).items()}


def _with_shares(found: Sequence[Found], name: str, weight: float, shares: Mapping[int, float]) -> list[Found]:
    """The results with one more factor, by file."""
    if not weight:
        return list(found)
    changed = []
    for result in found:
        factor = 1.0 + weight * shares.get(result.unit.file, 0.0)
        changed.append(Found(result.unit, result.score * factor, {**result.factors, name: factor}))
    return changed
