"""Questions about repositories that were never trained on, in wordings that were never trained on, and what is right.

Deals in text: a case knows, from what the tools have printed so far, the next call or the final answer. Two things are
right or wrong: the first call, and all of it to the last word of the answer.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from answers import Edit, documenting, edited, looking, renaming, text_of
from chatter import TALK_HELD_OUT
from collect import defined_names, file_patterns
from questions import AGAIN_HELD_OUT, HELD_OUT, TALK_ANSWERS, TOOL, Skill
from results import mistyped

SEED = 7
COLUMNS = ("call 1", "answer 1", "call 2", "answer 2")
CALL = re.compile(r"^\n<tool_call>(\w+)\n(.*)</tool_call>\n$", re.S)
ARGUMENT = re.compile(r"<arg_key>(\w+)</arg_key>\n<arg_value>(.*?)</arg_value>\n", re.S)
HEAD = re.compile(r"(?:def|class) (\w+)")
OPENING = "[folder {} · 2026-11-20 · git main, 2 changed]\n\n"
MISSING_NAMES = (
    "frobnicate",
    "QuantumToaster",
    "_load_penguin",
    "parse_everything_twice",
    "MoonLander",
    "xyzzy_handler",
)
GIVEN = ("Say how it is done.", "Return what was asked for.", "A thin wrapper")
STEPS = 3  # calls at most, until there has to be an answer

NOT_THERE, FOLLOW_UP, MISTYPED, EDITED = (
    "about what is not there",
    "who calls *it*",
    "with a typing error",
    "edits made",
)
LOOK_UPS = (Skill.WHERE, Skill.TAKES, Skill.USES, Skill.OUTLINE, Skill.TESTS)
EDITS = (Skill.RENAME.value, Skill.DOCSTRING.value)
KINDS = [*(skill.value for skill in Skill), NOT_THERE, MISTYPED, FOLLOW_UP]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool's name and its arguments, all of them text."""

    tool: str
    arguments: Mapping[str, str]


Next = Callable[[Sequence[str]], "Call | str"]
"""From what the tools have printed so far to what is right to say next."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question; `before` is asked first, in the same chat, where the question is about it."""

    kind: str
    repository: str
    question: str
    next: Next
    before: Case | None = None


class Talk(Protocol):
    """A conversation with whoever is asked."""

    def ask(self, question: str) -> str:
        """The reply to the user."""

    def give(self, result: str) -> str:
        """The reply to a tool's result."""


class Tools(Protocol):
    """The app's tools over one repository."""

    def run(self, tool: str, arguments: Mapping[str, str]) -> str:
        """What the tool prints."""

    def restore(self) -> None:
        """Take back every edit."""


def parsed(reply: str) -> Call | None:
    """The call that a reply is, or None."""
    found = CALL.match(reply)
    return Call(found[1], dict(ARGUMENT.findall(found[2]))) if found else None


def is_asked_about(name: str) -> bool:
    """Whether people ask about names like this one."""
    return name.isascii() and not name.startswith(("__", "test_"))


def heads(repository: Path) -> Iterator[str]:
    """What has room for a docstring: every function, method and class."""
    for path in repository.rglob("*.py"):
        yield from HEAD.findall(path.read_text(encoding="utf-8", errors="replace"))


def editing(edit: Edit) -> Call:
    """The call of an edit."""
    arguments = {"path": edit.path, "old": edit.old, "new": edit.new}
    return Call("edit", arguments | ({"all": "true"} if edit.all else {}))


def looked_up(skill: Skill, pattern: str, given: str = "") -> Next:
    """What is right after a question that one search or find answers, or that an edit follows."""

    def next_(results: Sequence[str]) -> Call | str:
        if not results:
            return Call(TOOL[skill], looking(skill, pattern))
        edit = documenting(pattern, results[0], given) if skill is Skill.DOCSTRING else None
        if edit and len(results) == 1:
            return editing(edit)
        return text_of(edited(results[1])) if edit else results[0]

    return next_


def renamed(edit: Edit) -> Next:
    """What is right after a question that is an edit."""
    return lambda results: text_of(edited(results[0])) if results else editing(edit)


class Cases:
    """An endless, seeded source of cases about the held-out packages, and about one repository with tests."""

    def __init__(self, seed: int, repositories: Mapping[str, Path], tested: str) -> None:
        self.rng = random.Random(seed)
        self.held = [name for name in repositories if name != tested]
        self.tested = tested
        found = {r: set(defined_names(path)) for r, path in repositories.items()}
        self.names = {r: sorted(filter(is_asked_about, names)) for r, names in found.items()}
        self.heads = {r: sorted(filter(is_asked_about, set(heads(path)))) for r, path in repositories.items()}
        self.files = {r: file_patterns(path, self.rng) for r, path in repositories.items()}
        self.paths = {
            r: [p.relative_to(path).as_posix() for p in sorted(path.rglob("*.py"))] for r, path in repositories.items()
        }
        self.roots = repositories

    def filled(self, wording: str, **values: str) -> str:
        """The wording with its places filled, in backticks or bare."""
        tick = self.rng.choice(["`", ""])
        for place, value in values.items():
            wording = wording.replace("{" + place + "}", f'"{value}"' if place == "t" else tick + value + tick)
        return wording

    def lookup(self, skill: Skill, repository: str, name: str, kind: str = "", typo: bool = False) -> Case:
        """A case of one of the skills that begin with a search or a find."""
        wording = self.rng.choice(HELD_OUT[skill])
        given = self.rng.choice(GIVEN) if "{t}" in wording else ""
        wording = mistyped(self.rng, wording) if typo else wording
        question = self.filled(wording, n=name, f=name, t=given)
        return Case(kind or skill.value, repository, question, looked_up(skill, name, given))

    def rename(self, repository: str) -> Case:
        """Rename something that a file defines."""
        for _ in range(100):
            path = self.rng.choice(self.paths[repository])
            text = (self.roots[repository] / path).read_text(encoding="utf-8", errors="replace")
            names = [name for name in HEAD.findall(text) if name[:2] != "__"]
            whole = [other for other in self.paths[repository] if f"/{other}".endswith("/" + path.split("/")[-1])]
            if names:
                break
        old = self.rng.choice(names)
        new = self.rng.choice(["", "_", "fast_"]) + self.rng.choice(self.names[self.rng.choice(self.held)]) + "_new"
        asked = path if len(whole) > 1 else "/".join(path.split("/")[-self.rng.choice([1, 2, 9]) :])
        question = self.filled(self.rng.choice(HELD_OUT[Skill.RENAME]), n=old, m=new, f=asked)
        return Case(Skill.RENAME.value, repository, question, renamed(renaming(asked, old, new)))

    def talk(self, repository: str) -> Case:
        """A case that needs no tool."""
        kind = self.rng.choices(list(TALK_HELD_OUT), [1, 1, 1, 1, 1, 9])[0]
        wording = self.rng.choice(TALK_HELD_OUT[kind])
        name, other = self.rng.sample(self.names[repository], 2)
        wording = wording.replace("{n}", "{m}", wording.count("{n}") - 1)
        question = self.filled(wording, n=name, m=other, f=self.rng.choice(self.files[repository]))
        return Case(Skill.TALK.value, repository, question, lambda _: TALK_ANSWERS[kind])

    def follow_up(self, repository: str) -> Case:
        """A question about what the one before it was about."""
        name = self.rng.choice(self.names[repository])
        first, second = self.rng.sample([s for s in LOOK_UPS if s is not Skill.OUTLINE], 2)
        wording = self.rng.choice(AGAIN_HELD_OUT[second])
        before = self.lookup(first, repository, name)
        return Case(FOLLOW_UP, repository, wording, looked_up(second, name), before)

    def group(self, index: int) -> list[Case]:
        """One case of every kind, all about one repository, but those about tests."""
        here, there = (self.held[(index + step) % len(self.held)] for step in (0, 1))
        name = lambda: self.rng.choice(self.names[here])  # noqa: E731
        missing = self.rng.choice([*MISSING_NAMES, *sorted(set(self.names[there]) - set(self.names[here]))[:6]])
        typo = self.rng.choice([skill for skill in LOOK_UPS if skill is not Skill.OUTLINE])
        return [
            *(self.lookup(skill, here, name()) for skill in (Skill.WHERE, Skill.TAKES, Skill.USES)),
            self.lookup(Skill.OUTLINE, here, self.rng.choice(self.files[here])),
            self.lookup(Skill.TESTS, self.tested, self.rng.choice(self.names[self.tested])),
            self.rename(here),
            self.lookup(Skill.DOCSTRING, here, self.rng.choice(self.heads[here])),
            self.lookup(Skill.WHERE, here, missing, NOT_THERE),
            self.lookup(typo, here, name(), MISTYPED, typo=True),
            self.talk(here),
            self.follow_up(here),
        ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case went: the first call, everything, whether it was an edit that was made, and what was said last."""

    called: bool
    right: bool
    made: bool
    reply: str


def run(talk: Talk, case: Case, tools: Tools) -> Outcome:
    """Ask, run the calls that are right, and stop at the first thing that is wrong."""
    results: list[str] = []
    reply, called = talk.ask(case.question), False
    for _ in range(STEPS):
        wanted, call = case.next(results), parsed(reply)
        right = call == wanted if isinstance(wanted, Call) else reply.strip() == wanted
        called = called or right
        if call is None or not right:
            return Outcome(called, right, right and reply.startswith("\nChanged "), reply.strip())
        results.append(tools.run(call.tool, call.arguments))
        reply = talk.give(results[-1])
    return Outcome(called, False, False, reply.strip())


def converse(talk: Talk, first: Case, second: Case, tools: Mapping[str, Tools]) -> Iterator[tuple[Case, int, Outcome]]:
    """Two cases as one chat: case, turn and outcome; tools by repository, which are left as they were."""
    for turn, case in enumerate((first, second), start=1):
        opening = OPENING.format(case.repository) if turn == 1 else ""
        yield case, turn, run(talk, replace(case, question=opening + case.question), tools[case.repository])
        tools[case.repository].restore()


def pairs(group: Sequence[Case]) -> Iterator[tuple[Case, Case]]:
    """Every case of a group once as the first and once as the second question of a chat; follow-ups second only."""
    free = [case for case in group if case.before is None]
    yield from zip(free, free[1:] + free[:1], strict=True)
    yield from ((case.before, case) for case in group if case.before)


class Score:
    """Outcomes, counted by kind and turn."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int, str]] = Counter()

    def add(self, case: Case, turn: int, outcome: Outcome) -> None:
        """Count one."""
        for what, yes in (("asked", True), ("call", outcome.called), ("answer", outcome.right), ("made", outcome.made)):
            self.counts[case.kind, turn, what] += yes

    def __add__(self, other: Score) -> Score:
        both = Score()
        both.counts = self.counts + other.counts
        return both

    def share(self, kind: str, turn: int, what: str) -> str:
        """In percent; a dash where nothing was asked."""
        asked = self.counts[kind, turn, "asked"]
        return f"{self.counts[kind, turn, what] / asked:.0%}" if asked else "–"

    def total(self, turn: int, what: str) -> float:
        """Share over all kinds."""
        return sum(self.counts[k, turn, what] for k in KINDS) / max(
            1, sum(self.counts[k, turn, "asked"] for k in KINDS)
        )

    def table(self) -> str:
        """A row per kind: the share of first calls and of whole answers that were right, in each turn; edits made."""
        lines = ["| | asked | " + " | ".join((*COLUMNS, EDITED)) + " |", "|---" * (len(COLUMNS) + 3) + "|"]
        for kind in KINDS:
            asked = max(self.counts[kind, turn, "asked"] for turn in (1, 2))
            told = [self.share(kind, turn, what) for turn in (1, 2) for what in ("call", "answer")]
            made = sum(self.counts[kind, t, "made"] for t in (1, 2)) / max(1, 2 * asked)
            lines.append(f"| {kind} | {asked} | " + " | ".join([*told, f"{made:.0%}" if kind in EDITS else ""]) + " |")
        return "\n".join(lines)
