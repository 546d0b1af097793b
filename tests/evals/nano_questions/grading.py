"""Grades an answer to a question about a folder: right, declined or wrong.

Right has all that the question's facts say and states nothing else that is false. Declined says that it cannot answer,
or shows what it found as search results. Everything else is wrong: false, beside the point, or a false absence.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from tests.evals.nano_questions.questions import Fact, Question

MOST_PLACES = 12
"""An answer about one thing with more places than this is beside the point, unless it was asked for a list."""
_LISTS = {"use", "tests", "contents", "files"}
_PLACE = re.compile(r"(?<![\w/.-])((?:[\w.@+-]+/)*[\w.@+-]*[A-Za-z][\w.@+-]*):(\d+)(?!\d)")
_RANGE = re.compile(r"(.+):(\d+)(?:-(\d+))?")
_ABSENCE = re.compile(
    r"\b(nothing (matche[sd]|named|called|is (called|named|defined))|nowhere|no such|there (is|are) no|none of"
    r"|no (\S+ ){0,4}?(definitions?|uses?|usages?|callers?|tests?|files?|match(es)?|names?|class(es)?|functions?"
    r"|methods?|readme|changelog|licen[cs]e)|(is|are)(n't| not) (defined|found|used|tested|called|here|there|in)"
    r"|does(n't| not) (exist|define|have|contain)|(could not|couldn't|did not|didn't) find"
    r"|nicht (definiert|gefunden|vorhanden)|keine?)\b|没有|找不到|不存在|未找到",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(beyond me|can(no|')?t|can not|unable to|search results?|best (matches|results)|closest|nearest|similar"
    r"|did you mean|not sure|unsure|(don't|do not) know|(larger|bigger) model|kann (ich )?nicht|Suchergebnisse"
    r"|am nächsten)\b|无法|不能|搜索结果|最接近",
    re.IGNORECASE,
)


class Grade(Enum):
    """The grade of an answer."""

    RIGHT = "right"
    DECLINED = "declined"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A grade and why it is not a right answer.

    Attributes:
        false_absence: the answer says that something is missing which is there.
    """

    grade: Grade
    reason: str = ""
    false_absence: bool = False


class Place(NamedTuple):
    """A line that an answer names."""

    path: str
    line: int


def places(answer: str) -> list[Place]:
    """Return the places that an answer names, each once."""
    return list(dict.fromkeys(Place(path, int(line)) for path, line in _PLACE.findall(answer)))


def grade(question: Question, answer: str, changed: Mapping[str, str] = {}) -> Verdict:
    """Grade an answer.

    Args:
        answer: its text.
        changed: the files that were changed while it was given, by path, with their text afterwards.
    """
    if said := [word for word in question.wrong if _has_words(answer, word)]:
        return Verdict(Grade.WRONG, f"it has {said[0]!r}")
    if changed or question.changes:
        return _grade_changes(question, answer, changed)
    absence, declines = _ABSENCE.search(answer) is not None, _DECLINES.search(answer) is not None
    if question.absent:
        return _absent(absence=absence, declines=declines)
    named = places(answer)
    aside = _beside_the_point(question, named)
    if not aside and all(_holds(fact, answer, named) for fact in question.right):
        return Verdict(Grade.RIGHT)
    if absence and _denies(question, answer, declines=declines):
        return Verdict(Grade.WRONG, "it says that there is none", false_absence=True)
    if declines:
        return Verdict(Grade.DECLINED)
    missing = next((fact for fact in question.right if not _holds(fact, answer, named)), None)
    return Verdict(
        Grade.WRONG, aside or f"it lacks {' or '.join(each[0] for each in missing.of[:3])}" if missing else aside
    )


def _grade_changes(question: Question, answer: str, changed: Mapping[str, str]) -> Verdict:
    wanted = question.changes
    if set(changed) == set(wanted) and all(_has_words(changed[path], word) for path, word in wanted.items()):
        return Verdict(Grade.RIGHT)
    if changed:
        return Verdict(Grade.WRONG, f"it changed {', '.join(sorted(changed))}")
    return Verdict(Grade.DECLINED if _DECLINES.search(answer) else Grade.WRONG, "it changed nothing")


def _absent(*, absence: bool, declines: bool) -> Verdict:
    if absence:
        return Verdict(Grade.RIGHT)
    return Verdict(Grade.DECLINED) if declines else Verdict(Grade.WRONG, "it does not say that there is none")


def _denies(question: Question, answer: str, *, declines: bool) -> bool:
    """Return whether a sentence that something is missing is about what was asked for."""
    if not declines:
        return True
    denials = (line for line in answer.splitlines() if _ABSENCE.search(line))
    return bool(question.name) and any(_has_words(line, question.name) for line in denials)


def _beside_the_point(question: Question, named: Iterable[Place]) -> str:
    """Return what an answer names that was not asked for; empty for nothing."""
    named = list(named)
    if question.kind not in _LISTS and not question.only and len(named) > MOST_PLACES:
        return f"it names {len(named)} places"
    stray = [each for each in named if question.only and not _allowed(each, question.only)]
    return f"{stray[0].path}:{stray[0].line} has no {question.name}" if stray else ""


def _allowed(place: Place, only: Mapping[str, frozenset[int]]) -> bool:
    return any(_same_path(path, place.path) and (not lines or place.line in lines) for path, lines in only.items())


def _holds(fact: Fact, answer: str, named: Iterable[Place]) -> bool:
    return sum(any(_found(each, answer, named) for each in several) for several in fact.of) >= fact.least


def _found(wanted: str, answer: str, named: Iterable[Place]) -> bool:
    if match := _RANGE.fullmatch(wanted):
        path, first, last = match[1], int(match[2]), int(match[3] or match[2])
        return any(_same_path(path, place.path) and first <= place.line <= last for place in named)
    return _has_words(answer, wanted)


def _same_path(path: str, named: str) -> bool:
    return path == named or path.endswith(f"/{named}")


def _has_words(text: str, words: str) -> bool:
    before, after = r"(?<!\w)" if words[:1].isalnum() else "", r"(?!\w)" if words[-1:].isalnum() else ""
    return re.search(before + re.escape(words) + after, text, re.IGNORECASE) is not None
