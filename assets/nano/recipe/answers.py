"""The right answer to each look-up and edit, computed from the tools' results alone: the target in training, the truth
in tests.

The tools print short lists (`laguna_tui/agent/tools/nano`); the right answer to a look-up is what the right call
brings, word for word. Answers are lists of spans, so that training can weigh what is decided where.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from questions import Skill

LISTS = {
    Skill.WHERE: "defined", Skill.TAKES: "defined", Skill.DOCSTRING: "defined", Skill.USES: "used",
    Skill.TESTS: "tested",
}  # fmt: skip
"""Which list of a search each question is about."""
DEFINED = re.compile(r"^\d\. `\S+ (\S+):\d+` `(.*)`$", re.M)
PIECES = re.compile(r"(?<=`)(?=[^`\n])|(?<= )(?=[^` ])|(?<=:)(?=\d)|(?<=\n)")
"""Where a line of a list goes on with something that only the list says."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of what the model writes; `copied` if it is text of the question or a result."""

    text: str
    copied: bool = False


def copied(text: str) -> list[Span]:
    """Text that repeats its source exactly, cut where a new piece of it begins."""
    return [Span(part, copied=True) for part in PIECES.split(text) if part] if text else []


def whole(text: str) -> list[Span]:
    """One span that repeats its source exactly."""
    return [Span(text, copied=True)]


def edited(result: str) -> list[Span]:
    """What an edit came to; of an error, what is wrong, without what it tells a model to do."""
    if result.startswith("error: "):
        return [Span("I changed nothing: "), *copied(result.removeprefix("error: ").partition(";")[0]), Span(".")]
    return copied(result)


@dataclass(frozen=True, slots=True)
class Edit:
    """The arguments of an edit: all occurrences if `all`."""

    path: str
    old: str
    new: str
    all: bool = False


def renaming(path: str, old: str, new: str) -> Edit:
    """The edit that renames, or replaces, in a file."""
    return Edit(path, old, new, all=True)


def docstring(name: str, given: str = "") -> str:
    """The text of a new docstring: what the user gave, or that it is to be written."""
    return given or f"TODO: describe {name}."


def documenting(name: str, result: str, given: str = "") -> Edit | None:
    """The edit that adds a docstring to what a search found; None when it found no definition."""
    found = DEFINED.search(result)
    return Edit(found[1], found[2], f'{found[2]}\n    """{docstring(name, given)}"""') if found else None


def looking(skill: Skill, pattern: str) -> dict[str, str]:
    """The arguments of the first call."""
    return ({"list": LISTS[skill]} if skill in LISTS else {}) | {"pattern": pattern}


def text_of(spans: list[Span]) -> str:
    """The answer as the user sees it."""
    return "".join(span.text for span in spans)
