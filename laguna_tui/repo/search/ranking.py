"""Ranking of units for a question: BM25 multiplied by factors of names, paths and references.

Every feature is a factor around 1 with a weight of its own; a weight of 0 switches it off. A result carries its
factors, so that its rank can be explained. The heuristics are those that improved code search most without a model
(definition boost, words of the path, coherence of a file, penalties for tests and old code).
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from laguna_tui.repo.files.relative_paths import is_prose, is_secondary, is_test, path_stem
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.text_files import lines_below
from laguna_tui.repo.search.identifiers import stem, words
from laguna_tui.repo.search.reference_walk import near_files
from laguna_tui.repo.search.retrieval import (
    SearchQuery,
    UnitCandidate,
    find_candidates,
    name_stems,
    parse_query,
    spelled_out,
)
from laguna_tui.repo.syntax.languages import DefinitionKind, is_code

# The walk over references starts at the files of this many best units.
_STARTS = 10
# BM25 factor of a unit that has none of the words but defines a name of the question, relative to the best.
_NAMED_ONLY = 0.5
# A name that is spelled out in words is less surely meant as one than a name that is written as in code.
_SPELLED = 0.5
ALSO = 2
"""Units of a file that are shown with its best one."""
DEPTH = 500
"""Results of `search` that are enough for all places of `by_file` that anyone reads."""
_WORD = re.compile(r"[^\W\d_]{3}")
# Of a line, when the best one of a unit is chosen.
_LOOKED_AT_CHARS = 1000
_HEADERS = (".h", ".hh", ".hpp", ".hxx")


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """Weight of each feature; 0 switches it off.

    Attributes:
        definition: The unit defines a name of the question, which may be spelled out in words (times 1 + this).
        stem: The question has all of the file's name, and little else.
        title: Share of the name's words in the question, and of the question's words in the name; a name that is
            asked for and defined inside of the unit counts as the unit's own.
        path: Share of the question's words in the path.
        declares: Prototypes in headers, and files of no programming language (divided by 1 + this).
        aside: Tests, examples, old and copied code, text and data (divided by 1 + this).
        coherence: Other units of the file match too, which lifts all of them (at most by this share).
        references: Closeness of the file to the best ones in the reference graph.
        repeats: Each further unit of one file (divided by 1 + this once more).
    """

    definition: float = 2.0
    stem: float = 0.5
    title: float = 1.0
    path: float = 0.3
    declares: float = 1.0
    aside: float = 1.0
    coherence: float = 0.2
    references: float = 0.2
    repeats: float = 1.0


BM25_ALONE = RankingWeights(*[0.0] * len(fields(RankingWeights)))


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """One result. `score` is the product of `factors`; "bm25" is relative to the best."""

    unit: UnitCandidate
    score: float
    factors: dict[str, float]


class FileResult(NamedTuple):
    """What is shown of a file at one place: its best unit, and the next ones that match too, best first."""

    best: RankedUnit
    also: tuple[RankedUnit, ...]


def search(
    connection: sqlite3.Connection, text: str, limit: int = 20, weights: RankingWeights = RankingWeights()
) -> list[RankedUnit]:
    """Return the units that answer a question best, best first; empty when no word is known."""
    question = parse_query(text)
    units = find_candidates(connection, question)
    if not units:
        return []
    best = max(unit.bm25 for unit in units) or 1.0
    found = [_scored(unit, question, weights, best) for unit in units]
    if weights.coherence:
        found = _coherent(found, weights.coherence)
    if weights.references:
        found = _near(found, weights.references, connection)
    found.sort(key=best_first)
    if weights.repeats:
        found = sorted(_repeated(found, 1.0 / (1.0 + weights.repeats)), key=best_first)
    return found[:limit]


def by_file(found: Sequence[RankedUnit], limit: int = 20) -> list[FileResult]:
    """Return results as a reader sees them: a file's next `ALSO` units stand with its best one, not far below it.

    Args:
        found: Of `search`, in its order; what is beyond those units of a file stands at places of its own.
        limit: Most places.
    """
    units: dict[int, list[RankedUnit]] = {}
    for result in found:
        units.setdefault(result.unit.file, []).append(result)
    shown: dict[int, int] = dict.fromkeys(units, 0)
    places = []
    for result in found:
        file = result.unit.file
        at = shown[file]
        shown[file] += 1
        if at == 0:
            places.append(FileResult(result, tuple(units[file][1 : ALSO + 1])))
        elif at > ALSO:
            places.append(FileResult(result, ()))
    return places[:limit]


def shown_line(unit: UnitCandidate, question: SearchQuery, tree: RootFolder) -> tuple[int, str]:
    """Return the line to show of a unit and its code: without a name or a heading, the first with most of the words.

    Args:
        unit: Of a result.
        question: Whose words; where no line has any, the first line with a word is shown.
        tree: The folder; where the file is gone, the code is empty.
    """
    if unit.title:
        return unit.line, unit.signature
    wanted = set(map(stem, question.words))

    def fitness(numbered: tuple[int, str]) -> tuple[int, bool]:
        code = numbered[1][:_LOOKED_AT_CHARS]
        return len(wanted.intersection(map(stem, words(code)))), _WORD.search(code) is not None

    lines = lines_below(tree, unit.path)[unit.line - 1 : unit.end]
    numbered = enumerate(map(str.strip, lines), unit.line)
    return max(numbered, key=fitness, default=(unit.line, unit.signature))


def best_first(result: RankedUnit) -> tuple[float, str, int]:
    """Return the sort key of a result."""
    return -result.score, result.unit.path, result.unit.line


def _scored(unit: UnitCandidate, question: SearchQuery, weights: RankingWeights, best: float) -> RankedUnit:
    factors = {"bm25": unit.bm25 / best or _NAMED_ONLY, **_factors(unit, question, weights)}
    score = 1.0
    for factor in factors.values():
        score *= factor
    return RankedUnit(unit, score, factors)


def _factors(unit: UnitCandidate, question: SearchQuery, weights: RankingWeights) -> dict[str, float]:
    factors = {}
    if definition := _defines(unit, question):
        factors["definition"] = 1.0 + weights.definition * definition
    if stem := _file_named(unit, question):
        factors["stem"] = 1.0 + weights.stem * stem
    names = (unit.name or unit.title, unit.inner)
    if title := max(_overlap(name_stems(name), question.stems) for name in names):
        factors["title"] = 1.0 + weights.title * title
    if path := _share(name_stems(unit.path), question.stems):
        factors["path"] = 1.0 + weights.path * path
    if _declares(unit):
        factors["declares"] = 1.0 / (1.0 + weights.declares)
    if aside := _aside(unit.path, question):
        factors["aside"] = 1.0 / (1.0 + weights.aside * aside)
    return {name: factor for name, factor in factors.items() if factor != 1.0}


def _defines(unit: UnitCandidate, question: SearchQuery) -> float:
    """Return the confidence, to 1, that a unit defines what the question is about, by the definition's name."""
    name = unit.inner or unit.name
    written = any(name.lower() == asked.lower() for asked in question.names)
    if not written and spelled_out(name) not in question.spelled:
        return 0.0
    if _is_qualified(unit, question):
        return 1.0
    # A name in a long sentence is more often something that the answer uses.
    return _overlap(name_stems(name), question.stems) ** 2 * (1.0 if written else _SPELLED)


def _file_named(unit: UnitCandidate, question: SearchQuery) -> float:
    """Return the confidence, to 1, that a question is about a unit's file, because it has the file's name."""
    stems = name_stems(path_stem(unit.path))
    if not stems or not stems <= question.stems:
        return 0.0
    # A long sentence that has the one word of a file's name is seldom about that file, and what is defined in it says
    # more; in a language without a grammar nothing else may have a name.
    nameless = not (unit.exact or unit.name or unit.title)
    return 1.0 if nameless else _overlap(stems, question.stems) ** 2


def _aside(path: str, question: SearchQuery) -> float:
    return (is_test(path) and not question.wants_tests) + is_secondary(path) * 0.5 + is_prose(path) * 0.5


def _is_qualified(unit: UnitCandidate, question: SearchQuery) -> bool:
    """Return whether the question has the unit's name with an enclosing one."""
    title = f".{unit.title.lower()}.{unit.inner.lower()}".removesuffix(".")
    return any(title.endswith(f".{name}") for name in question.qualified)


def _declares(unit: UnitCandidate) -> bool:
    """Return whether a unit only declares what another file defines, or belongs to no programming language."""
    if not unit.exact and not is_code(unit.path):
        return True
    return unit.bare and unit.kind == DefinitionKind.FUNCTION.value and unit.path.endswith(_HEADERS)


def _overlap(name: frozenset[str], asked: frozenset[str]) -> float:
    """Return the similarity of two sets of stems: the harmonic mean of their common shares."""
    return 2.0 * len(name & asked) / (len(name) + len(asked)) if name and asked else 0.0


def _share(name: frozenset[str], asked: frozenset[str]) -> float:
    return len(name & asked) / len(asked) if asked else 0.0


def _coherent(found: Sequence[RankedUnit], weight: float) -> list[RankedUnit]:
    """Return the results lifted by their file's share of the largest sum of scores of a file.

    If only a file's best one were, the definition that is meant would stand further behind where it comes second.
    """
    sums: dict[int, float] = {}
    best: dict[int, float] = {}
    for result in found:
        file = result.unit.file
        sums[file] = sums.get(file, 0.0) + result.score
        best[file] = max(best.get(file, 0.0), result.score)
    lift = weight * max(best.values()) / max(sums.values())
    factors = {file: 1.0 + lift * total / best[file] for file, total in sums.items()}
    return [times(result, "coherence", factors[result.unit.file]) for result in found]


def _near(found: Sequence[RankedUnit], weight: float, connection: sqlite3.Connection) -> list[RankedUnit]:
    """Return the results with a factor for their file's rank in a walk from the best files."""
    start: dict[int, float] = {}
    for result in sorted(found, key=best_first)[:_STARTS]:
        start[result.unit.file] = start.get(result.unit.file, 0.0) + result.score
    near = near_files(connection, start)
    largest = max(near.values(), default=0.0)
    if largest <= 0.0:
        return list(found)
    return [times(result, "references", 1.0 + weight * near.get(result.unit.file, 0.0) / largest) for result in found]


def _repeated(found: Sequence[RankedUnit], factor: float) -> Iterator[RankedUnit]:
    """Yield the results, best first, each multiplied by the factor for every better one of its file."""
    seen: dict[int, int] = {}
    for result in found:
        better = seen.get(result.unit.file, 0)
        seen[result.unit.file] = better + 1
        yield times(result, "repeats", factor**better) if better else result


def times(result: RankedUnit, name: str, factor: float) -> RankedUnit:
    """Return a result with one more factor."""
    return RankedUnit(result.unit, result.score * factor, {**result.factors, name: factor})
