"""Which units answer a question best, and why: BM25 multiplied by what names, paths and references say.

Every feature is a factor around 1 with a weight of its own; a weight of 0 switches it off. A result carries its
factors, so that its place can be explained. The heuristics follow what raised code search most without a model
(definition boost, words of the path, coherence of a file, less for tests and what is old).
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from laguna_tui.repo.reference_graph import NEAR_ITERATIONS, ReferenceGraph
from laguna_tui.repo.relative_paths import is_prose, is_secondary, is_test, path_stem
from laguna_tui.repo.retrieval import Candidate, SearchQuery, find_candidates, name_stems, parse_query

# The files of the best so many units are where the walk over references starts.
_STARTS = 10
# A unit without any of the words can still be the definition that was named; it counts as this share of the best.
_NAMED_ONLY = 0.5


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each feature may change a score; 0 is not at all.

    Attributes:
        definition: the unit defines a name of the question (its score times 1 + this).
        stem: and the file is called like it.
        title: share of the name's words that the question has, and of the question's that the name has.
        path: share of the path's words that the question has.
        coherence: other units of the same file match too.
        aside: tests, examples, old and copied code, text and data (divided by 1 + this).
        references: files near the best ones by who refers to whom.
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
    """One result. `score` is the product of `factors`, of which "bm25" is relative to the best."""

    unit: Candidate
    score: float
    factors: dict[str, float]


class Source(Protocol):
    """An index that can be asked: what `Index` offers."""

    @property
    def connection(self) -> sqlite3.Connection: ...

    def graph(self) -> ReferenceGraph: ...


def search(index: Source, text: str, limit: int = 20, weights: Weights = Weights()) -> list[Found]:
    """The units that answer a question best, best first; none when no word is known."""
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
    """What the unit alone says."""
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
    """How far from the point a file is by its path, from 0."""
    return (is_test(path) and not question.wants_tests) + is_secondary(path) * 0.5 + is_prose(path) * 0.5


def _overlap(name: frozenset[str], asked: frozenset[str]) -> float:
    """How alike two sets of stems are: the harmonic mean of the shares that they have in common."""
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
    """Each candidate's file by how a walk from the best files' references meets it, relative to the largest."""
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
