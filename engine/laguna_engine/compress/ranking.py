"""What each unit and span of some documents is worth for a question: words, a model's scores and boosts together.

Scores of different scales are made one by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). Scores that say
nothing of a unit (0 words in common, no gain) give it no points; a unit without any points is worth 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isfinite

from laguna_engine.compress.boosts import Boosts, find_boosts
from laguna_engine.compress.document import Document
from laguna_engine.compress.lexical import Lexicon
from laguna_engine.compress.result import Scores, SpanScorer
from laguna_engine.compress.symbols import Definitions, Mention, Place
from laguna_engine.errors import Stopped

# How fast points fall with the rank: the tenth has half of the first's. 60, as in the paper, is for lists of thousands
# that are cut off at the top; here the rank also says how much room a unit is worth.
_SOFTNESS = 10.0


def fuse(words: Sequence[float], scores: Sequence[Scores] | None) -> list[float]:
    """The value of each unit from 0 to 1, the best one's being 1.

    Args:
        words: lexical scores, 0 for no word in common. scores: a model's opinions, or None without one.
    """
    opinions = [_points(words)]
    if scores is not None:
        opinions += [_points([score.gain for score in scores]), _points(_above([score.attention for score in scores]))]
    sums = [sum(points) for points in zip(*opinions, strict=True)]
    best = max(sums, default=0.0)
    return [value / best for value in sums] if best else sums


def _points(values: Sequence[float]) -> list[float]:
    """Points by rank, those of equals the same; none for what is not above 0 (or no number)."""
    order = sorted((index for index, value in enumerate(values) if value > 0.0), key=lambda index: -values[index])
    points = [0.0] * len(values)
    rank = 0
    for place, index in enumerate(order):
        if place and values[index] < values[order[place - 1]]:
            rank = place
        points[index] = _SOFTNESS / (_SOFTNESS + rank)
    return points


def _above(values: Sequence[float]) -> list[float]:
    """Values with the least of them at 0: attention has no natural zero."""
    least = min((value for value in values if isfinite(value)), default=0.0)
    return [value - least if isfinite(value) else 0.0 for value in values]


# How often a unit's own name counts, besides standing in its text.
_NAME_REPEATS = 2
# What the best units use is worth up to this much of what the best one is; so many units are asked what they use.
_USED = 0.5
_USERS = 100


@dataclass(frozen=True)
class Ranking:
    """What everything is worth.

    units: for each document the fused rank of each unit, 0 to 1. spans: for each document how each span compares with
    the best span of its unit by words, 0 to 1. notes: what went wrong.
    """

    units: Sequence[Sequence[float]]
    spans: Sequence[Sequence[float]]
    claims: Boosts
    scored: bool
    notes: tuple[str, ...]


def rank(
    documents: Sequence[Document], query: str, scorer: SpanScorer | None, should_stop: Callable[[], bool]
) -> Ranking:
    """The worth of everything in the documents for a question."""
    starts = [0, *accumulate(len(document.spans) for document in documents)]
    lexicon = Lexicon(query, [document.text[a:b] for document in documents for a, b, *_ in document.spans])
    groups = [_groups(document, start) for document, start in zip(documents, starts, strict=False)]
    flat = [group for own in groups for group in own]
    for group, name in zip(flat, _names(documents), strict=True):
        lexicon.name(group, name, _NAME_REPEATS)
    scores, notes = _asked(documents, query, scorer, should_stop)
    nearness = lexicon.scores([list(range(a, b)) for a, b in pairwise(starts)])
    known = Definitions(documents)
    matched = lexicon.scores(flat)
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
    """How much the best units use each unit, 0 to 1: code that is like the question's needs what that needs."""
    places = [Place(number, unit) for number, document in enumerate(documents) for unit in range(len(document.units))]
    used = dict.fromkeys(places, 0.0)
    best = sorted((index for index, value in enumerate(values) if value > 0.0), key=lambda index: -values[index])
    for index in best[:_USERS]:
        user = places[index]
        # Sorted: sums of floats in a set's order differ from one process to the next.
        for name in sorted(documents[user.document].units[user.unit].refers):
            found = known.find(Mention(name, 1.0), user.document)
            for place in found:
                if place != user:
                    used[place] += values[index] / len(found)
    most = max(used.values(), default=0.0) or 1.0
    return [used[place] / most for place in places]


def _groups(document: Document, start: int) -> list[list[int]]:
    """For each unit the numbers of its spans among all documents' spans."""
    groups: list[list[int]] = [[] for _ in document.units]
    for index, span in enumerate(document.spans):
        groups[span.unit].append(start + index)
    return groups


def _names(documents: Sequence[Document]) -> list[str]:
    return [unit.name for document in documents for unit in document.units]


def _relative(document: Document, scores: Sequence[float]) -> list[float]:
    best = [0.0] * len(document.units)
    for span, score in zip(document.spans, scores, strict=True):
        best[span.unit] = max(best[span.unit], score)
    return [
        score / best[span.unit] if best[span.unit] else 0.0 for span, score in zip(document.spans, scores, strict=True)
    ]


def _asked(
    documents: Sequence[Document], query: str, scorer: SpanScorer | None, should_stop: Callable[[], bool]
) -> tuple[Sequence[Scores] | None, tuple[str, ...]]:
    """A model's opinion of every unit, if there is a model and nobody says stop."""
    if scorer is None or not query.strip() or should_stop():
        return None, ()
    texts = []
    for document in documents:
        pieces: list[list[str]] = [[] for _ in document.units]
        for span in document.spans:
            pieces[span.unit].append(document.text[span.start : span.stop])
        texts += ["".join(own) for own in pieces]
    try:
        return scorer(texts, query), ()
    except Stopped:
        return None, ("Scoring was stopped: the words alone decided what is kept.",)
