"""What is worth more than its rank: definitions that are asked for, what they use, the answer, diffs, failures.

Rank alone prefers what mentions a name often to the place where it is defined. A boost is a value that a unit, or a
single span, gets besides its rank.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from laguna_engine.compress.document import Document
from laguna_engine.compress.lexical import Lexicon, words
from laguna_engine.compress.result import Why
from laguna_engine.compress.symbols import Definitions, Mention, Place, mentions

NAMED = 8.0
ANSWER = 8.0
PROTECTED = 8.0
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


class Boost(NamedTuple):
    """How much it is worth that something is kept, and why."""

    value: float
    why: Why


class Boosts:
    """The claims on units and on single spans (document, span), the largest of each."""

    def __init__(self) -> None:
        self.units: dict[Place, Boost] = {}
        self.spans: dict[tuple[int, int], Boost] = {}
        self._claimed: dict[int, list[int]] = {}

    def spans_of(self, document: int) -> Iterator[tuple[int, Boost]]:
        """The spans of one document that are claimed."""
        for span in self._claimed.get(document, ()):
            yield span, self.spans[document, span]

    def unit(self, place: Place, value: float, why: Why) -> None:
        """Claim a unit."""
        if value > self.units.get(place, Boost(0.0, why)).value:
            self.units[place] = Boost(value, why)

    def span(self, document: int, span: int, value: float, why: Why) -> None:
        """Claim a span."""
        if value > self.spans.get((document, span), Boost(0.0, why)).value:
            if (document, span) not in self.spans:
                self._claimed.setdefault(document, []).append(span)
            self.spans[document, span] = Boost(value, why)


def find_boosts(
    documents: Sequence[Document],
    query: str,
    known: Definitions,
    lexicon: Lexicon,
    starts: Sequence[int],
    nearness: Sequence[float],
) -> Boosts:
    """Every claim.

    Args:
        known: the documents' definitions.
        lexicon: of all spans of all documents, one after the other. starts: where each document's spans begin in it.
        nearness: of each document to the question.
    """
    found = Boosts()
    home = _home(documents, nearness)
    for mention in mentions(query, known):
        _boost_name(found, known, mention, home, NAMED, Why.NAMED)
    if len(lexicon.asked) <= _ASKED_WORDS and len(query.split("\n")) <= _ASKED_LINES:
        _boost_answers(found, documents, lexicon, starts)
    _boost_uses(found, documents, known)
    for number, document in enumerate(documents):
        if document.protected:
            for name in sorted({name for unit in document.units for name in unit.refers}):
                _boost_name(found, known, Mention(name, 1.0), number, EDITED, Why.EDITED)
        else:
            _boost_protected(found, number, document)
    return found


def _home(documents: Sequence[Document], nearness: Sequence[float]) -> int:
    """The document that a question most likely speaks from: the one that is edited, else the one with its words."""
    return max(range(len(documents)), key=lambda number: (documents[number].protected, nearness[number], -number))


def _boost_name(found: Boosts, known: Definitions, mention: Mention, near: int, value: float, why: Why) -> None:
    """Claim what a name means; of several that it may mean each gets a share."""
    places = known.find(mention, near)
    for place in (inner for found_place in places for inner in known.whole(found_place)):
        found.unit(place, value * mention.strength / len(places), why)


def _boost_uses(found: Boosts, documents: Sequence[Document], known: Definitions) -> None:
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
        _boost_name(found, known, Mention(name, strength), number, CALLED, Why.CALLED)


def _boost_answers(found: Boosts, documents: Sequence[Document], lexicon: Lexicon, starts: Sequence[int]) -> None:
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


def _boost_protected(found: Boosts, number: int, document: Document) -> None:
    """Diffs, and lines of prose and logs that report an error."""
    patch = is_diff(document.path, document.text)
    prose = not document.outlined
    for index, span in enumerate(document.spans):
        if patch or (prose and tells_of_failure(document.text[span.start : span.stop])):
            found.span(number, index, PROTECTED, Why.UNTOUCHED)


_DIFF = re.compile(r"^(?:diff --git |--- [^\n]+\n\+\+\+ |Index: |@@ -\d+(?:,\d+)? \+\d+)", re.MULTILINE)
_DIFF_SUFFIXES = (".diff", ".patch")
_SNIFF_CHARS = 4096
_ERROR = re.compile(
    r"^Traceback \(most recent call last\)"
    r"|^\s*File \"[^\"\n]{1,400}\", line \d+"
    r"|^\s{0,8}(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Warning)\b(?::|$)"
    r"|^\s*at \S[^\n]{0,300}:\d+"
    r"|\b(?:error|fatal|panic|panicked at|FAILED|FATAL|ERROR|Segmentation fault)\b(?:\[\w+\])?(?::|,| )",
    re.MULTILINE,
)


def is_diff(path: str, text: str) -> bool:
    """Whether a text is a patch, by its name or by how it begins."""
    return path.lower().endswith(_DIFF_SUFFIXES) or bool(
        _DIFF.match(text) or (_DIFF.search(text, 0, _SNIFF_CHARS) and "\n@@ -" in text)
    )


def tells_of_failure(text: str) -> bool:
    """Whether a piece of prose or of a log has a line that reports an error."""
    return _ERROR.search(text) is not None
