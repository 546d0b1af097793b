"""Selection candidates: spans that are kept together, with their value for their size.

A definition of up to 100 lines is one candidate, and so is a longer one that is boosted; only a definition that would
take too much of the budget is split into its statements. What the question names is whole wherever it fits. A file that
the question names is one candidate too while it takes no more than a boosted definition may.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from laguna_tui.context.compression.boosts import CALLED, Boost
from laguna_tui.context.compression.definitions import UnitId
from laguna_tui.context.compression.relevance import Ranking
from laguna_tui.context.compression.result import Why
from laguna_tui.context.compression.spans import Document

# A unit that takes a larger share of the budget is split into statements: with a boost, and without one.
_BOOSTED_SHARE = 0.5
# A definition of at most this many lines is kept or dropped as a whole: half of one is misread.
_WHOLE_LINES = 100
_WHOLE_SHARE = 0.25
# Between value per token (1) and value alone (0): probable answers are not dropped for being long. Of 143 callees of
# masked code 0.75 kept four less at 0.1, and 0.3 no more.
_SIZE_POWER = 0.5
# Value of a signature without any word of the question: it still shows what exists.
_OUTLINE_VALUE = 0.1
# Boosts from this value on come before the outline of everything.
_FIRST_VALUE = 0.5
# Value of a unit in a file that the question names: its rank plus the first, times the second.
_FILE_VALUE, _FILE_FACTOR = 0.5, 3.0
# Smallest and largest weight of a statement, relative to its definition as a whole.
_STATEMENT_FACTORS = 0.5, 1.5


class Phase(IntEnum):
    """Order of selection.

    Attributes:
        ASKED: definitions and lines the question asks for.
        ASKED_HEAD: heads of those that did not fit.
        USED: definitions that those or an edited file use.
        USED_HEAD: heads of those that did not fit.
        OUTLINE: the heads of all definitions.
        REST: everything else.
    """

    ASKED = 0
    ASKED_HEAD = 1
    USED = 2
    USED_HEAD = 3
    OUTLINE = 4
    REST = 5


class SpanCandidate(NamedTuple):
    """Spans of one document that are kept together.

    Attributes:
        phase: when it is taken.
        density: value for its size; larger first.
        document: index of the document.
        spans: indices of its spans.
        why: reason given to the spans.
    """

    phase: Phase
    density: float
    document: int
    spans: tuple[int, ...]
    why: Why


_HEADS = {Phase.ASKED: Phase.ASKED_HEAD, Phase.USED: Phase.USED_HEAD}


def phase_of(boost: Boost) -> Phase:
    """Return the phase of a boost.

    A name with several definitions asks for none of them with certainty: putting all of them before the callees took
    recall at keep 0.1 from 0.95 to 0.89.
    """
    if not boost.sure or boost.value < _FIRST_VALUE:
        return Phase.REST
    return Phase.ASKED if boost.value > CALLED else Phase.USED


class CandidateSet:
    """Generates the candidates of one document."""

    def __init__(self, number: int, document: Document, ranking: Ranking, costs: Sequence[float], room: float) -> None:
        self._number, self._document, self._ranking = number, document, ranking
        self._costs, self._room = costs, room

    def generate(self) -> Iterator[SpanCandidate]:
        files = self._ranking.boosts.files
        if self._number in files and sum(self._costs) <= _BOOSTED_SHARE * self._room / len(files):
            yield self._candidate(Phase.USED, CALLED, tuple(range(len(self._costs))), Why.NAMED)
        for unit, spans in enumerate(self._document.unit_spans):
            if spans:
                yield from self._unit(unit, spans)
        for span, boost in self._ranking.boosts.spans.get(self._number, {}).items():
            yield self._candidate(phase_of(boost), boost.value, (span,), boost.why)
            # The line comes first; its whole definition follows where there is room.
            own = self._document.unit_spans[self._document.spans[span].unit]
            if self._is_whole(own, boosted=False):
                yield self._candidate(phase_of(boost), boost.value, tuple(own), Why.HEAD)

    def _unit(self, unit: int, spans: Sequence[int]) -> Iterator[SpanCandidate]:
        boost = self._ranking.boosts.units.get(UnitId(self._number, unit))
        value = self._ranking.units[self._number][unit]
        if self._number in self._ranking.boosts.files:
            value = _FILE_FACTOR * (value + _FILE_VALUE)
        outline = tuple(self._document.outlines.get(unit, ()))
        if outline:
            yield self._candidate(Phase.OUTLINE, value + _OUTLINE_VALUE, outline, Why.OUTLINE)
        phase, why = Phase.REST, Why.SCORE
        if boost is not None:
            value, why = value + boost.value, boost.why
            phase = phase_of(boost)
            if phase in _HEADS:
                yield self._candidate(_HEADS[phase], value, self._head(outline or tuple(spans)), why)
        whole = self._candidate(phase, value, tuple(spans), why)
        if self._is_whole(spans, boosted=boost is not None):
            yield whole
            return
        yield from self._statements(whole)
        if phase is Phase.ASKED and sum(self._costs[index] for index in spans) <= self._room:
            yield whole

    def _head(self, outline: tuple[int, ...]) -> tuple[int, ...]:
        """Return the minimum to show of a definition: its outline, or the outline's first span if it is too large."""
        return outline if sum(self._costs[index] for index in outline) <= _BOOSTED_SHARE * self._room else outline[:1]

    def _is_whole(self, spans: Sequence[int], *, boosted: bool) -> bool:
        if len(spans) == 1:
            return True
        cost = sum(self._costs[index] for index in spans)
        if boosted:
            return cost <= _BOOSTED_SHARE * self._room
        lines = sum(
            last - first + 1 for first, last in (self._document.lines(*self._document.spans[i][:2]) for i in spans)
        )
        return lines <= _WHOLE_LINES and cost <= _WHOLE_SHARE * self._room

    def _statements(self, whole: SpanCandidate) -> Iterator[SpanCandidate]:
        """Yield the statements of a long definition, those with words of the question first."""
        least, most = _STATEMENT_FACTORS
        for index in whole.spans:
            factor = least + (most - least) * self._ranking.spans[self._number][index]
            yield SpanCandidate(whole.phase, whole.density * factor, self._number, (index,), whole.why)

    def _candidate(self, phase: Phase, value: float, spans: tuple[int, ...], why: Why) -> SpanCandidate:
        cost = sum(self._costs[index] for index in spans)
        return SpanCandidate(phase, value / max(cost, 1.0) ** _SIZE_POWER, self._number, spans, why)
