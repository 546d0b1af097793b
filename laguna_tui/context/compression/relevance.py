"""Ranks the units and spans of documents for a question, by words, a model's scores, references and boosts.

Scores on different scales are combined by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). A score without
information about a unit (no words in common, no gain) gives no points; a unit without any points has the value 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isfinite

from laguna_engine.compress.scores import UNSCORED, Scores
from laguna_engine.errors import Stopped
from laguna_tui.context.compression.boosts import Boosts, find_boosts
from laguna_tui.context.compression.definitions import Definitions, SymbolMention, UnitId
from laguna_tui.context.compression.lexicon import Lexicon
from laguna_tui.context.compression.spans import Document

# k of reciprocal rank fusion: at 10, rank 10 (from 0) gets half the points of rank 0. The paper's 60 is for lists of
# thousands of which only the top is used; here the rank also decides how much of the budget a unit is worth.
_RRF_K = 10.0

SpanScorer = Callable[[Sequence[str], str], Sequence[Scores]]
"""Called with the texts of units, the most promising first, and the query; returns one `Scores` per text."""


def fuse(words: Sequence[float], scores: Sequence[Scores] | None) -> list[float]:
    """Fuse the scores of each unit to a value from 0 to 1, 1 for the best.

    Args:
        words: lexical scores, 0 for no word in common.
        scores: a model's scores; None without one.
    """
    point_lists = [_points(words)]
    if scores is not None:
        point_lists += [
            _points([score.gain for score in scores]),
            _points(_above([score.attention for score in scores])),
        ]
    sums = [sum(points) for points in zip(*point_lists, strict=True)]
    best = max(sums, default=0.0)
    return [value / best for value in sums] if best else sums


def _points(values: Sequence[float]) -> list[float]:
    """Return points by rank, equal for equal values; 0.0 for values that are not above 0 (or NaN)."""
    order = sorted((index for index, value in enumerate(values) if value > 0.0), key=lambda index: -values[index])
    points = [0.0] * len(values)
    rank = 0
    for position, index in enumerate(order):
        if position and values[index] < values[order[position - 1]]:
            rank = position
        points[index] = _RRF_K / (_RRF_K + rank)
    return points


def _above(values: Sequence[float]) -> list[float]:
    """Return the values shifted so that the least is 0, as attention has no natural zero; not finite ones become 0."""
    least = min((value for value in values if isfinite(value)), default=0.0)
    return [value - least if isfinite(value) else 0.0 for value in values]


# Additional occurrences that a unit's own name counts for.
_NAME_REPEATS = 2
# Largest value of a definition for being used by the best units, relative to the best one; and the number of users.
_USED = 0.5
_USERS = 100


@dataclass(frozen=True)
class Ranking:
    """The values of all units and spans.

    Attributes:
        units: for each document, the fused value of each unit: up to 1 by rank, up to `_USED` more by references.
        spans: for each document, the lexical score of each span relative to the best span of its unit, 0 to 1.
        boosts: boosts of units and spans.
        scored: whether a scorer was used.
        notes: sentences for the user about failures.
    """

    units: Sequence[Sequence[float]]
    spans: Sequence[Sequence[float]]
    boosts: Boosts
    scored: bool
    notes: tuple[str, ...]


def rank(
    documents: Sequence[Document], query: str, scorer: SpanScorer | None, should_stop: Callable[[], bool]
) -> Ranking:
    """Rank the units and spans of the documents for a question; arguments as in `compress`."""
    starts = [0, *accumulate(len(document.spans) for document in documents)]
    lexicon = Lexicon(query, [document.text[a:b] for document in documents for a, b, *_ in document.spans])
    groups = [
        [[start + index for index in own] for own in document.unit_spans]
        for document, start in zip(documents, starts, strict=False)
    ]
    flat = [group for own in groups for group in own]
    names = [unit.name for document in documents for unit in document.units]
    for group, name in zip(flat, names, strict=True):
        lexicon.name(group, name, _NAME_REPEATS)
    nearness = lexicon.scores([list(range(a, b)) for a, b in pairwise(starts)])
    known = Definitions(documents)
    matched = lexicon.scores(flat)
    near = [value for value, own in zip(nearness, groups, strict=True) for _ in own]
    order = sorted(range(len(flat)), key=lambda index: (-matched[index], -near[index], index))
    scores, notes = _score_units(documents, query, scorer, should_stop, order)
    fused = fuse(matched, scores)
    fused = [value + _USED * used for value, used in zip(fused, _used(documents, known, fused), strict=True)]
    singles = lexicon.scores([[index] for index in range(starts[-1])])
    units, at = [], 0
    for own in groups:
        units.append(fused[at : at + len(own)])
        at += len(own)
    spans = [_relative(document, singles[a:b]) for document, (a, b) in zip(documents, pairwise(starts), strict=True)]
    found = find_boosts(documents, query, known, lexicon, starts, nearness)
    return Ranking(units, spans, found, scores is not None, notes)


def _used(documents: Sequence[Document], known: Definitions, values: Sequence[float]) -> list[float]:
    """Return how much the best units use each unit, 0 to 1: what relevant code refers to is relevant too."""
    unit_ids = [
        UnitId(number, unit) for number, document in enumerate(documents) for unit in range(len(document.units))
    ]
    used = dict.fromkeys(unit_ids, 0.0)
    best = sorted((index for index, value in enumerate(values) if value > 0.0), key=lambda index: -values[index])
    for index in best[:_USERS]:
        user = unit_ids[index]
        # Sorted: sums of floats in a set's order differ between processes.
        for name in sorted(documents[user.document].units[user.unit].refers):
            found = known.find(SymbolMention(name, 1.0), user.document)
            for unit_id in found:
                if unit_id != user:
                    used[unit_id] += values[index] / len(found)
    most = max(used.values(), default=0.0) or 1.0
    return [used[unit_id] / most for unit_id in unit_ids]


def _relative(document: Document, scores: Sequence[float]) -> list[float]:
    best = [0.0] * len(document.units)
    for span, score in zip(document.spans, scores, strict=True):
        best[span.unit] = max(best[span.unit], score)
    return [
        score / best[span.unit] if best[span.unit] else 0.0 for span, score in zip(document.spans, scores, strict=True)
    ]


def _score_units(
    documents: Sequence[Document],
    query: str,
    scorer: SpanScorer | None,
    should_stop: Callable[[], bool],
    order: Sequence[int],
) -> tuple[Sequence[Scores] | None, tuple[str, ...]]:
    """Score every unit, in `order`; returns the scores and notes.

    None without a scorer, without a query, after a stop, and when there was no time for any.
    """
    if scorer is None or not query.strip() or should_stop():
        return None, ()
    texts = [document.unit_text(unit) for document in documents for unit in range(len(document.units))]
    try:
        scored = scorer([texts[index] for index in order], query)
    except Stopped:
        return None, ("Scoring was stopped: the words alone decided what is kept.",)
    scores = dict(zip(order, scored, strict=True))
    read = sum(len(texts[index]) for index, score in scores.items() if score is not UNSCORED)
    share = read / max(sum(map(len, texts)), 1)
    if not read:
        return None, ("There was no time for the scorer: the words alone decided what is kept.",) if texts else ()
    notes = () if share == 1.0 else (f"The scorer had time for {share:.0%} of the text; words alone ranked the rest.",)
    return [scores[index] for index in range(len(texts))], notes
