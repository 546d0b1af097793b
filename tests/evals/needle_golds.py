"""Facts hidden in code: what is put where, what is asked for, and what must be kept to answer.

Every needle's number is nowhere else. A question either says the needle's name (`named`), or the words of the name in
another order (`words`), or none of its words (`meaning`). Offsets count characters.
"""

import ast
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tests.evals.keepers import measure

TABLE_LINES = 40
_LONG_FUNCTION = 20


class Topic(NamedTuple):
    """A fact: the name that holds it, a question in the name's words, and one with none of them."""

    name: str
    words: str
    meaning: str


TOPICS = (
    Topic("harbor_entry_code", "What code is needed for entry to the harbor?", "Which number lets a ship into port?"),
    Topic("retry_ceiling_ms", "What is the ceiling of a retry, in ms?", "How long may we wait before trying again?"),
    Topic("kiln_peak_heat", "What is the peak heat of the kiln?", "How hot does the oven for pottery get at most?"),
    Topic("orchard_row_gap", "How big is the gap of a row in the orchard?", "How far apart are fruit trees planted?"),
    Topic("ledger_seal_digit", "Which digit is the seal of the ledger?", "What closes the account book?"),
    Topic("glider_max_load", "What is the max load of a glider?", "How heavy may the plane without an engine be?"),
    Topic("museum_guest_cap", "What cap is there on a guest of the museum?", "How many visitors fit into an exhibit?"),
    Topic("beacon_blink_rate", "At which rate does the beacon blink?", "How often does the lighthouse flash?"),
)  # fmt: skip


class Insert(NamedTuple):
    """Text for the place nearest to a share of the prompt; `inside`: among a long function's statements."""

    text: str
    depth: float
    inside: bool = False


@dataclass(frozen=True)
class Needle:
    """A question, what is put into the code for it, and the lines that answer it, each stripped."""

    kind: str
    query: str
    inserts: tuple[Insert, ...]
    answer: tuple[str, ...]


def _value(topic: Topic, rng: random.Random) -> int:
    return rng.randrange(10_000, 99_999) * 10 + len(topic.name) % 10


def function(topic: Topic, body: str) -> str:
    return f"def {topic.name}():\n    return {body}\n"


def needles(depth: float, turn: int) -> list[Needle]:
    """Return one needle of every kind at a depth; `turn` chooses topics and numbers."""
    rng = random.Random(f"{depth} {turn}")
    topic, *others = rng.sample(TOPICS, 4)
    value = _value(topic, rng)
    plain = Insert(function(topic, str(value)), depth)
    lines = _lines(plain)
    return [
        Needle("single, named", f"What does {topic.name} return?", (plain,), lines),
        Needle("single, words", topic.words, (plain,), lines),
        Needle("single, meaning", topic.meaning, (plain,), lines),
        _line(topic, value, depth),
        _several(depth, [topic, *others], rng),
        _table(topic, value, depth, rng),
        _hop(topic, value, depth),
    ]


def _line(topic: Topic, value: int, depth: float) -> Needle:
    line = f"{topic.name} = {value}"
    return Needle("a line of a long function", f"What is {topic.name} set to?", (Insert(line, depth, True),), (line,))


def _several(depth: float, topics: Sequence[Topic], rng: random.Random) -> Needle:
    """Four functions: one at the depth, the others spread over the prompt from there."""
    inserts = [
        Insert(function(topic, str(_value(topic, rng))), (depth + index / len(topics)) % 1.01)
        for index, topic in enumerate(topics)
    ]
    query = f"What do {', '.join(topic.name for topic in topics[:-1])} and {topics[-1].name} return?"
    return Needle("four at once", query, tuple(inserts), tuple(line for insert in inserts for line in _lines(insert)))


def _table(topic: Topic, value: int, depth: float, rng: random.Random) -> Needle:
    """Return one line of a long dictionary; the question says its key."""
    fillers = [
        f'    "{"_".join(rng.sample(_FILLERS, 3))}": {rng.randrange(10_000, 99_999)},' for _ in range(TABLE_LINES)
    ]
    fillers[rng.randrange(TABLE_LINES)] = line = f'    "{topic.name}": {value},'
    text = "\n".join(["REGISTRY = {", *fillers, "}"])
    return Needle(
        "key → value in a table", f"Which value belongs to {topic.name}?", (Insert(text, depth),), (line.strip(),)
    )


def _hop(topic: Topic, value: int, depth: float) -> Needle:
    """Return a needle whose function calls another that holds the number, half of the prompt away."""
    other = f"compute_{value % 1000}_base"
    call = Insert(function(topic, f"{other}()"), depth)
    held = Insert(f"def {other}():\n    return {value}\n", (depth + 0.5) % 1.01)
    answer = (*_lines(call), *_lines(held))
    return Needle("key → value by a call", f"What number does {topic.name} give?", (call, held), answer)


def _lines(insert: Insert) -> tuple[str, ...]:
    """Return a function's lines."""
    return tuple(insert.text.rstrip("\n").split("\n"))


_FILLERS = (
    "amber bolt cedar delta ember fable grove hinge ivory joint knot lotus mango nickel olive pearl quartz river slate"
    " tulip umber violet willow xenon yarrow zinc"
).split()


def hide(files: Sequence[tuple[str, str]], inserts: Sequence[Insert]) -> tuple[tuple[str, str], ...]:
    """Return the files with every insert at the possible place nearest to its depth, counted in tokens."""
    texts = dict(files)
    order = [path for path, _ in files]
    for insert in inserts:
        sizes = [measure(texts[path]) for path in order]
        wanted = insert.depth * sum(sizes)
        candidates = []
        before = 0.0
        for path, size in zip(order, sizes, strict=True):
            for line, indent in _places(texts[path], insert.inside):
                at = before + size * line / max(texts[path].count("\n"), 1)
                candidates.append((abs(at - wanted), path, line, indent))
            before += size
        _, path, line, indent = min(candidates)
        texts[path] = _inserted(texts[path], line, indent, insert)
    return tuple((path, texts[path]) for path in order)


def _inserted(text: str, line: int, indent: int, insert: Insert) -> str:
    lines = text.split("\n")
    new = [" " * indent + part if part else "" for part in insert.text.rstrip("\n").split("\n")]
    lines[line:line] = new if insert.inside else ["", *new, ""]
    return "\n".join(lines)


def _places(text: str, inside: bool) -> list[tuple[int, int]]:
    """Return where something may be put before: lines from 0 between statements, and their indent."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return [] if inside else [(0, 0)]
    if not inside:
        starts = [min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", ()))]) for s in tree.body]
        # Not before a docstring, nor before the imports, which may have to come first.
        return [(start - 1, 0) for start in starts[1:]] + [(text.count("\n"), 0)]
    places = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= _LONG_FUNCTION:
            # Two statements on one line have no line between them.
            places += [(b.lineno - 1, b.col_offset) for a, b in pairwise(node.body) if b.lineno > (a.end_lineno or 0)]
    return places
