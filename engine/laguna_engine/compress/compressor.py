"""From documents, a question and a budget of tokens to what is worth keeping of them.

Pure Python on characters. Nothing protected is touched; everything else is kept or left out as the document's spans
say, and wherever something is missing a line says so. The same input gives the same result.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from laguna_engine.compress.budget import Selection, TokenCosts, TokenCounter
from laguna_engine.compress.candidates import Candidate, CandidateSet, Phase, phase_of
from laguna_engine.compress.document import Document, SpanRole
from laguna_engine.compress.elision import NAMES, marker, render
from laguna_engine.compress.ranking import Ranking, rank
from laguna_engine.compress.result import Compression, Dropped, Kept, Part, Scores, SpanScorer, Why

__all__ = ["Compression", "Dropped", "Kept", "Part", "Scores", "SpanScorer", "Why", "compress"]

BY_WORDS = "words"
BY_MODEL = "words, gain and attention"
# The estimate of what a choice costs is corrected by what it does cost so often; then it only gets smaller.
_CORRECTIONS = 3
_CLOSE = 0.97
_SMALLER = 0.9
_CAUTION = 0.99
_SEVERAL = 5
# What stands for documents that are gone says fewer names when it would take more of the budget than this.
_MARKS_SHARE = 0.1


def compress(
    documents: Sequence[Document],
    query: str,
    budget: int,
    measure: Callable[[str], int],
    scorer: SpanScorer | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Compression:
    """What to keep of the documents within `budget` tokens to answer `query`; all of it when it fits.

    Args:
        documents: in the order in which they will stand in the prompt.
        query: the question, or the code that is being written.
        budget: tokens that all parts may take together. What is protected is kept even if it takes more.
        measure: the tokens of a text; asked once for each document and unit, and for what results.
        scorer: a model's opinion of each unit; without one the words decide.
        should_stop: once it says so, the scorer is not asked any more.
    """
    began = time.monotonic()
    meter = TokenCounter(measure)
    before = [meter.tokens(document.text) for document in documents]
    if sum(before) <= budget:
        parts = tuple(_whole(document, tokens) for document, tokens in zip(documents, before, strict=True))
        return Compression(parts, budget, sum(before), sum(before), BY_WORDS, time.monotonic() - began)
    ranking = rank(documents, query, scorer, should_stop)
    parts = _settled(documents, ranking, budget, meter)
    after = sum(part.tokens_after for part in parts)
    notes = (*ranking.notes, *_notes(parts, ranking, budget, after))
    by = BY_MODEL if ranking.scored else BY_WORDS
    return Compression(parts, budget, sum(before), after, by, time.monotonic() - began, notes)


def _settled(documents: Sequence[Document], ranking: Ranking, budget: int, meter: TokenCounter) -> tuple[Part, ...]:
    """The parts of the largest choice tried that fits when it is measured as it will stand."""
    room = budget - sum(meter.tokens(document.text) for document in documents if document.protected)
    names = _names_that_fit(documents, room, meter)
    costs = [_costs(document, names, meter) for document in documents]
    items = _items(documents, ranking, costs, room)
    fixed = budget - room
    best: tuple[Part, ...] | None = None
    most, target, tries = -1, float(room), 0
    while True:
        parts = _parts(documents, ranking, _chosen(documents, items, costs, target), names, meter)
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
    """What to aim at after a choice for `target` took `after` tokens."""
    if tries < _CORRECTIONS:
        return target * max(room, 0) / max(after, 1) * (_CAUTION if after > room else 1.0)
    return target * _SMALLER if target >= 1.0 else 0.0


def _names_that_fit(documents: Sequence[Document], room: int, meter: TokenCounter) -> int:
    """How many names each gap says: fewer when saying what is missing would take too much of the budget."""
    for names in range(NAMES, 0, -2):
        if sum(_mark(document, names, meter, full=True) for document in documents) <= _MARKS_SHARE * room:
            return names
    return 0


def _costs(document: Document, names: int, meter: TokenCounter) -> TokenCosts:
    spans = meter.spans(document)
    return TokenCosts(
        spans, _mark(document, names, meter, full=True), _mark(document, min(names, 1), meter, full=False)
    )


def _mark(document: Document, names: int, meter: TokenCounter, *, full: bool) -> float:
    """About what a line takes that stands for something missing; a gap inside of a document has few names."""
    if not document.spans:
        return 0.0
    return float(meter.tokens(marker(document, 0, len(document.spans) - 1, names, full=full) + "\n"))


def _items(documents: Sequence[Document], ranking: Ranking, costs: Sequence[TokenCosts], room: int) -> list[Candidate]:
    """Everything that can be chosen, in the order in which it should be."""
    found: list[Candidate] = []
    for number, document in enumerate(documents):
        if not document.protected:
            found += CandidateSet(number, document, ranking, costs[number].spans, room).items()
    return sorted(found, key=lambda item: (item.phase, -item.density, item.document, item.spans))


def _chosen(
    documents: Sequence[Document], items: Sequence[Candidate], costs: Sequence[TokenCosts], budget: float
) -> Selection:
    choice = Selection(documents, costs, budget)
    for number, document in enumerate(documents):
        if document.protected:
            choice.keep_all(number, Why.PROTECTED)
    choice.fill(items)
    choice.mark_missing()
    choice.close_gaps()
    return choice


def _parts(
    documents: Sequence[Document], ranking: Ranking, choice: Selection, names: int, meter: TokenCounter
) -> tuple[Part, ...]:
    return tuple(
        _part(document, choice.kept[number], ranking.units[number], names, meter, marked=choice.marked[number])
        for number, document in enumerate(documents)
    )


def _part(
    document: Document, why: dict[int, Why], values: Sequence[float], names: int, meter: TokenCounter, *, marked: bool
) -> Part:
    """A document with only some spans kept; nothing at all when not even what is missing is said."""
    text, places, copies = render(document, why, names) if why or marked else ("", {}, ())
    kept, dropped = [], []
    for index, span in enumerate(document.spans):
        value = values[span.unit]
        if index in why:
            kept.append(Kept(span, why[index], value, places[index]))
        else:
            dropped.append(Dropped(span, Why.BUDGET, value))
    before = meter.tokens(document.text)
    return Part(document, text, tuple(kept), tuple(dropped), before, meter.tokens(text), copies)


def _whole(document: Document, tokens: int) -> Part:
    """A document of which nothing is left out."""
    kept = tuple(Kept(span, Why.FITS, 1.0, span.start) for span in document.spans)
    return Part(document, document.text, kept, (), tokens, tokens, ((0, 0, len(document.text)),))


def _notes(parts: Sequence[Part], ranking: Ranking, budget: int, after: int) -> Iterator[str]:
    """What the user should know of a result that is not what was asked for."""
    if after > budget:
        yield f"What must not be shortened takes {after:,} tokens; {budget:,} were asked for."
    asked = list(dict.fromkeys(_asked_in_vain(parts, ranking)))
    if asked:
        yield f"There is no room for {_several(asked)}, which the question names; allow more than {budget:,} tokens."
    heads = sum(dropped.span.role is SpanRole.OUTLINE for part in parts for dropped in part.dropped)
    if heads:
        yield f"{heads:,} signatures and imports did not fit either."
    silent = [part.document.path for part in parts if part.dropped and not part.text]
    if silent:
        yield f"Nothing is left of {_several(silent)}."


def _asked_in_vain(parts: Sequence[Part], ranking: Ranking) -> Iterator[str]:
    """The names of definitions that the question asks for, and of which nothing is there."""
    shown = {(number, kept.span.unit) for number, part in enumerate(parts) for kept in part.kept}
    for place, claim in ranking.claims.units.items():
        if claim.why is Why.NAMED and phase_of(claim) is Phase.ASKED and place not in shown:
            yield parts[place.document].document.units[place.unit].name


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SEVERAL} more" if len(names) > _SEVERAL else ""
    return ", ".join(names[:_SEVERAL]) + more
