"""The right answer to each look-up, computed from the tool's result alone: the target in training, the truth in tests.

Deals in the app's result lines `symbol path:line: code`. Answers are lists of spans, so that training can weigh the
places where a copy begins. Copied spans are marked; everything else is fixed wording.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from questions import Skill

LINE = re.compile(r"^(\S+) (\S+):(\d+): (.*)$")
DEFINES = re.compile(r"^(?:async\s+def|def|class)\s+(\w+)")
NAMES_SAID = 4  # names in an outline, and
PLACES_SAID = 3  # places in a list of uses: more would make long answers that a model this small gets wrong


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of an answer; `copied` if it is text of the question or the result."""

    text: str
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """One result line."""

    symbol: str
    place: str
    code: str


def copied(text: str) -> Span:
    """A span that repeats its source exactly."""
    return Span(text, copied=True)


def matches(result: str) -> list[Match]:
    """The result lines of a search, in order; other lines are left out."""
    found = (LINE.match(line) for line in result.splitlines())
    return [Match(m[1], f"{m[2]}:{m[3]}", m[4]) for m in found if m]


def not_found(name: str) -> list[Span]:
    """The answer to `no matches for …`."""
    return [Span("I found no `"), copied(name), Span("` here.")]


def at(place: str) -> list[Span]:
    """A place in backticks."""
    return [Span("`"), copied(place), Span("`")]


def joined(items: list[list[Span]], more: bool) -> list[Span]:
    """`a, b and c`, or `a, b, c and more`."""
    spans = list(items[0])
    for index, item in enumerate(items[1:], start=1):
        last = index == len(items) - 1 and not more
        spans += [Span(" and " if last else ", "), *item]
    return [*spans, Span(" and more" if more else "")]


def line_head(match: Match) -> Span:
    """A result line up to its code, as it stands there: copied in one piece, which a small model does best."""
    return copied(f"{match.symbol} {match.place}")


def where(name: str, result: str) -> list[Span]:
    """Where `name` is defined: the first line, if its symbol is the name itself."""
    lines = matches(result)
    if not lines:
        return not_found(name)
    opening = "Defined here: `" if lines[0].symbol == name else "I found no definition, but a use: `"
    return [Span(opening), line_head(lines[0]), Span("`.")]


def signature(code: str) -> str | None:
    """The parenthesised arguments of a `def` line, or None when they do not end on that line."""
    start = code.find("(")
    depth = 0
    for index in range(start, len(code) if start >= 0 else 0):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[index], 0)
        if depth == 0:
            return code[start : index + 1]
    return None


def takes(name: str, result: str) -> list[Span]:
    """What `name` takes, copied from its definition line; the place alone when the line does not hold it all."""
    lines = matches(result)
    defined = DEFINES.match(lines[0].code) if lines and lines[0].symbol == name else None
    arguments = signature(lines[0].code) if defined else None
    if arguments is None or lines[0].code.startswith("class"):
        return where(name, result)
    return [Span("The signature is `"), copied(name + arguments), Span("`.")]


def is_definition(match: Match, name: str) -> bool:
    """True for the lines that a search puts first: definitions of the name itself."""
    defined = DEFINES.match(match.code)
    return match.symbol == name and (defined is None or defined[1] == name)


def uses(name: str, result: str) -> list[Span]:
    """The first places that use `name` without defining it."""
    lines = matches(result)
    if not lines:
        return not_found(name)
    used = [line for line in lines if not is_definition(line, name)]
    if not used:
        return [Span("I found only its definition: `"), line_head(lines[0]), Span("`.")]
    items = [[Span("`"), line_head(line), Span("`")] for line in used[:PLACES_SAID]]
    return [Span("Used here: "), *joined(items, more=len(used) > PLACES_SAID), Span(".")]


def outline(pattern: str, result: str) -> list[Span]:
    """What the first matching file defines, or the first files when there are too many to outline."""
    lines = result.splitlines()
    if not lines or lines[0].startswith("no "):
        return not_found(pattern)
    if LINE.match(lines[0]) is None and (len(lines) < 2 or LINE.match(lines[1]) is None):
        files = [line for line in lines if not LINE.match(line) and not line.startswith("…")]
        if len(files) > 1:
            listed = joined([at(path) for path in files[:PLACES_SAID]], more=len(lines) > PLACES_SAID)
            return [Span("Several files match: "), *listed, Span(".")]
        return [*at(lines[0]), Span(" defines nothing at its top level.")]
    names = []
    for line in lines[1:]:
        found = LINE.match(line)
        if found is None:
            break
        names.append(found[1])
    listed = joined([[Span("`"), copied(n), Span("`")] for n in names[:NAMES_SAID]], more=len(names) > NAMES_SAID)
    return [*at(lines[0]), Span(" defines "), *listed, Span(".")]


ANSWER = {Skill.WHERE: where, Skill.TAKES: takes, Skill.USES: uses, Skill.OUTLINE: outline}


def text_of(spans: list[Span]) -> str:
    """The answer as the user sees it."""
    return "".join(span.text for span in spans)
