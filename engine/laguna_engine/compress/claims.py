"""What a question, or a file that is being edited, has a claim to: definitions of names, what they use, the answer.

Rank alone prefers what mentions a name often to the place where it is defined. A claim is a value that a unit, or a
single span, gets besides its rank.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from laguna_engine.compress.document import Document
from laguna_engine.compress.lexical import Lexicon
from laguna_engine.compress.lookup import Definitions, Mention, Place, mentions
from laguna_engine.compress.result import Why
from laguna_engine.compress.untouched import is_diff, tells_of_failure
from laguna_engine.compress.words import words

NAMED = 8.0
ANSWER = 8.0
UNTOUCHED = 8.0
CALLED = 4.0
EDITED = 1.0
# Longer questions are code, in which every line looks like an answer.
_ASKED_WORDS, _ASKED_LINES = 40, 4
# An answer has the words of the question to the left of its `=`, and nearly as many as the best one.
_NEARLY = 0.75
_LEAST_SHARE = 0.4
_ANSWERS = 32
_LINE_CHARS = 1000
_GIVES = re.compile(r"\s*(?::=|=>|->|==|=|:|\t|,(?=\S)|\||\bis\b|\bare\b|\bequals\b|\breturns?\b)\s*")


class Claim(NamedTuple):
    """How much it is worth that something is kept, and why."""

    value: float
    why: Why


class Claims:
    """The claims on units and on single spans (document, span), the largest of each."""

    def __init__(self) -> None:
        self.units: dict[Place, Claim] = {}
        self.spans: dict[tuple[int, int], Claim] = {}
        self._claimed: dict[int, list[int]] = {}

    def spans_of(self, document: int) -> Iterator[tuple[int, Claim]]:
        """The spans of one document that are claimed."""
        for span in self._claimed.get(document, ()):
            yield span, self.spans[document, span]

    def unit(self, place: Place, value: float, why: Why) -> None:
        """Claim a unit."""
        if value > self.units.get(place, Claim(0.0, why)).value:
            self.units[place] = Claim(value, why)

    def span(self, document: int, span: int, value: float, why: Why) -> None:
        """Claim a span."""
        if value > self.spans.get((document, span), Claim(0.0, why)).value:
            if (document, span) not in self.spans:
                self._claimed.setdefault(document, []).append(span)
            self.spans[document, span] = Claim(value, why)


def claims(
    documents: Sequence[Document],
    query: str,
    known: Definitions,
    lexicon: Lexicon,
    starts: Sequence[int],
    nearness: Sequence[float],
) -> Claims:
    """Every claim.

    Args:
        known: the documents' definitions.
        lexicon: of all spans of all documents, one after the other. starts: where each document's spans begin in it.
        nearness: of each document to the question.
    """
    found = Claims()
    home = _home(documents, nearness)
    for mention in mentions(query, known):
        _claim_name(found, known, mention, home, NAMED, Why.NAMED)
    if len(lexicon.asked) <= _ASKED_WORDS and len(query.split("\n")) <= _ASKED_LINES:
        _claim_answers(found, documents, lexicon, starts)
    _claim_uses(found, documents, known)
    for number, document in enumerate(documents):
        if document.protected:
            for name in sorted({name for unit in document.units for name in unit.refers}):
                _claim_name(found, known, Mention(name, 1.0), number, EDITED, Why.EDITED)
        else:
            _claim_untouched(found, number, document)
    return found


def _home(documents: Sequence[Document], nearness: Sequence[float]) -> int:
    """The document that a question most likely speaks from: the one that is edited, else the one with its words."""
    return max(range(len(documents)), key=lambda number: (documents[number].protected, nearness[number], -number))


def _claim_name(found: Claims, known: Definitions, mention: Mention, near: int, value: float, why: Why) -> None:
    """Claim what a name means; of several that it may mean each gets a share."""
    places = known.find(mention, near)
    for place in (inner for found_place in places for inner in known.whole(found_place)):
        found.unit(place, value * mention.strength / len(places), why)


def _claim_uses(found: Claims, documents: Sequence[Document], known: Definitions) -> None:
    """One hop: what the definitions and lines that were claimed use themselves."""
    using = {
        place: (claim.value / NAMED, documents[place.document].units[place.unit].refers)
        for place, claim in found.units.items()
        if claim.why is Why.NAMED
    }
    for (number, index), claim in found.spans.items():
        span = documents[number].spans[index]
        text = documents[number].text[span.start : span.stop]
        names = frozenset(re.findall(r"[^\W\d]\w+", text)) & documents[number].units[span.unit].refers
        using.setdefault(Place(number, span.unit), (claim.value / ANSWER, names))
    # What a name means depends on the file alone: of a thousand definitions that use it, only the surest one counts.
    strengths: dict[tuple[str, int], float] = {}
    for place, (strength, names) in using.items():
        for name in names:
            key = name, place.document
            strengths[key] = max(strengths.get(key, 0.0), strength)
    for (name, number), strength in sorted(strengths.items()):
        _claim_name(found, known, Mention(name, strength), number, CALLED, Why.CALLED)


def _claim_answers(found: Claims, documents: Sequence[Document], lexicon: Lexicon, starts: Sequence[int]) -> None:
    """Lines of the form `what is asked for = something`."""
    total = sum(lexicon.rarity[word] for word in lexicon.asked if lexicon.holding[word])
    if not total:
        return
    candidates = []
    for number, document in enumerate(documents):
        for index, span in enumerate(document.spans):
            if lexicon.counts[starts[number] + index]:
                share = _best_share(document.text[span.start : span.stop], lexicon) / total
                if share >= _LEAST_SHARE:
                    candidates.append((share, number, index))
    candidates.sort(key=lambda candidate: (-candidate[0], *candidate[1:]))
    for share, number, index in candidates[:_ANSWERS]:
        if share >= _NEARLY * candidates[0][0]:
            found.span(number, index, ANSWER * share**2, Why.ANSWER)


def _best_share(text: str, lexicon: Lexicon) -> float:
    """The rarity of the question's words to the left of the best line's `=` or the like, less if much else is there."""
    best = 0.0
    for line in text.splitlines():
        for left in _lefts(line[:_LINE_CHARS]):
            said = words(left)
            # In their order: sums of floats in a set's order differ from one process to the next.
            asked = dict.fromkeys(word for word in said if word in lexicon.asked)
            # A key says little besides; a sentence that speaks of it says more.
            tight = (1.0 + len(asked) / len(said)) / 2.0 if said else 0.0
            best = max(best, tight * sum(lexicon.rarity[word] for word in asked))
    return best


def _lefts(line: str) -> Iterator[str]:
    """What a line says something of: what is before the last sign that is followed by a value."""
    signs: Iterable[re.Match[str]] = _GIVES.finditer(line)
    last = None
    for sign in signs:
        if line[sign.end() :].strip(" \t,;{}[]()"):
            last = sign
    if last is not None:
        yield line[: last.start()]


def _claim_untouched(found: Claims, number: int, document: Document) -> None:
    """Diffs, and lines of prose and logs that report an error."""
    patch = is_diff(document.path, document.text)
    prose = not document.outlined
    for index, span in enumerate(document.spans):
        if patch or (prose and tells_of_failure(document.text[span.start : span.stop])):
            found.span(number, index, UNTOUCHED, Why.UNTOUCHED)
