"""Questions about repositories that are made up, each with one right answer: the set in which there is much to read.

A repository is eight files of Python, about 9,000 tokens. What is asked is what a reader finds in the text and the
tools in the index: where something is defined, what it takes, who calls it, and which number it returns. The same
questions every time; nobody has read them before. An answer in any words is right when it holds what it must and
nothing that would be another answer.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

REPOSITORIES, FILES, FUNCTIONS, OF_EACH = 4, 8, 14, 5
"""Repositories, files of each, functions of each file, and questions of each kind about each repository."""
_MOST_CALLERS = 3
_NOUNS = (
    "anchor ballast barge beacon berth bollard bridge buoy cable canal captain cargo chain channel chart cleat compass "
    "container convoy crane crew current customs deck depth dock draught engine ferry fleet fog freight fuel gangway "
    "harbour hatch hawser hull island jetty keel knot ladder lantern ledger lighthouse lock log manifest mast mooring "
    "oar pennant pier pilot port quay radar raft rope rudder sail salvage sextant signal sluice tanker tide toll "
    "tonnage tug voyage warehouse watch wharf winch yard"
).split()
_VERBS = (
    "assign audit balance cancel charge clear collect count estimate gather inspect join limit list measure merge move "
    "note plan price queue rank record reserve route schedule sort split store sum track weigh"
).split()
_ENDINGS = "cost date fee gap hours index level limit mark mass order pace quota rate share size span step".split()


@dataclass(frozen=True)
class _Function:
    """A function: the numbers of those that it calls, and its number if that is all it returns."""

    name: str
    file: str
    takes: tuple[str, ...]
    calls: tuple[int, ...]
    number: int

    @cached_property
    def signature(self) -> str:
        return f"{self.name}({', '.join(self.takes)})"


@dataclass(frozen=True)
class Lookup:
    """A question about a repository.

    Attributes:
        question: what the model is asked.
        wanted: words that a right answer has.
        others: words that a right answer does not have.
        wrong: answers that must fail.
    """

    question: str
    wanted: Sequence[str]
    others: Sequence[str]
    wrong: Sequence[str]


def lookups() -> Iterator[tuple[str, Mapping[str, str], Lookup]]:
    """Yield the name of each task, the files of its repository and its question."""
    kinds = {"where": _where, "takes": _takes, "callers": _callers, "number": _number}
    for seed in range(REPOSITORIES):
        rng = random.Random(seed)
        functions = _functions(rng)
        files = _files(functions, rng)
        for kind, lookup in kinds.items():
            fitting = [at for at in range(len(functions)) if _is_fitting(kind, functions, at)]
            for at in rng.sample(fitting, OF_EACH):
                yield f"{kind}_{functions[at].name}_{seed}", files, lookup(functions, at)


def _functions(rng: random.Random) -> list[_Function]:
    names = rng.sample([f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS], FILES * FUNCTIONS)
    stems, numbers = rng.sample(_NOUNS, FILES), rng.sample(range(1000, 10_000), FILES * FUNCTIONS)
    found: list[_Function] = []
    for at, name in enumerate(names):
        file = f"src/{stems[at // FUNCTIONS]}_{rng.choice(_ENDINGS)}.py" if at % FUNCTIONS == 0 else found[-1].file
        if at % 3 == 0:
            found.append(_Function(name, file, (), (), numbers[at]))
            continue
        takes = tuple(f"{noun}_{rng.choice(_ENDINGS)}" for noun in rng.sample(_NOUNS, rng.randint(2, 4)))
        # Only what stands before it is called, so that no two files import each other.
        calls = tuple(rng.sample(range(at), min(at, rng.randint(1, 2))))
        found.append(_Function(name, file, takes, calls, 0))
    return found


def _files(functions: list[_Function], rng: random.Random) -> dict[str, str]:
    found = {}
    for path in dict.fromkeys(each.file for each in functions):
        own = [each for each in functions if each.file == path]
        used = [functions[at] for each in own for at in each.calls if functions[at].file != path]
        lines = sorted({f"from {each.file[:-3].replace('/', '.')} import {each.name}" for each in used})
        texts = ["\n".join(_source(each, functions, rng)) for each in own]
        found[path] = "\n\n\n".join(["\n".join(['"""Figures of the port."""', "", *lines]), *texts]) + "\n"
    return found


def _source(each: _Function, functions: list[_Function], rng: random.Random) -> Iterator[str]:
    verb, noun = each.name.split("_")
    yield f"def {each.signature}:"
    yield f'    """{verb.title()} the {noun} by its {rng.choice(_ENDINGS)} and the {rng.choice(_NOUNS)}."""'
    if not each.takes:
        yield f"    return {each.number}"
        return
    yield f"    total = {each.takes[0]} * {rng.randint(2, 9)}"
    for name in each.takes[1:]:
        yield f"    if {name} > {rng.randint(10, 99)}:"
        yield f"        total += {name} - {rng.randint(1, 9)}"
    for at in each.calls:
        given = (str(rng.randint(1, 99)) for _ in functions[at].takes)
        yield f"    total -= {functions[at].name}({', '.join(given)})"
    yield "    return total"


def _is_fitting(kind: str, functions: list[_Function], at: int) -> bool:
    if kind == "takes":
        return bool(functions[at].takes)
    if kind == "number":
        return not functions[at].takes
    return kind == "where" or 0 < len(_callers_of(functions, at)) <= _MOST_CALLERS


def _callers_of(functions: list[_Function], at: int) -> list[str]:
    return [each.name for each in functions if at in each.calls]


def _where(functions: list[_Function], at: int) -> Lookup:
    names = [path.rpartition("/")[2] for path in dict.fromkeys(each.file for each in functions)]
    right = functions[at].file.rpartition("/")[2]
    others = [name for name in names if name != right]
    wrong = (f"In src/{others[0]}.", f"In src/{right} or src/{others[1]}.", "I do not know.")
    return Lookup(f"Where is `{functions[at].name}` defined?", [right], others, wrong)


def _takes(functions: list[_Function], at: int) -> Lookup:
    right = functions[at].takes
    others = sorted({name for each in functions for name in each.takes} - set(right))
    wrong = (f"It takes {', '.join(right[1:])}.", f"It takes {', '.join((*right, others[0]))}.", "Nothing.")
    return Lookup(f"What does `{functions[at].name}` take?", list(right), others, wrong)


def _callers(functions: list[_Function], at: int) -> Lookup:
    right = _callers_of(functions, at)
    others = [each.name for each in functions if each.name not in right and each is not functions[at]]
    wrong = ("Nobody.", f"{others[0]} calls it.", f"{', '.join(right)} and {others[1]} call it.")
    return Lookup(f"Who calls `{functions[at].name}`?", right, others, wrong)


def _number(functions: list[_Function], at: int) -> Lookup:
    right = functions[at].number
    others = [str(each.number) for each in functions if not each.takes and each.number != right]
    wrong = (f"{others[0]}.", f"{right} or {others[1]}.", "I do not know.")
    return Lookup(f"Which number does `{functions[at].name}` return?", [str(right)], others, wrong)
