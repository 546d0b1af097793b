"""How well the right code is found: `python -m tests.evals.retrieval [--here]`. Run by hand; nothing is asserted.

Each ranking answers the same questions: recall at 1, 5 and 10, and NDCG@10. The features' weights were chosen on the
packages of `TUNED`; the tables are of `HELD`, which they never saw. `--here` needs no network: definitions of this
repository only.
"""

import argparse
import math
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

from laguna_tui.repo.index import Index
from laguna_tui.repo.index_writer import unpack_spans
from laguna_tui.repo.ranking import BM25_ALONE, Weights, search
from laguna_tui.repo.retrieval import parse_query
from tests.evals.corpora import HERE, package
from tests.evals.golds import Gold, changes, definitions

TUNED = (("click", "8.1.7"), ("jinja2", "3.1.4"))
HELD = (("werkzeug", "3.0.3"), ("flask", "3.0.3"), ("requests", "2.32.3"), ("rich", "13.7.1"))
STEPS = (
    ("werkzeug", "3.0.1 3.0.2 3.0.3 3.0.4 3.0.5 3.0.6"),
    ("flask", "2.3.0 2.3.1 2.3.2 2.3.3"),
    ("click", "8.1.3 8.1.4 8.1.5 8.1.6 8.1.7"),
    ("jinja2", "3.1.2 3.1.3 3.1.4 3.1.5 3.1.6"),
    ("requests", "2.32.0 2.32.1 2.32.2 2.32.3"),
    ("rich", "13.7.0 13.7.1 13.8.0 13.8.1 13.9.0 13.9.1 13.9.2"),
)
DEPTH = 10
# Drawn from all there are, so that a table takes two minutes.
QUESTIONS = 400
Ranking = Callable[[Index, str], list[tuple[str, str]]]
"""From an index and a question to (path, qualified name), best first."""


def by_grep(index: Index, question: str) -> list[tuple[str, str]]:
    """Units with the most of the question's words in their text, then with the most occurrences: what a search does."""
    words = parse_query(question).words
    texts = _texts(index)
    scored = []
    for place, text in texts.items():
        counts = [text.count(word) for word in words]
        scored.append((sum(map(bool, counts)), sum(counts), place))
    scored.sort(key=lambda entry: (-entry[0], -entry[1], entry[2]))
    return [place for distinct, _, place in scored[:200] if distinct]


_TEXTS: dict[Path, dict[tuple[str, str], str]] = {}


def _texts(index: Index) -> dict[tuple[str, str], str]:
    """Lower-case text of every unit."""
    if index.root not in _TEXTS:
        rows = index.connection.execute("select path, title, spans from units join files on files.id = units.file")
        texts: dict[tuple[str, str], str] = {}
        for path, title, spans in rows:
            whole = (index.root / path.decode()).read_text(encoding="utf-8", errors="replace")
            key = path.decode(), title
            texts[key] = texts.get(key, "") + "".join(whole[a:b] for a, b in unpack_spans(spans)).lower()
        _TEXTS[index.root] = texts
    return _TEXTS[index.root]


def by_weights(weights: Weights) -> Ranking:
    def ranked(index: Index, question: str) -> list[tuple[str, str]]:
        return [(found.unit.path, found.unit.title) for found in search(index, question, 200, weights)]

    return ranked


def rankings() -> dict[str, Ranking]:
    """Every ranking by its name."""
    every = Weights()
    names = [field.name for field in fields(Weights)]
    return {
        "ripgrep-like": by_grep,
        "BM25": by_weights(BM25_ALONE),
        **{f"BM25 + {name}": by_weights(replace(BM25_ALONE, **{name: getattr(every, name)})) for name in names},
        "all": by_weights(every),
        **{f"all but {name}": by_weights(replace(every, **{name: 0.0})) for name in names},
    }


def measure(ranking: Ranking, asked: Sequence[tuple[Index, Gold]]) -> list[float]:
    """Recall at 1, 5 and 10, and NDCG@10, averaged over the questions."""
    totals = [0.0] * 4
    for index, gold in asked:
        files = all(not name for _, name in gold.answers)
        found = [(path, "" if files else title) for path, title in ranking(index, gold.question)]
        hits = [place in gold.answers for place in dict.fromkeys(found)][:DEPTH]
        for column, depth in enumerate((1, 5, 10)):
            totals[column] += sum(hits[:depth]) / min(len(gold.answers), depth)
        ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(gold.answers), DEPTH)))
        totals[3] += sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits)) / ideal
    return [total / len(asked) for total in totals]


def table(title: str, asked: list[tuple[Index, Gold]]) -> None:
    chosen = sorted(random.Random(5).sample(range(len(asked)), min(len(asked), QUESTIONS)))
    asked = [asked[place] for place in chosen]
    print(f"\n### {title}: {len(asked)} questions\n")
    if not asked:
        return
    print("| ranking | recall@1 | recall@5 | recall@10 | NDCG@10 |\n|---|---|---|---|---|")
    for name, ranking in rankings().items():
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in measure(ranking, asked)) + " |", flush=True)


class Bench:
    """Indexes in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: list[Index] = []

    def index(self, root: Path) -> Index:
        index = Index.open(root, self._folder / "cache")
        index.refresh()
        self._opened.append(index)
        return index

    def definitions(self, source: Path) -> list[tuple[Index, Gold]]:
        target = self._folder / f"stripped-{len(self._opened)}-{source.name}"
        golds = definitions(source, target)
        index = self.index(target)
        known = {(path.decode(), title) for path, title in index.connection.execute(
            "select path, title from units join files on files.id = units.file")}  # fmt: skip
        return [(index, gold) for gold in golds if gold.answers <= known]

    def changes(self, name: str, versions: str) -> list[tuple[Index, Gold]]:
        asked = []
        releases = [package(name, version) for version in versions.split()]
        for old, new in pairwise(releases):
            if old and new and (golds := changes(old, new)):
                index = self.index(old)
                asked += [(index, gold) for gold in golds]
        return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--here", action="store_true", help="this repository only; no network")
    parser.add_argument("--tuned", action="store_true", help="the packages that the weights were chosen on")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        if options.here:
            table(
                "definitions of this repository",
                bench.definitions(HERE / "laguna_tui") + bench.definitions(HERE / "engine"),
            )
            return
        packages = [source for wanted in (TUNED if options.tuned else HELD) if (source := package(*wanted))]
        table("definitions", [pair for source in packages for pair in bench.definitions(source)])
        if not options.tuned:
            table("files of changes", [pair for step in STEPS for pair in bench.changes(*step)])


if __name__ == "__main__":
    main()
