"""What a scorer is judged by: questions about piles of held-out code, and how well scores find the right text.

    python scorer_cases.py WORK --each 12
    python scorer_cases.py WORK --each 4 --texts 72 --together 18       # few texts, as long as the context

Writes `WORK/cases.json`: of every kind so many questions, in wordings never trained on, each with about thirty texts of
one held-out package. Deals in text and in scores, of whatever scorer.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scorer_data import Asker, Pile
from scorer_text import read_package, words_of

KINDS = {
    "exact": "made-up key, as written", "words": "made-up key, in plain words", "other": "made-up key, in other words",
    "new": "the same, words never trained on", "constant": "real constant", "where": "definition by name",
    "returns": "result by name", "call": "code around a call: the callee", "doc": "docstring: its function",
}  # fmt: skip
TEXTS = 30
KEEPS = (0.1, 0.3)
RARE = 0.1  # a word that more of the texts have tells little
PARTS = re.compile(r"[A-Za-z][a-z]*|[A-Z]+|\d+")


@dataclass(frozen=True, slots=True)
class Case:
    """A question, texts, and which one holds the answer; `shares`: a rare word of the question stands in that one."""

    kind: str
    query: str
    texts: list[str]
    gold: int
    shares: bool


@dataclass(frozen=True, slots=True)
class Found:
    """How well scores did over some cases, 0 to 1: first, among the first five, and kept when so much may stay."""

    cases: int
    first: float
    five: float
    kept: tuple[float, ...]


def words(text: str) -> set[str]:
    """Lower-case parts of identifiers and plain words."""
    return {part.lower() for part in PARTS.findall(text)}


def shares(query: str, texts: Sequence[str], gold: int) -> bool:
    """Whether the question and its text have a word in common that few other texts have."""
    counts = Counter(word for text in texts for word in words(text))
    return any(counts[word] <= RARE * len(texts) for word in words(query) & words(texts[gold]))


def case(asker: Asker, kind: str, count: int, together: int) -> Case | None:
    """One case of a kind, with so many texts to begin with; None where this pile has no such question."""
    package = asker.rng.choice(asker.packages)
    chosen = asker.some(package, count)
    pile = Pile([package.units[index].text for index in chosen])
    question = getattr(asker, f"ask_{kind}")(package, pile, chosen)
    if question is None:
        return None
    order = list(range(len(pile.texts)))
    asker.rng.shuffle(order)
    texts = [pile.texts[index] for index in order]
    texts = ["\n".join(texts[first : first + together]) for first in range(0, len(texts), together)]
    gold = order.index(question.gold) // together
    return Case(kind, question.text, texts, gold, shares(question.text, texts, gold))


def make(work: Path, each: int, seed: int, count: int, together: int) -> list[Case]:
    """So many cases of every kind about the held-out packages; `together` texts are made one."""
    manifest = json.loads((Path(__file__).parent / "sources.json").read_text())
    names = [source["name"] for source in manifest["packages"] if source["held_out"]]
    packages = [read_package(work / "repos" / name, random.Random(name), cut=False) for name in names]
    asker = Asker(packages, words_of(packages, least=5), seed, held=True)
    found: list[Case] = []
    for kind in KINDS:
        cases = (case(asker, kind, count, together) for _ in range(20 * each))
        found += [one for one in cases if one is not None][:each]
    return found


def load(work: Path) -> list[Case]:
    """The cases that were written."""
    return [Case(**one) for one in json.loads((work / "cases.json").read_text())]


def kept(case: Case, order: Sequence[int], share: float) -> bool:
    """Whether the right text stays when the best that fit fill so much of all characters."""
    room = share * sum(map(len, case.texts))
    for index in order:
        if len(case.texts[index]) <= room:
            room -= len(case.texts[index])
            if index == case.gold:
                return True
    return False


def judge(cases: Sequence[Case], scores: Sequence[Sequence[float]]) -> Found:
    """What scores [cases][texts] find. Of equal scores the earlier text comes first, and what is no number last."""
    ranks, stay = [], [0.0] * len(KEEPS)
    for one, values in zip(cases, scores, strict=True):
        order = sorted(range(len(values)), key=lambda i: -values[i] if not math.isnan(values[i]) else math.inf)
        ranks.append(order.index(one.gold))
        stay = [total + kept(one, order, keep) for total, keep in zip(stay, KEEPS, strict=True)]
    count = max(1, len(ranks))
    share = tuple(total / count for total in stay)
    return Found(len(ranks), sum(r == 0 for r in ranks) / count, sum(r < 5 for r in ranks) / count, share)


def report(name: str, cases: Sequence[Case], scores: Sequence[Sequence[float]]) -> str:
    """One line for each kind, one for all, and one for those that share no rare word with their text."""
    groups = {what: [i for i, one in enumerate(cases) if one.kind == kind] for kind, what in KINDS.items()}
    groups |= {"all": list(range(len(cases))), "no rare word shared": [i for i, c in enumerate(cases) if not c.shares]}
    lines = [f"## {name}"]
    for what, chosen in groups.items():
        got = judge([cases[i] for i in chosen], [scores[i] for i in chosen])
        stay = " ".join(f"{value:4.0%}" for value in got.kept)
        lines.append(f"{what:34} {got.cases:4} first {got.first:4.0%} five {got.five:4.0%} kept at 0.1, 0.3: {stay}")
    return "\n".join(lines)


def main() -> None:
    """Read the command line and write the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--together", type=int, default=1)
    options = parser.parse_args()
    cases = make(options.work, options.each, options.seed, options.texts, options.together)
    (options.work / "cases.json").write_text(json.dumps([asdict(one) for one in cases]))
    print(f"{len(cases)} cases, {sum(not one.shares for one in cases)} of them share no rare word with their text")


if __name__ == "__main__":
    main()
