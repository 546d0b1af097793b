"""Questions for the target to answer, so that the drafter learns from the target's own words.

    python drafter_questions.py WORK --chats 6000

Runs in the training environment, after `collect.py`. Deals in text: each chat is a list of turns, a turn is a question
and, for a look-up, the tool, the pattern and the result that belong to it. The questions come from the same generator
that the target was trained with (renamed symbols, moved files), over the same packages, with another seed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TypedDict

from data import SKILL_SHARES, Generator, load_results
from questions import TOOL, TRAINED, Skill
from sources import trained
from train import corpus_words

SEED = 90210
TURNS = ([1, 2, 3], [35, 50, 15])


class Turn(TypedDict):
    """What is asked; the other three are empty for small talk."""

    question: str
    tool: str
    pattern: str
    result: str


def ask(generator: Generator, *, first: bool) -> Turn:
    """One question, with the result that the right call would bring."""
    skill = generator.rng.choices(list(SKILL_SHARES), list(SKILL_SHARES.values()))[0]
    opening = generator.first_line() if first else ""
    if skill is Skill.TALK:
        return Turn(question=opening + generator.talk()[0], tool="", pattern="", result="")
    found = generator.lookup(skill)
    question = generator.question(generator.rng.choice(TRAINED[skill]), found.pattern)
    return Turn(question=opening + question, tool=TOOL[skill], pattern=found.pattern, result=found.result)


def main() -> None:
    """Write `drafter/asked.jsonl`, a chat a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--chats", type=int, default=6000)
    options = parser.parse_args()
    results = load_results(options.work / "results", trained(options.work))
    generator = Generator(SEED, results, corpus_words([r.result for r in results]))
    (options.work / "drafter").mkdir(exist_ok=True)
    with (options.work / "drafter" / "asked.jsonl").open("w", encoding="utf-8") as out:
        for _ in range(options.chats):
            turns = [ask(generator, first=index == 0) for index in range(generator.rng.choices(*TURNS)[0])]
            out.write(json.dumps(turns, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
