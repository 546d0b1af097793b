"""Code in which the same words come again and again: what copying stumbles over.

Deals in names and heads of definitions as the app's tools print them. Real ones of this kind are rare in any corpus and
common in what people ask about: parameters of one type, tests with whole sentences for names, files of functions that
are called alike.
"""

from __future__ import annotations

from random import Random
from typing import Protocol

import apptools  # noqa: F401  (makes the app importable)

from laguna_tui.agent.tools.base.result_lines import shortened

SMALL_WORDS = (
    "a", "a", "the", "the", "is", "is", "of", "of", "with", "with", "not", "no", "in", "in", "and", "and", "that", "it",
    "to", "to", "for", "by", "on", "as", "one", "its", "an", "be", "are", "from", "without", "has", "same", "other",
)  # fmt: skip
TYPES = (
    "str", "str", "int", "int", "bool", "float", "bytes", "object", "Any", "Path", "dict[str, Any]", "list[str]",
    "Sequence[str]", "tuple[int, int]", "Callable[..., Any]", "Iterable[str]", "Mapping[str, object]", "set[str]",
)  # fmt: skip
DEFAULTS = ("None", "None", "True", "False", "0", "1", '""', "()", "10", "-1", '"utf-8"', "...")


class Words(Protocol):
    """A source of words and names."""

    def word(self) -> str:
        """A word of code."""

    def identifier(self, like: str) -> str:
        """A new name in the style of another."""


def sentence(rng: Random, words: Words) -> str:
    """A name that is a sentence: `the_same_name_is_not_the_same_file`."""
    drawn = [words.word() for _ in range(rng.randint(2, 4))]
    said = [rng.choice(SMALL_WORDS) if rng.random() < 0.5 else rng.choice(drawn) for _ in range(rng.randint(3, 8))]
    return "_".join([rng.choice(drawn), *said, rng.choice(drawn)])


def kin(rng: Random, words: Words, number: int) -> list[str]:
    """Names that share their words: `get_items`, `get_all_items`, `_merge_items`; or `ItemList`, `ItemKey`."""
    pool = [words.word() for _ in range(rng.randint(2, 4))]
    classes = rng.random() < 0.3
    found = []
    for _ in range(number):
        parts = [
            rng.choice(pool) if rng.random() < 0.8 else words.word() for _ in range(rng.choice([1, 2, 2, 3, 3, 4]))
        ]
        name = "".join(map(str.capitalize, parts)) if classes else "_".join(parts)
        found.append("_" + name if rng.random() < 0.15 else name)
    return found


def head(rng: Random, words: Words, name: str) -> str:
    """The head of a function or class, cut where the app cuts it."""
    types = [rng.choice(TYPES) if rng.random() < 0.6 else words.identifier("X") for _ in range(rng.randint(1, 3))]
    if name.lstrip("_")[:1].isupper():
        inside = rng.choice([" | ", ", "]).join(rng.choices(types, k=rng.randint(1, 4)))
        code = f"class {name}({words.identifier('X')}[{inside}]):"
    else:
        written = ["self"] * (rng.random() < 0.5) + [_parameter(rng, types, each) for each in _names(rng, words)]
        for sign in ("*", "/"):
            if rng.random() < 0.25:
                written.insert(rng.randint(1, len(written)), sign)
        returned = f" -> {rng.choice(types)}{rng.choice(['', '', ' | None'])}" if rng.random() < 0.8 else ""
        code = f"{rng.choice(['def', 'def', 'def', 'async def'])} {name}({', '.join(written)}){returned}:"
    return shortened(code)


def _names(rng: Random, words: Words) -> list[str]:
    number = rng.choice([1, 2, 2, 3, 3, 4, 5, 6])
    return kin(rng, words, number) if rng.random() < 0.4 else [words.word() for _ in range(number)]


def _parameter(rng: Random, types: list[str], name: str) -> str:
    kind = rng.choice(types) + rng.choice(["", "", "", " | None"])
    shown = f"{name.lower()}: {kind}" if rng.random() < 0.85 else name.lower()
    if rng.random() < 0.5:
        shown += f"{' = ' if ':' in shown else '='}{rng.choice(DEFAULTS)}"
    return shown
