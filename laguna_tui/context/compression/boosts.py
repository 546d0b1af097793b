"""Boosts: definitions named by the question, their callees, answer lines, diffs and error messages.

Rank alone prefers text that mentions a name often to the place that defines it. A boost is a value added to the rank of
a unit or a single span.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from laguna_tui.context.compression.definitions import (
    Definitions,
    SymbolMention,
    UnitId,
    imported_words,
    mentions,
    named_files,
)
from laguna_tui.context.compression.lexicon import Lexicon
from laguna_tui.context.compression.result import Why
from laguna_tui.context.compression.spans import Document
from laguna_tui.repo.search.identifiers import stemmed_words

NAMED = 8.0
ANSWER = 8.0
PROTECTED = 8.0
CALLED = 4.0
EDITED = 1.0
# In a question that is code: names in it, and names that the file imports which it seems to be from. They compete with
# the rank: taken first, what the code says pushed out what it leaves unsaid (recall at keep 0.1 was 0.60, not 0.79).
IN_CODE = 1.5
IMPORTED = 0.6
# What is used by something that the question names with less certainty, such as the class of a named method, competes
# with the rank: taken at once it pushed out what the method itself uses.
_SURE_USER = 0.5
# In longer questions every line looks like an answer.
_ASKED_WORDS, _ASKED_LINES = 40, 4
# A text of at least this many lines is code if this share of them is indented or ends like code.
_CODE_LINES, _CODE_SHARE = 3, 0.5
_CODE = re.compile(r"[ \t]+\S|.*(?:[:;{}(,\[]|[^\s.]\))\s*$|.*\w\s*(?:=|\+=|->)\s*\S")
# An answer has words of the question to the left of its `=`, and nearly as many as the best answer.
_NEARLY = 0.75
_LEAST_SHARE = 0.4
_ANSWERS = 32
# More equally good lines than this share the value: a word that half of the code has in such a place is not an answer,
# and 32 lines of as many functions left room for nothing whole.
_SURE_ANSWERS = 4
_LINE_CHARS = 1000
_GIVES = re.compile(r"\s*(?::=|=>|->|==|=|:|\t|,(?=\S)|\||\bis\b|\bare\b|\bequals\b|\breturns?\b)\s*")


class Boost(NamedTuple):
    """A value added to a rank.

    Attributes:
        value: the value.
        why: its reason.
        sure: whether it decides when the unit is taken; else the value only adds to the rank.
    """

    value: float
    why: Why
    sure: bool = True


class Boosts:
    """The largest boost of each unit and of each single span, and the files that the question names.

    Attributes:
        units: by unit.
        spans: by document and span.
        files: documents whose path the question names.
    """

    def __init__(self) -> None:
        self.units: dict[UnitId, Boost] = {}
        self.spans: dict[int, dict[int, Boost]] = {}
        self.files: frozenset[int] = frozenset()

    def add_unit(self, unit_id: UnitId, boost: Boost) -> None:
        """Boost a unit; the largest value counts."""
        known = self.units.get(unit_id)
        if boost.value > (known.value if known else 0.0):
            self.units[unit_id] = boost

    def add_span(self, document: int, span: int, boost: Boost) -> None:
        """Boost a span; the largest value counts."""
        spans = self.spans.setdefault(document, {})
        if span not in spans or boost.value > spans[span].value:
            spans[span] = boost


def find_boosts(
    documents: Sequence[Document],
    query: str,
    known: Definitions,
    lexicon: Lexicon,
    starts: Sequence[int],
    nearness: Sequence[float],
) -> Boosts:
    """Return all boosts of the documents for a question.

    Args:
        known: the documents' definitions.
        lexicon: of the spans of all documents, in order.
        starts: index in the lexicon of each document's first span.
        nearness: lexical score of each document for the question.
    """
    found = Boosts()
    home = _home(documents, nearness)
    code = is_code(query)
    named = Boost(IN_CODE, Why.NAMED, sure=False) if code else Boost(NAMED, Why.NAMED)
    for mention in mentions(query, known):
        _boost_name(found, known, mention, home, named)
    if not code:
        found.files = named_files(query, [document.path for document in documents])
    if len(lexicon.asked) <= _ASKED_WORDS and len(query.split("\n")) <= _ASKED_LINES:
        _boost_answers(found, documents, lexicon, starts)
    if not code:
        _boost_uses(found, documents, known)
    else:
        for name in sorted(frozenset(imported_words(documents[home]))):
            _boost_name(found, known, SymbolMention(name, 1.0), home, Boost(IMPORTED, Why.EDITED, sure=False))
    for number, document in enumerate(documents):
        if document.protected:
            for name in sorted({name for unit in document.units for name in unit.refers}):
                _boost_name(found, known, SymbolMention(name, 1.0), number, Boost(EDITED, Why.EDITED, sure=False))
        else:
            _boost_protected(found, number, document)
    return found


def is_code(query: str) -> bool:
    """Return whether a question is a piece of code, by the look of its lines."""
    lines = [line for line in query.splitlines() if line.strip()]
    return len(lines) >= _CODE_LINES and sum(_CODE.match(line) is not None for line in lines) > _CODE_SHARE * len(lines)


def _home(documents: Sequence[Document], nearness: Sequence[float]) -> int:
    """Return the document in whose scope the question's names are resolved: an edited or the lexically nearest one."""
    return max(range(len(documents)), key=lambda number: (documents[number].protected, nearness[number], -number))


def _boost_name(found: Boosts, known: Definitions, mention: SymbolMention, near: int, boost: Boost) -> None:
    """Boost the definitions a name may mean; several share the value."""
    unit_ids = known.find(mention, near)
    for unit_id in (inner for found_id in unit_ids for inner in known.with_members(found_id)):
        found.add_unit(unit_id, boost._replace(value=boost.value * mention.strength / len(unit_ids)))


def _boost_uses(found: Boosts, documents: Sequence[Document], known: Definitions) -> None:
    using = {
        unit_id: (boost.value / NAMED, documents[unit_id.document].units[unit_id.unit].refers)
        for unit_id, boost in found.units.items()
        if boost.why is Why.NAMED
    }
    for number, boosted in found.spans.items():
        document = documents[number]
        for index, boost in boosted.items():
            unit = document.spans[index].unit
            names = frozenset(re.findall(r"[^\W\d]\w+", document.span_text(index))) & document.units[unit].refers
            using.setdefault(UnitId(number, unit), (boost.value / ANSWER, names))
    # A name resolves by file alone: of a thousand definitions in one file that use it, only the strongest counts.
    strengths: dict[tuple[str, int], float] = {}
    for unit_id, (strength, names) in using.items():
        for name in names:
            key = name, unit_id.document
            strengths[key] = max(strengths.get(key, 0.0), strength)
    for (name, number), strength in sorted(strengths.items()):
        boost = Boost(CALLED, Why.CALLED, sure=strength > _SURE_USER)
        _boost_name(found, known, SymbolMention(name, strength), number, boost)


def _boost_answers(found: Boosts, documents: Sequence[Document], lexicon: Lexicon, starts: Sequence[int]) -> None:
    """Boost lines of the form `words of the question = something`."""
    total = sum(lexicon.rarity[word] for word in lexicon.asked if lexicon.holding[word])
    if not total:
        return
    candidates = []
    for number, document in enumerate(documents):
        if found.files and number not in found.files:
            continue
        for index in range(len(document.spans)):
            if lexicon.counts[starts[number] + index]:
                share = _best_share(document.span_text(index), lexicon) / total
                if share >= _LEAST_SHARE:
                    candidates.append((share, number, index))
    candidates.sort(key=lambda candidate: (-candidate[0], *candidate[1:]))
    best = [candidate for candidate in candidates if candidate[0] >= _NEARLY * candidates[0][0]]
    value = ANSWER if len(best) <= _SURE_ANSWERS else ANSWER / len(best)
    for share, number, index in best[:_ANSWERS]:
        found.add_span(number, index, Boost(value * share**2, Why.ANSWER))


def _best_share(text: str, lexicon: Lexicon) -> float:
    """Return the summed rarity of the question's words left of the best line's `=`, reduced by other words there."""
    best = 0.0
    for line in text.splitlines():
        left = stemmed_words(_left_side(line[:_LINE_CHARS]))
        # In order of occurrence: sums of floats in a set's order differ between processes.
        asked = dict.fromkeys(word for word in left if word in lexicon.asked)
        # A key has few other words; a sentence about it has more.
        tight = (1.0 + len(asked) / len(left)) / 2.0 if left else 0.0
        best = max(best, tight * sum(lexicon.rarity[word] for word in asked))
    return best


def _left_side(line: str) -> str:
    """Return the text before the last separator that is followed by a value; empty if there is none."""
    signs = [sign for sign in _GIVES.finditer(line) if line[sign.end() :].strip(" \t,;{}[]()")]
    return line[: signs[-1].start()] if signs else ""


def _boost_protected(found: Boosts, number: int, document: Document) -> None:
    """Boost diffs, and lines of prose and logs that report an error."""
    patch = _is_diff(document.path, document.text)
    prose = not document.outlines
    for index in range(len(document.spans)):
        if patch or (prose and _ERROR.search(document.span_text(index))):
            found.add_span(number, index, Boost(PROTECTED, Why.UNTOUCHED))


_DIFF = re.compile(r"^(?:diff --git |--- [^\n]+\n\+\+\+ |Index: |@@ -\d+(?:,\d+)? \+\d+)", re.MULTILINE)
_DIFF_SUFFIXES = (".diff", ".patch")
_SNIFF_CHARS = 4096
_ERROR = re.compile(
    r"^Traceback \(most recent call last\)"
    r"|^\s*File \"[^\"\n]{1,400}\", line \d+"
    r"|^\s{0,8}(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Warning)\b(?::|$)"
    r"|^\s*at \S[^\n]{0,300}:\d+"
    r"|\b(?:error|fatal|panic|panicked at|FAILED|FATAL|ERROR|Segmentation fault)\b(?:\[\w+\])?(?::|,| (?!=))",
    re.MULTILINE,
)


def _is_diff(path: str, text: str) -> bool:
    """Return whether a text is a patch, by its name or its beginning."""
    return path.lower().endswith(_DIFF_SUFFIXES) or bool(
        _DIFF.match(text) or (_DIFF.search(text, 0, _SNIFF_CHARS) and "\n@@ -" in text)
    )
