"""Whether what a question needs is still there after compression: `python -m tests.evals.compression [--tuned]`.

Run by hand; nothing is asserted. A call in a function of a real package is masked; the definitions of the function's
callees are what must be kept, whole. Three forms of one question: `code` (the function itself, which is in no file),
`edited` (its file is protected, and only callees in other files count) and `docstring` (the first sentence of the
function's docstring and its name; the callees' names stand only in the function). `--scorer FILE` adds a scorer.
"""

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.evals.call_golds import Call, Package, Place
from tests.evals.corpora import package, python_files
from tests.evals.keepers import BASELINES, Keeper, Ranges, Task, line_span, measure, missing
from tests.evals.ours import ablations, ours

TUNED = (("click", "8.1.7"), ("jinja2", "3.1.4"))
# Laguna Nano and its scorer were trained on neither of these.
HELD = (
    ("arrow", "1.4.0"), ("httpx", "0.28.1"), ("marshmallow", "4.4.0"),
    ("prompt-toolkit", "3.0.53"), ("structlog", "26.1.0"), ("tomlkit", "0.15.2"),
)  # fmt: skip
SIZES = (16_384, 32_768, 65_536)
KEEPS = (0.1, 0.2, 0.3)
FORMS = ("code", "edited", "docstring")
QUESTIONS = 60
_SEED = 11
_ASIDE = re.compile(r"(^|/)(tests?|docs?|examples?|tools|scripts|_vendor)(/|_)|(^|/)(setup|conftest)\.py$")


@dataclass(frozen=True)
class Case:
    """A task and what must be kept for it; `masked` is the one whose name the question does not say."""

    task: Task
    size: int
    call: Call
    golds: tuple[Place, ...]

    @property
    def masked(self) -> Place:
        return self.call.masked


def sources(name: str, version: str) -> dict[str, str]:
    """Return a package's own modules by import path."""
    root = package(name, version)
    files = {} if root is None else python_files(root)
    return {path.removeprefix("src/"): text for path, text in files.items() if not _ASIDE.search(path)}


def cases(form: str, names: Sequence[tuple[str, str]], number: int) -> list[Case]:
    """Return questions drawn evenly from the packages, of one size after the other."""
    packages = [sources(*name) for name in names]
    rng = random.Random(_SEED)
    drawn: list[list[Case]] = []
    for files in packages:
        calls = Package(files).calls(_SEED)
        rng.shuffle(calls)
        others = {path: text for other in packages if other is not files for path, text in other.items()}
        found = (make(form, call, files, others, SIZES[turn % len(SIZES)], rng) for turn, call in enumerate(calls))
        drawn.append([case for case in found if case][: -(-number // len(packages))])
    return [case for some in drawn for case in some][:number]


def make(
    form: str, call: Call, files: dict[str, str], others: dict[str, str], size: int, rng: random.Random
) -> Case | None:
    """Return the question in one form; None when it cannot be asked so, or when what it needs does not fit."""
    golds = tuple(gold for gold in (call.masked, *call.seen) if form != "edited" or gold.path != call.path)
    if not golds or (form == "docstring" and len(call.sentence.split()) < 4):
        return None
    own = {"code": without(call), "edited": call.text, "docstring": files[call.path].replace(call.sentence, "")}[form]
    files = files | {call.path: own}
    chosen = _corpus(files, others, [call.path, *(gold.path for gold in golds)], size, rng)
    if chosen is None:
        return None
    query = f"{call.sentence} How does `{call.name}` do this?" if form == "docstring" else call.code
    protected = frozenset({call.path} if form == "edited" else ())
    return Case(Task(query, chosen, protected), size, call, golds)


def without(call: Call) -> str:
    """Return the file without the function; every other line keeps its number."""
    lines = call.text.split("\n")
    indent = lines[call.first - 1][: -len(lines[call.first - 1].lstrip())]
    lines[call.first - 1 : call.last] = [f"{indent}...", *[""] * (call.last - call.first)]
    return "\n".join(lines)


def _corpus(
    files: dict[str, str], others: dict[str, str], needed: Sequence[str], size: int, rng: random.Random
) -> tuple[tuple[str, str], ...] | None:
    """Files of about `size` tokens with the needed ones: the package's own first, in the order of their paths."""
    chosen = {path: files[path] for path in needed}
    left = size - sum(map(measure, chosen.values()))
    if left < 0:
        return None
    for pool in (files, others):
        for path in rng.sample(sorted(pool), len(pool)):
            if path not in chosen and measure(pool[path]) <= left:
                chosen[path] = pool[path]
                left -= measure(pool[path])
    return tuple(sorted(chosen.items()))


def kept(case: Case, gold: Place, ranges: Ranges, last: int) -> bool:
    """Return whether a definition is there from its first line to `last`."""
    text = dict(case.task.files)[gold.path]
    return not missing(text, *line_span(text, gold.first, last), ranges.get(gold.path, ()))


def by_knowing(case: Case, budget: int) -> Ranges:
    """Return the definitions that are asked for, shortest first: what nobody can beat."""
    texts, ranges = dict(case.task.files), {}
    left = budget - case.task.budget(0.0)
    for span, path in sorted((line_span(texts[g.path], g.first, g.last), g.path) for g in case.golds):
        if (cost := measure(texts[path][slice(*span)])) <= left:
            left -= cost
            ranges.setdefault(path, []).append(span)
    return ranges


@dataclass
class Score:
    """Recall of one keeper at one share, over the golds of all cases."""

    whole: list[bool]
    heads: list[bool]

    @classmethod
    def of(cls, asked: Sequence[Case], keeper: Keeper | None, keep: float) -> "Score":
        score = cls([], [])
        for case in asked:
            budget = case.task.budget(keep)
            ranges = keeper(case.task, budget) if keeper else by_knowing(case, budget)
            score.whole += [kept(case, gold, ranges, gold.last) for gold in case.golds]
            score.heads += [kept(case, gold, ranges, gold.head) for gold in case.golds]
        return score


def mean(values: Sequence[bool]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "–"


def table(title: str, asked: Sequence[Case], keepers: dict[str, Keeper | None]) -> dict[str, list[Score]]:
    """Return a row for every keeper: definitions whole at each share, then signatures. Gives each keeper's scores."""
    golds = sum(len(case.golds) for case in asked)
    print(f"\n### {title}: {len(asked)} questions, {golds} definitions\n")
    print("| kept by | " + " | ".join(f"{what} {keep}" for what in ("whole", "signature") for keep in KEEPS) + " |")
    print("|---" * (1 + 2 * len(KEEPS)) + "|")
    found = {}
    for name, keeper in keepers.items():
        scores = found[name] = [Score.of(asked, keeper, keep) for keep in KEEPS]
        row = [mean(score.whole) for score in scores] + [mean(score.heads) for score in scores]
        print(f"| {name} | " + " | ".join(row) + " |", flush=True)
    return found


def split(title: str, asked: Sequence[Case], scores: Sequence[Score]) -> None:
    """Recall of whole definitions at each share, by what kind of definition and question it is."""
    print(f"\n{title}\n\n| definitions | how many | " + " | ".join(map(str, KEEPS)) + " |\n" + "|---" * 5 + "|")
    groups = {
        "whose name is masked": lambda case, gold: gold == case.masked,
        "whose name the function says": lambda case, gold: gold != case.masked,
        "up to 40 lines": lambda case, gold: gold.last - gold.first < 40,
        "over 40 lines": lambda case, gold: gold.last - gold.first >= 40,
        "in the function's own file": lambda case, gold: gold.path == case.call.path,
        "in another file": lambda case, gold: gold.path != case.call.path,
    } | {f"of {size:,} tokens": lambda case, gold, size=size: case.size == size for size in SIZES}
    pairs = [(case, gold) for case in asked for gold in case.golds]
    columns = [score.whole for score in scores]
    for name, belongs in groups.items():
        rows = [index for index, pair in enumerate(pairs) if belongs(*pair)]
        print(f"| {name} | {len(rows)} | " + " | ".join(mean([c[i] for i in rows]) for c in columns) + " |")


def failures(asked: Sequence[Case], keeper: Keeper, keep: float) -> Iterator[str]:
    """Yield what was not kept, a line each."""
    for case in asked:
        ranges = keeper(case.task, case.task.budget(keep))
        for gold in case.golds:
            if not kept(case, gold, ranges, gold.last):
                kind = "masked" if gold == case.masked else "seen"
                left = "cut" if kept(case, gold, ranges, gold.head) else "gone"
                what = f"{gold.name} ({gold.last - gold.first + 1} lines, {kind}, {left})"
                yield f"{case.size} {case.call.path} {case.call.name} -> {gold.path}:{gold.first} {what}"


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--tuned", action="store_true", help="the packages that the weights were chosen on")
    parser.add_argument("--scorer", type=Path, help="a GGUF that scores; without one, words only")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each form")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--failures", type=float, metavar="KEEP", help="list what is missing at this share instead")
    options = parser.parse_args()
    best = ours(options.scorer)
    for form in options.forms:
        asked = cases(form, TUNED if options.tuned else HELD, options.questions)
        if options.failures:
            print(form, *failures(asked, best, options.failures), sep="\n")
            continue
        rows: dict[str, Keeper | None] = {**BASELINES, "ours": best, **ablations(options.scorer)}
        scores = table(form, asked, rows | {"knowing the answer": None})
        split(f"Ours, `{form}`:", asked, scores["ours"])


if __name__ == "__main__":
    main()
