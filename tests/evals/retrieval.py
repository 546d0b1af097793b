"""How well the right code is found: `python -m tests.evals.retrieval [--sets NAME…]`. Run by hand; nothing is asserted.

NDCG@10 of each set of questions: by unit (does the definition come first), by file (does its file, of all files found),
by file among the first ten places that are shown, where further places of one file count as lost, and by unit as they
are shown, with up to three units of a file at one place. `--save FILE` keeps each question's figures, `--before FILE`
compares with them: the mean of the differences with a 95% interval (paired bootstrap over questions). `--without
FEATURE…` switches features of the ranking off; `--each` does so with one after the other, and says what each brings: a
plus is what would be lost without it.
"""

import argparse
import json
import math
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.index_writer import unpack_spans
from laguna_tui.repo.search.ranking import RankedUnit, RankingWeights, by_file, search
from tests.evals.corpora import HERE, history, npm_package, package
from tests.evals.golds import Gold, changes, check_out, commits, definitions, is_built, symbols
from tests.evals.short_forms import short_forms

PYTHON = (("werkzeug", "3.0.3"), ("requests", "2.32.3"), ("rich", "13.7.1"), ("flask", "3.0.3"))
OTHERS = (
    ("zstandard", "0.23.0"),  # C
    ("hiredis", "3.0.0"),  # C
    ("jpype1", "1.5.0"),  # C++ and Java
    ("orjson", "3.10.7"),  # Rust
    ("pythonnet", "3.0.3"),  # C#
)
NPM = (
    ("rxjs", "7.8.1"),  # TypeScript
    ("fastify", "4.28.1"),  # JavaScript
    ("expo-modules-core", "1.12.0"),  # Kotlin, Swift and C++
    ("lottie-ios", "4.5.0"),  # Swift
    ("@wordpress/block-library", "9.5.0"),  # PHP and JavaScript
    ("expo-modules-autolinking", "1.11.0"),  # TypeScript and Ruby
    ("bats", "1.11.0"),  # shell
)
STEPS = (
    ("werkzeug", "3.0.1 3.0.2 3.0.3 3.0.4 3.0.5 3.0.6"),
    ("flask", "2.3.0 2.3.1 2.3.2 2.3.3"),
    ("click", "8.1.3 8.1.4 8.1.5 8.1.6 8.1.7"),
    ("jinja2", "3.1.2 3.1.3 3.1.4 3.1.5 3.1.6"),
    ("requests", "2.32.0 2.32.1 2.32.2 2.32.3"),
    ("rich", "13.7.0 13.7.1 13.8.0 13.8.1 13.9.0 13.9.1 13.9.2"),
)
# Commits after this one were made with what is measured here.
LAST_COMMIT = "9418a51"
COMMITS = 80
DEPTH = 10
# Drawn from each package, so that a large one does not decide alone and a set takes a minute.
QUESTIONS = 40
RESAMPLES = 10_000
FIGURES = ("by unit", "by file", "by file in ten", "by unit as shown")
Asked = Iterator[tuple[Index, Sequence[Gold]]]


class Indexes:
    """Indexes in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, root: Path) -> Index:
        """Return the index of a folder, up to date."""
        index = Index.open(root, self._folder / "cache")
        index.refresh()
        return index

    def place(self, name: str) -> Path:
        """Return a folder to write into."""
        return self._folder / name


def packages() -> Iterator[Path]:
    """Return every package that could be downloaded."""
    found = [package(*wanted) for wanted in PYTHON + OTHERS] + [npm_package(*wanted) for wanted in NPM]
    return (path for path in found if path is not None)


def drawn(golds: Sequence[Gold]) -> list[Gold]:
    chosen = sorted(random.Random(5).sample(range(len(golds)), min(len(golds), QUESTIONS)))
    return [golds[place] for place in chosen]


def by_docstring(indexes: Indexes) -> Asked:
    for source in packages():
        target = indexes.place(f"stripped-{source.name}")
        golds = drawn(definitions(source, target))
        if golds:
            yield indexes.read(target), golds


def by_short_form(indexes: Indexes) -> Asked:
    for source in packages():
        target = indexes.place(f"stripped-{source.name}")
        if golds := drawn(short_forms(definitions(source, target), target)):
            yield indexes.read(target), golds


def by_symbol(indexes: Indexes) -> Asked:
    for source in packages():
        target = indexes.place(f"whole-{source.name}")
        shutil.copytree(source, target, ignore=_built(source), symlinks=True)
        if golds := drawn(symbols(target)):
            yield indexes.read(target), golds


def _built(source: Path) -> Callable[[str, list[str]], list[str]]:
    """Return what of a package is left out: files that are built from others of it."""

    def left_out(folder: str, names: list[str]) -> list[str]:
        inside = Path(folder).relative_to(source)
        return [name for name in names if is_built((inside / name).as_posix() + "/")]

    return left_out


def by_changelog(indexes: Indexes) -> Asked:
    for name, versions in STEPS:
        for old, new in pairwise([package(name, version) for version in versions.split()]):
            if old and new and (golds := changes(old, new)):
                yield indexes.read(old), golds


def by_commit(indexes: Indexes) -> Asked:
    repository = history(indexes.place("history"))
    if repository is None:
        return
    for revision, gold in commits(repository, LAST_COMMIT, COMMITS):
        check_out(repository, revision)
        yield indexes.read(repository), [gold]


def here(indexes: Indexes) -> Asked:
    for part in ("laguna_tui", "engine"):
        target = indexes.place(f"stripped-{part}")
        golds = drawn(definitions(HERE / part, target))
        yield indexes.read(target), golds


SETS: dict[str, Callable[[Indexes], Asked]] = {
    "docstrings": by_docstring,
    "short-forms": by_short_form,
    "symbols": by_symbol,
    "commits": by_commit,
    "changelogs": by_changelog,
    "here": here,
}


def ndcg(hits: Sequence[bool], answers: int) -> float:
    """Return NDCG@10 of a ranking's hits; no answer counts twice."""
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(answers, DEPTH)))
    return sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits[:DEPTH])) / ideal


def judged(index: Index, gold: Gold, weights: RankingWeights) -> tuple[float, ...]:
    """Return NDCG@10 of `FIGURES`, and the seconds that the search took."""
    began = time.perf_counter()
    found = search(index.connection, gold.question, 200, weights)
    seconds = time.perf_counter() - began
    places = [(place.best, *place.also) for place in by_file(found, DEPTH)]
    files = {path for path, _ in gold.answers}
    shown = [units[0].unit.path for units in places]
    in_ten = ndcg([path in files and path not in shown[:rank] for rank, path in enumerate(shown)], len(files))
    of_all = ndcg([path in files for path in dict.fromkeys(result.unit.path for result in found)], len(files))
    if all(at < 0 for _, at in gold.answers):
        return of_all, of_all, in_ten, of_all, seconds
    return unit_ndcg([(result,) for result in found[:DEPTH]], gold), of_all, in_ten, unit_ndcg(places, gold), seconds


def unit_ndcg(places: Sequence[Sequence[RankedUnit]], gold: Gold) -> float:
    """Return NDCG@10 of places with some units each; no answer counts twice."""
    left = set(gold.answers)
    hits = []
    for units in places:
        hit = {answer for answer in left if any(holds(result, *answer) for result in units)}
        hits.append(bool(hit))
        left -= hit
    return ndcg(hits, len(gold.answers))


def holds(result: RankedUnit, path: str, at: int) -> bool:
    """Return whether a result's unit has the offset of a file."""
    unit = result.unit
    return unit.path == path and any(start <= at < stop for start, stop in unpack_spans(unit.spans))


def interval(differences: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of paired differences and its 95% interval, by bootstrap."""
    values = np.array(differences)
    drawn_again = np.random.default_rng(17).integers(0, len(values), (RESAMPLES, len(values)))
    means = values[drawn_again].mean(1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(values.mean()), float(low), float(high)


def row(name: str, now: Sequence[Sequence[float]], before: Sequence[Sequence[float]] | None) -> str:
    """Return a set's line of the table."""
    columns = range(len(FIGURES))
    means = [statistics.mean(figures[column] for figures in now) for column in columns]
    times = sorted(figures[-1] for figures in now)
    cells = [name, str(len(now)), *(f"{mean:.3f}" for mean in means)]
    cells.append(" / ".join(f"{times[len(times) * share // 100] * 1e3:.1f}" for share in (50, 95)))
    if before is not None:
        cells += changes_of(now, before)
    return "| " + " | ".join(cells) + " |"


def features() -> dict[str, RankingWeights]:
    """Return the ranking without each of its features."""
    return {field.name: replace(RankingWeights(), **{field.name: 0.0}) for field in fields(RankingWeights)}


def each(name: str) -> list[str]:
    """Return the lines of the table of what each feature brings to a set."""
    without: dict[str, list[tuple[float, float, float, float]]] = {feature: [] for feature in features()}
    whole = []
    with tempfile.TemporaryDirectory() as folder:
        for index, golds in SETS[name](Indexes(Path(folder))):
            whole += [judged(index, gold, RankingWeights()) for gold in golds]
            for feature, weights in features().items():
                without[feature] += [judged(index, gold, weights) for gold in golds]
            index.close()
    return [f"| {name} | {feature} | {' | '.join(changes_of(whole, less))} |" for feature, less in without.items()]


def changes_of(now: Sequence[Sequence[float]], before: Sequence[Sequence[float]]) -> Iterator[str]:
    """Yield the mean difference of each figure, with its interval."""
    for column in range(len(FIGURES)):
        pairs = zip(now, before, strict=True)
        mean, low, high = interval([new[column] - old[column] for new, old in pairs])
        yield f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"


def main() -> None:
    names = [field.name for field in fields(RankingWeights)]
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[name for name in SETS if name != "here"])
    parser.add_argument("--without", nargs="+", choices=names, default=[], metavar="FEATURE", help=", ".join(names))
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the figures of each question")
    parser.add_argument("--before", type=Path, metavar="FILE", help="compare with kept figures")
    parser.add_argument("--each", action="store_true", help="what each feature of the ranking brings")
    options = parser.parse_args()
    if options.each:
        print(f"| set | feature | {' | '.join(FIGURES)} |\n|{'---|' * (len(FIGURES) + 2)}")
        for name in options.sets:
            print("\n".join(each(name)), flush=True)
        return
    weights = replace(RankingWeights(), **dict.fromkeys(options.without, 0.0))
    before = json.loads(options.before.read_text()) if options.before else None
    kept = {}
    heads = ["set", "questions", *FIGURES, "p50 / p95, ms", *(f"{figure}, change" for figure in FIGURES if before)]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in options.sets:
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for index, golds in SETS[name](Indexes(Path(folder))):
                found += [judged(index, gold, weights) for gold in golds]
                index.close()
        if found:
            kept[name] = found
            print(row(name, found, before[name] if before else None), flush=True)
    if options.save:
        options.save.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
