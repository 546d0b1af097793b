"""Questions about packages that were never trained on, in wordings that were never trained on, and what is right.

Deals in text: a case says which call it needs and turns the tool's result into the right answer. Two things are right
or wrong: the call, and the final answer, word for word.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from answers import ANSWER, text_of
from chatter import TALK_HELD_OUT
from collect import defined_names, file_patterns
from questions import HELD_OUT, TALK_ANSWERS, TOOL, Skill

SEED = 7
COLUMNS = ("call 1", "answer 1", "call 2", "answer 2")
CALL = re.compile(
    r"^\n<tool_call>(\w+)\n<arg_key>pattern</arg_key>\n<arg_value>(.*)</arg_value>\n</tool_call>\n$", re.S
)
OPENING = "[folder {} · 2026-11-20 · git main, 2 changed]\n\n"
MISSING_NAMES = (
    "frobnicate",
    "QuantumToaster",
    "_load_penguin",
    "parse_everything_twice",
    "MoonLander",
    "xyzzy_handler",
)

NOT_THERE = "about what is not there"
KINDS = [*(skill.value for skill in Skill), NOT_THERE]


@dataclass(frozen=True, slots=True)
class Case:
    """One question with the call it needs (None for talk); `answer` turns the tool's result into the right answer."""

    kind: str
    repository: str
    question: str
    call: tuple[str, str] | None
    answer: Callable[[str], str]


class Talk(Protocol):
    """A conversation with whoever is asked."""

    def ask(self, question: str) -> str:
        """The reply to the user."""

    def give(self, result: str) -> str:
        """The reply to a tool's result."""


Tools = dict[str, Callable[[str], str]]
"""By name; from a pattern to what the tool prints."""


def quoted(rng: random.Random, wording: str, name: str) -> str:
    """The wording about the name, in backticks or bare."""
    shown = rng.choice([f"`{name}`", name])
    return wording.replace("{n}", shown).replace("{f}", shown)


def lookup(rng: random.Random, kind: str, skill: Skill, repository: str, name: str) -> Case:
    """A case of one of the look-up skills."""
    question = quoted(rng, rng.choice(HELD_OUT[skill]), name)
    return Case(kind, repository, question, (TOOL[skill], name), lambda result: text_of(ANSWER[skill](name, result)))


def talk(rng: random.Random, repository: str, name: str) -> Case:
    """A case that needs no tool."""
    kind = rng.choices(list(TALK_HELD_OUT), [1, 1, 1, 1, 1, 4])[0]
    question = quoted(rng, rng.choice(TALK_HELD_OUT[kind]), name)
    return Case(Skill.TALK.value, repository, question, None, lambda _: TALK_ANSWERS[kind])


def groups(repositories: Path, held_out: list[str], number: int, seed: int = SEED) -> Iterator[list[Case]]:
    """`number` groups with one case of every kind, each group about one held-out package."""
    rng = random.Random(seed)
    names = {r: sorted({n for n in defined_names(repositories / r) if n[:2] != "__"}) for r in held_out}
    files = {r: file_patterns(repositories / r, rng) for r in held_out}
    for index in range(number):
        here, there = held_out[index % len(held_out)], held_out[(index + 1) % len(held_out)]
        name, other = rng.choice(names[here]), rng.choice(sorted(set(names[there]) - set(names[here])))
        yield [
            *(lookup(rng, s.value, s, here, rng.choice(names[here])) for s in (Skill.WHERE, Skill.TAKES, Skill.USES)),
            lookup(rng, Skill.OUTLINE.value, Skill.OUTLINE, here, rng.choice(files[here])),
            lookup(rng, NOT_THERE, Skill.WHERE, here, rng.choice([*MISSING_NAMES, other])),
            talk(rng, here, name),
        ]


def run(talk: Talk, case: Case, tools: Tools) -> tuple[bool, bool, str]:
    """Whether the call and the final answer are right, and what was said last."""
    reply = talk.ask(case.question)
    found = CALL.match(reply)
    called = (found[1], found[2]) if found else None
    result = ""
    if called and called[0] in tools:
        result = tools[called[0]](called[1])
        reply = talk.give(result)
    right_call = called == case.call
    return right_call, right_call and reply.strip() == case.answer(result), reply.strip()


def converse(talk: Talk, first: Case, second: Case, tools: Tools) -> Iterator[tuple[Case, int, bool, bool, str]]:
    """Two cases as one chat: case, turn, whether call and answer were right, and the answer."""
    for turn, case in enumerate((first, second), start=1):
        opening = OPENING.format(case.repository) if turn == 1 else ""
        yield (case, turn, *run(talk, replace(case, question=opening + case.question), tools))


def pairs(group: list[Case]) -> Iterator[tuple[Case, Case]]:
    """Every case of a group once as the first and once as the second question of a chat."""
    return zip(group, group[1:] + group[:1], strict=True)


def table(counts: Counter[tuple[str, str]], number: int) -> str:
    """A row per kind: the share of calls and answers that were right, of `number` each."""
    lines = [f"| {number} questions each | " + " | ".join(COLUMNS) + " |", "|" + "---|" * (len(COLUMNS) + 1)]
    shares = {kind: " | ".join(f"{counts[kind, column] / number:.0%}" for column in COLUMNS) for kind in KINDS}
    return "\n".join([*lines, *(f"| {kind} | {told} |" for kind, told in shares.items())])
