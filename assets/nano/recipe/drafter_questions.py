"""Questions for the target to answer, so that the drafter learns from the target's own words.

    python drafter_questions.py WORK --chats 6000

Runs in the training environment, after `collect.py`. Deals in text: each chat is a list of turns, a turn is a question
and the right calls with what the tools print. The questions come from the same generator that the target was trained
with (renamed symbols, moved files), over the same packages, with another seed.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from data import Generator
from results import load
from sources import trained
from tokenizer import END_TOOL_CALL, TOOL_CALL
from train import corpus_words

SEED = 90210
TURNS = ([1, 2, 3], [35, 50, 15])
ASKED = re.compile(r"<user>\n(.*?)\n</user>\n(.*?)(?=<user>|$)", re.S)
STEP = re.compile(
    rf"(\n{TOOL_CALL}(?:(?!{END_TOOL_CALL}).)*{END_TOOL_CALL}\n).*?<tool_response>\n(.*?)\n</tool_response>", re.S
)


class Turn(TypedDict):
    """What is asked, and the right calls with their results, in order."""

    question: str
    steps: list[tuple[str, str]]


def turns(text: str) -> Iterator[Turn]:
    """The turns of a training chat."""
    for question, rest in ASKED.findall(text):
        yield Turn(question=question, steps=STEP.findall(rest))


def main() -> None:
    """Write `drafter/asked.jsonl`, a chat a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--chats", type=int, default=6000)
    options = parser.parse_args()
    entries = load(options.work / "results", trained(options.work))
    generator = Generator(SEED, entries, corpus_words([entry["result"] for entry in entries]))
    (options.work / "drafter").mkdir(exist_ok=True)
    with (options.work / "drafter" / "asked.jsonl").open("w", encoding="utf-8") as out:
        for _ in range(options.chats):
            chat = generator.chat(generator.rng.choices(*TURNS)[0])
            out.write(json.dumps(list(turns(chat.text)), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
