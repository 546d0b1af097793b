"""The right answer to each look-up and edit, computed from the tools' results alone: the target in training, the truth
in tests.

The tools print short lists (`laguna_tui/agent/tools/places.py` and `contents.py`); the right answer is one of them,
word for word. Answers are lists of spans, so that training can weigh the places where something is decided.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from questions import Skill

TITLES = {Skill.WHERE: "Defined", Skill.TAKES: "Defined", Skill.USES: "Used", Skill.TESTS: "Tested"}
"""Which list of a search answers which question."""
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


def listed(title: str, result: str) -> list[Span]:
    """The list of that title, or the sentence that says that there is nothing."""
    lines = result.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith(title + " ")), None)
    if start is None:
        return copied(lines[0])
    end = start + 1
    while end < len(lines) and re.match(r"\d\. |and ", lines[end]):
        end += 1
    return copied("\n".join(lines[start:end]))


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


def answer(skill: Skill) -> Callable[[str], list[Span]]:
    """From a result to the answer."""
    if skill is Skill.OUTLINE:
        return copied
    if skill is Skill.RENAME:
        return edited
    return lambda result: listed(TITLES.get(skill, "Defined"), result)


def text_of(spans: list[Span]) -> str:
    """The answer as the user sees it."""
    return "".join(span.text for span in spans)
