"""Shortens documents to a token budget, keeping the spans most relevant to a question.

Pure Python on characters. Protected documents are unchanged; the rest is kept or dropped span by span, with a marker
line at every gap. The same input gives the same result.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from laguna_tui.base.units import some_of
from laguna_tui.context.compression.budget import Measure, Selection, TokenCosts, span_costs
from laguna_tui.context.compression.candidates import CandidateSet, Phase, SpanCandidate, phase_of
from laguna_tui.context.compression.elision import NAMES, marker, render
from laguna_tui.context.compression.relevance import Ranking, SpanScorer, rank
from laguna_tui.context.compression.result import Compression, ShortenedDocument, SpanResult, Why
from laguna_tui.context.compression.spans import Document, SpanRole

BY_WORDS = "words"
BY_MODEL = "words, gain and attention"
# Tries in which the target is corrected by the measured cost of a selection; after them it only shrinks.
_CORRECTIONS = 3
_CLOSE = 0.97
_SMALLER = 0.9
_CAUTION = 0.99
_MAX_NAMES = 5
# Markers list fewer names when those of whole documents would take more than this share of the budget.
_MARKS_SHARE = 0.1


def compress(
    documents: Sequence[Document],
    query: str,
    budget: int,
    measure: Measure,
    scorer: SpanScorer | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Compression:
    """Shorten the documents to `budget` tokens for answering `query`; unchanged if they fit.

    Args:
        documents: in prompt order.
        query: the question, or the code being written.
        budget: tokens for all parts together. Protected documents are kept even if they exceed it.
        measure: counts the tokens of a text; called once for each document and unit, and for each result.
        scorer: a model's scores of the units; None ranks by words alone.
        should_stop: once it returns True, the scorer is no longer called.
    """
    began = time.monotonic()
    measure = cache(measure)
    before = [measure(document.text) for document in documents]
    if sum(before) <= budget:
        parts = tuple(_whole(document, tokens) for document, tokens in zip(documents, before, strict=True))
        return Compression(parts, budget, sum(before), sum(before), BY_WORDS, time.monotonic() - began)
    ranking = rank(documents, query, scorer, should_stop)
    parts = _settled(documents, ranking, budget, measure)
    after = sum(part.tokens_after for part in parts)
    notes = (*ranking.notes, *_notes(parts, ranking, budget, after))
    by = BY_MODEL if ranking.scored else BY_WORDS
    return Compression(parts, budget, sum(before), after, by, time.monotonic() - began, notes)


def _settled(
    documents: Sequence[Document], ranking: Ranking, budget: int, measure: Measure
) -> tuple[ShortenedDocument, ...]:
    """Return the largest tried selection whose measured text fits; else the last one tried."""
    room = budget - sum(measure(document.text) for document in documents if document.protected)
    names = _names_that_fit(documents, room, measure)
    costs = [_costs(document, names, measure) for document in documents]
    candidates = _candidates(documents, ranking, costs, room)
    fixed = budget - room
    best: tuple[ShortenedDocument, ...] | None = None
    most, target, tries = -1, float(room), 0
    while True:
        selection = _chosen(documents, candidates, costs, target)
        parts = tuple(
            _part(document, selection.kept[number], ranking.units[number], names, measure, selection.marked[number])
            for number, document in enumerate(documents)
        )
        after = sum(part.tokens_after for part in parts) - fixed
        tries += 1
        if most < after <= room:
            best, most = parts, after
        if after <= room and (after >= _CLOSE * room or tries >= _CORRECTIONS):
            break
        if after > room and (target <= 0.0 or (best is not None and tries >= _CORRECTIONS)):
            break
        target = _next_target(target, after, room, tries)
    return best if best is not None else parts


def _next_target(target: float, after: int, room: int, tries: int) -> float:
    """Return the next target after a selection for `target` took `after` tokens."""
    if tries < _CORRECTIONS:
        return target * max(room, 0) / max(after, 1) * (_CAUTION if after > room else 1.0)
    return target * _SMALLER if target >= 1.0 else 0.0


def _names_that_fit(documents: Sequence[Document], room: int, measure: Measure) -> int:
    """Return the number of names per gap: fewer when the markers would take too much of the budget."""
    for names in range(NAMES, 0, -2):
        if sum(_mark(document, names, measure, full=True) for document in documents) <= _MARKS_SHARE * room:
            return names
    return 0


def _costs(document: Document, names: int, measure: Measure) -> TokenCosts:
    return TokenCosts(
        span_costs(document, measure),
        _mark(document, names, measure, full=True),
        _mark(document, min(names, 1), measure, full=False),
    )


def _mark(document: Document, names: int, measure: Measure, *, full: bool) -> float:
    """Return the estimated tokens of a marker line; a gap inside a document lists few names."""
    if not document.spans:
        return 0.0
    return float(measure(marker(document, 0, len(document.spans) - 1, names, full=full) + "\n"))


def _candidates(
    documents: Sequence[Document], ranking: Ranking, costs: Sequence[TokenCosts], room: int
) -> list[SpanCandidate]:
    found: list[SpanCandidate] = []
    for number, document in enumerate(documents):
        if not document.protected:
            found += CandidateSet(number, document, ranking, costs[number].spans, room).generate()
    return sorted(
        found, key=lambda candidate: (candidate.phase, -candidate.density, candidate.document, candidate.spans)
    )


def _chosen(
    documents: Sequence[Document], candidates: Sequence[SpanCandidate], costs: Sequence[TokenCosts], budget: float
) -> Selection:
    selection = Selection(documents, costs, budget)
    for number, document in enumerate(documents):
        if document.protected:
            selection.keep_all(number, Why.PROTECTED)
    selection.fill(candidates)
    selection.mark_missing()
    selection.close_gaps()
    return selection


def _part(
    document: Document,
    why: dict[int, Why],
    values: Sequence[float],
    names: int,
    measure: Measure,
    marked: bool,
) -> ShortenedDocument:
    """Return a document with only some spans kept; the text is empty when not even a marker fits."""
    text, copies = render(document, why, names) if why or marked else ("", ())
    before, after = measure(document.text), measure(text)
    if text and after >= before and len(why) < len(document.spans):
        # Its marker lines take more than what they stand for.
        everything = dict.fromkeys(range(len(document.spans)), Why.CHEAP) | why
        return _part(document, everything, values, names, measure, marked)
    results = [
        SpanResult(span, why.get(index, Why.BUDGET), values[span.unit]) for index, span in enumerate(document.spans)
    ]
    kept = tuple(result for index, result in enumerate(results) if index in why)
    dropped = tuple(result for index, result in enumerate(results) if index not in why)
    return ShortenedDocument(document, text, kept, dropped, before, after, copies)


def _whole(document: Document, tokens: int) -> ShortenedDocument:
    kept = tuple(SpanResult(span, Why.FITS, 1.0) for span in document.spans)
    return ShortenedDocument(document, document.text, kept, (), tokens, tokens, ((0, 0, len(document.text)),))


def _notes(parts: Sequence[ShortenedDocument], ranking: Ranking, budget: int, after: int) -> Iterator[str]:
    """Yield sentences for the user where the result falls short of the request."""
    if after > budget:
        yield f"Text that must not be shortened takes {after:,} tokens, more than the budget of {budget:,}."
    asked = list(dict.fromkeys(_missing_named(parts, ranking)))
    if asked:
        named = some_of(asked, _MAX_NAMES)
        yield f"There is no room for {named}, which the question names; allow more than {budget:,} tokens."
    heads = sum(dropped.span.role is SpanRole.OUTLINE for part in parts for dropped in part.dropped)
    if heads:
        yield f"{heads:,} signatures and imports did not fit either."
    silent = [part.document.path for part in parts if part.dropped and not part.text]
    if silent:
        yield f"Nothing is left of {some_of(silent, _MAX_NAMES)}."


def _missing_named(parts: Sequence[ShortenedDocument], ranking: Ranking) -> Iterator[str]:
    shown = {(number, kept.span.unit) for number, part in enumerate(parts) for kept in part.kept}
    for unit_id, boost in ranking.boosts.units.items():
        if boost.why is Why.NAMED and phase_of(boost) is Phase.ASKED and unit_id not in shown:
            yield parts[unit_id.document].document.units[unit_id.unit].name
