"""Which spans are kept within a budget of tokens: the most worth for the size first, as long as there is room.

Greedy, which for candidates that are small against the budget is within one candidate of the best selection. Costs are
estimates in tokens, the lines that stand for what is missing included: a tokenizer is called once for each unit, and a
span's tokens are its share of its unit's by characters. What was selected is counted again in its final text.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from laguna_engine.compress.candidates import Candidate, Phase
from laguna_engine.compress.document import Document, SpanRole
from laguna_engine.compress.result import Why


class TokenCounter:
    """Counts tokens, each text once."""

    def __init__(self, measure: Callable[[str], int]) -> None:
        self._measure = measure
        self._known: dict[str, int] = {"": 0}

    def tokens(self, text: str) -> int:
        """The tokens of a text."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._measure(text)
        return known

    def spans(self, document: Document) -> Sequence[float]:
        """About how many tokens each span of a document takes."""
        pieces: list[list[str]] = [[] for _ in document.units]
        for span in document.spans:
            pieces[span.unit].append(document.text[span.start : span.stop])
        texts = ["".join(own) for own in pieces]
        rates = [self.tokens(text) / max(len(text), 1) for text in texts]
        return [(span.stop - span.start) * rates[span.unit] for span in document.spans]


# Before the best bodies, outlines take at most this share of the budget: masked callees are found whole less often the
# more of it they take (recall at keep 0.3 was 0.92 with 0.15, 0.90 with 0.3, 0.89 with 0.5).
_OUTLINE_SHARE = 0.15


class TokenCosts(NamedTuple):
    """Tokens of each span of a document, of the first line that stands for something missing, and of each further."""

    spans: Sequence[float]
    first_mark: float
    mark: float


class Selection:
    """The spans that are kept so far, with the reason of each, and the documents that are said to be missing."""

    def __init__(self, documents: Sequence[Document], costs: Sequence[TokenCosts], room: float) -> None:
        self._documents, self._costs = documents, costs
        self._left = room
        self.kept: list[dict[int, Why]] = [{} for _ in documents]
        self.marked = [document.protected for document in documents]
        self._heads = [_Heads(document) for document in documents]

    def keep_all(self, number: int, why: Why) -> None:
        """Keep a whole document; it takes nothing of the room for the others."""
        self.kept[number] = dict.fromkeys(range(len(self._documents[number].spans)), why)

    def fill(self, items: Iterable[Candidate]) -> None:
        """Take items while there is room, the outline within its share. Ends early when not even the heads of what is
        asked for fit: what nobody asked for would look like the answer."""
        outline = _OUTLINE_SHARE * self._left
        refused = False
        for item in items:
            if refused and item.phase > Phase.ASKED_HEAD:
                break
            limit = min(self._left, outline) if item.phase is Phase.OUTLINE else self._left
            cost = self._take(item, limit)
            if item.phase is Phase.OUTLINE:
                outline -= cost
            if item.phase is Phase.ASKED_HEAD:
                refused = refused or not self.kept[item.document].keys() & set(item.spans)

    def mark_missing(self) -> None:
        """Say of the documents of which nothing is kept that they are there, while there is room."""
        for number, marked in enumerate(self.marked):
            cost = self._costs[number].first_mark
            if not marked and self._documents[number].spans and not self.kept[number] and cost <= self._left:
                self.marked[number] = True
                self._left -= cost

    def close_gaps(self) -> None:
        """Keep what is shorter than the line that would stand for it."""
        for number, document in enumerate(self._documents):
            kept, costs = self.kept[number], self._costs[number]
            if kept and len(kept) < len(document.spans):
                for run in list(_missing(kept, len(document.spans))):
                    if sum(costs.spans[index] for index in run) <= costs.mark:
                        kept.update(dict.fromkeys(run, Why.CHEAP))

    def _take(self, item: Candidate, limit: float) -> float:
        """Keep an item and its heads if they cost no more than the limit; what it cost."""
        kept, costs = self.kept[item.document], self._costs[item.document]
        wanted = [index for index in item.spans if index not in kept]
        if not wanted:
            return 0.0
        heads = [index for index in self._heads[item.document].of(item.spans) if index not in kept]
        new = {**dict.fromkeys(heads, Why.HEAD), **dict.fromkeys(wanted, item.why)}
        cost = sum(costs.spans[index] for index in new)
        if cost > limit:
            return 0.0
        cost += costs.mark * _added_marks(kept, new, len(costs.spans))
        if not kept and not self.marked[item.document]:
            cost += costs.first_mark
        if cost > limit:
            return 0.0
        kept.update(new)
        self.marked[item.document] = True
        self._left -= cost
        return cost


class _Heads:
    """The outline that goes with a span: its definition's, and that of what the definition lies in."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._outlines: dict[int, list[int]] = {}
        for index, span in enumerate(document.spans):
            if span.role is SpanRole.OUTLINE and document.units[span.unit].defines:
                self._outlines.setdefault(span.unit, []).append(index)

    def of(self, spans: Sequence[int]) -> Iterator[int]:
        """The spans of the heads of some spans of one unit."""
        unit: int | None = self._document.spans[spans[0]].unit
        while unit is not None:
            yield from self._outlines.get(unit, ())
            unit = self._document.outer[unit]


def _added_marks(kept: dict[int, Why], new: dict[int, Why], count: int) -> int:
    """By how many the runs of missing spans grow when `new` is kept too; before anything is kept there is one run."""
    added = 0
    for index in new:
        if index - 1 not in new:
            added += index > 0 and index - 1 not in kept
        if index + 1 not in new:
            added -= index == count - 1 or index + 1 in kept
    return added


def _missing(kept: dict[int, Why], count: int) -> Iterator[range]:
    """The runs of spans that are not kept."""
    start = 0
    for index in [*sorted(kept), count]:
        if index > start:
            yield range(start, index)
        start = index + 1
