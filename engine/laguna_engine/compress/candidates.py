"""What can be chosen: spans that are only taken together, with their worth for their size.

A definition of up to 40 lines is taken whole, and so is a longer one that is claimed; only what would take too much of
the budget is offered in its statements.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from laguna_engine.compress.boosts import CALLED, Boost
from laguna_engine.compress.document import Document, SpanRole
from laguna_engine.compress.ranking import Ranking
from laguna_engine.compress.result import Why
from laguna_engine.compress.symbols import WHOLE_LINES, Place

# A unit that takes more of the room than this is offered in pieces, when it is claimed or not.
_CLAIMED_SHARE = 0.5
_WHOLE_SHARE = 0.25
# Between worth by the token (1) and worth alone (0): probable answers are not left out for being long.
_SIZE_POWER = 0.75
# A signature that no word speaks for still tells what there is.
_OUTLINE_VALUE = 0.1
# Claims from here on come before the outline of everything.
_FIRST_VALUE = 0.5
# The least and the most that a statement counts, compared with its definition as a whole.
_STATEMENT_FACTORS = 0.5, 1.5


class Phase(IntEnum):
    """What is chosen first: what the question asks for, the heads of what of that did not fit, the same for what that
    or an edited file uses, all heads, everything else."""

    ASKED = 0
    ASKED_HEAD = 1
    USED = 2
    USED_HEAD = 3
    OUTLINE = 4
    REST = 5


class Candidate(NamedTuple):
    """Spans of one document that are taken together; `density` says how much they are worth for their size."""

    phase: Phase
    density: float
    document: int
    spans: tuple[int, ...]
    why: Why


_HEADS = {Phase.ASKED: Phase.ASKED_HEAD, Phase.USED: Phase.USED_HEAD}


def phase_of(claim: Boost) -> Phase:
    """When a claim is met. A name with several definitions asks for none of them surely: all of them before what the
    others use took recall at keep 0.1 from 0.95 to 0.89."""
    if claim.value < _FIRST_VALUE:
        return Phase.REST
    return Phase.ASKED if claim.value > CALLED else Phase.USED


class CandidateSet:
    """The items of one document."""

    def __init__(self, number: int, document: Document, ranking: Ranking, costs: Sequence[float], room: float) -> None:
        self._number, self._document, self._ranking = number, document, ranking
        self._costs, self._room = costs, room
        self._own: list[list[int]] = [[] for _ in document.units]
        for index, span in enumerate(document.spans):
            self._own[span.unit].append(index)

    def items(self) -> Iterator[Candidate]:
        """Everything that can be chosen; some spans are in several items."""
        for unit, spans in enumerate(self._own):
            if spans:
                yield from self._unit(unit, spans)
        for span, claim in self._ranking.claims.spans_of(self._number):
            yield self._item(phase_of(claim), claim.value, (span,), claim.why)
            # The line must come; the definition that it is in stays whole where there is room.
            own = self._own[self._document.spans[span].unit]
            if self._is_whole(own, claimed=False):
                yield self._item(phase_of(claim), claim.value, tuple(own), Why.HEAD)

    def _unit(self, unit: int, spans: list[int]) -> Iterator[Candidate]:
        claim = self._ranking.claims.units.get(Place(self._number, unit))
        value = self._ranking.units[self._number][unit]
        outline = tuple(index for index in spans if self._document.spans[index].role is SpanRole.OUTLINE)
        if outline:
            yield self._item(Phase.OUTLINE, value + _OUTLINE_VALUE, outline, Why.OUTLINE)
        phase, why = Phase.REST, Why.SCORE
        if claim is not None:
            value, why = value + claim.value, claim.why
            phase = phase_of(claim)
            if phase in _HEADS:
                yield self._item(_HEADS[phase], value, self._head(outline or tuple(spans)), why)
        whole = self._item(phase, value, tuple(spans), why)
        if self._is_whole(spans, claimed=claim is not None):
            yield whole
        else:
            yield from self._statements(whole)

    def _head(self, outline: tuple[int, ...]) -> tuple[int, ...]:
        """What to show of a definition at least: its outline, or how that begins if it is as large as anything."""
        return outline if sum(self._costs[index] for index in outline) <= _CLAIMED_SHARE * self._room else outline[:1]

    def _is_whole(self, spans: list[int], *, claimed: bool) -> bool:
        if len(spans) == 1:
            return True
        cost = sum(self._costs[index] for index in spans)
        if claimed:
            return cost <= _CLAIMED_SHARE * self._room
        lines = sum(
            last - first + 1 for first, last in (self._document.lines(*self._document.spans[i][:2]) for i in spans)
        )
        return lines <= WHOLE_LINES and cost <= _WHOLE_SHARE * self._room

    def _statements(self, whole: Candidate) -> Iterator[Candidate]:
        """A long definition's pieces, those with the question's words first."""
        least, most = _STATEMENT_FACTORS
        for index in whole.spans:
            factor = least + (most - least) * self._ranking.spans[self._number][index]
            yield Candidate(whole.phase, whole.density * factor, self._number, (index,), whole.why)

    def _item(self, phase: Phase, value: float, spans: tuple[int, ...], why: Why) -> Candidate:
        cost = sum(self._costs[index] for index in spans)
        return Candidate(phase, value / max(cost, 1.0) ** _SIZE_POWER, self._number, spans, why)
