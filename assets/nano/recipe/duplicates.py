"""Code of the held-out packages that training packages hold too, nearly word for word: found, and taken out.

    python duplicates.py WORK [--remove]

Deals in files and definitions, between packages. Two of them are near duplicates if the sets of their runs of SHINGLE
words overlap by NEAR or more (Jaccard). The sets are compared whole, through an index of the held-out side, so nothing
is estimated. `--remove` deletes the training files that are, or that define, a near duplicate; what was found is in
`duplicates.json`. Runs after `sources.py`, before anything learns from the corpus.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sources import trained, unpacked

SHINGLE = 5  # words to a run
NEAR = 0.7
SHORTEST = 50  # words: below that, different code looks alike
WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or a definition in one; `place` is `package/path` or `package/path:line name`."""

    place: str
    shingles: frozenset[int]

    @property
    def file(self) -> str:
        """Where it stands."""
        return self.place.split(".py:")[0].removesuffix(".py") + ".py"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two near duplicates and how much they share, 0 to 1."""

    trained: str
    held_out: str
    shared: float


def shingles(text: str) -> frozenset[int]:
    """Hashes of all runs of SHINGLE words; empty for a text that is too short to tell."""
    words = WORD.findall(text)
    if len(words) < SHORTEST:
        return frozenset()
    return frozenset(hash(tuple(words[i : i + SHINGLE])) for i in range(len(words) - SHINGLE + 1))


def pieces(place: str, text: str) -> Iterator[Piece]:
    """A file as a whole and each of its functions, methods and classes, if they are long enough."""
    found = [(place, text)]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        tree = ast.Module([], [])  # not Python of this version: the file alone
    lines = text.splitlines()
    definitions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    found += [(f"{place}:{n.lineno} {n.name}", "\n".join(lines[n.lineno - 1 : n.end_lineno])) for n in definitions]
    for name, part in found:
        if made := shingles(part):
            yield Piece(name, made)


def read(repositories: Path, names: Iterable[str]) -> Iterator[Piece]:
    """Every piece of the named packages."""
    for name in sorted(names):
        for path in sorted((repositories / name).rglob("*.py")):
            text = path.read_text(encoding="utf-8", errors="replace")
            yield from pieces(path.relative_to(repositories).as_posix(), text)


def near(training: Iterable[Piece], held_out: list[Piece]) -> Iterator[Pair]:
    """The best match of every training piece that has one."""
    index = defaultdict(list)
    for number, piece in enumerate(held_out):
        for shingle in piece.shingles:
            index[shingle].append(number)
    for piece in training:
        common = Counter(number for shingle in piece.shingles for number in index.get(shingle, ()))
        sizes = {n: len(piece.shingles) + len(held_out[n].shingles) - both for n, both in common.items()}
        best = max(common, key=lambda n: common[n] / sizes[n], default=None)
        if best is not None and common[best] >= NEAR * sizes[best]:
            yield Pair(piece.place, held_out[best].place, round(common[best] / sizes[best], 3))


def main() -> None:
    """Print every pair, write `duplicates.json`, and delete files if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--remove", action="store_true", help="delete the training files with near duplicates")
    options = parser.parse_args()
    repositories = options.work / "repos"
    held_out = list(read(repositories, unpacked(options.work, held_out=True)))
    pairs = list(near(read(repositories, trained(options.work)), held_out))
    files = sorted({Piece(pair.trained, frozenset()).file for pair in pairs})
    for pair in pairs:
        print(f"{pair.shared:.2f} {pair.trained} = {pair.held_out}")
    print(f"{len(pairs)} near duplicates of {len(held_out)} held-out pieces, in {len(files)} training files")
    (options.work / "duplicates.json").write_text(json.dumps([asdict(pair) for pair in pairs], indent=1) + "\n")
    for file in files if options.remove else ():
        (repositories / file).unlink()


if __name__ == "__main__":
    main()
