"""Run the app's own tools over every repository of the corpus, once, and keep what they print.

    python collect.py WORK [--searches 260] [--finds 60]

Deals in tool calls and their results. Training and evaluation read these files, so the model only ever sees text
that the app's tools really produce.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

SEARCHES, FINDS = 150, 40
SEED = 20

Run = Callable[[str, Mapping[str, str]], str]
"""From a tool's name and its arguments to what it prints."""


def defined_names(repository: Path) -> Iterator[str]:
    """Every function, method and class name, and some module constants."""
    for path in sorted(repository.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue  # not Python of this version: nothing to ask about
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Assign) and node.col_offset == 0 and isinstance(node.targets[0], ast.Name):
                yield node.targets[0].id


def used_names(repository: Path) -> Iterator[str]:
    """Names that the repository imports, most of them defined elsewhere: searches that find uses only."""
    for path in sorted(repository.rglob("*.py"))[:40]:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("from ") and " import " in line and "(" not in line:
                yield line.split(" import ")[1].split(",")[0].split(" as ")[0].strip()


def file_patterns(repository: Path, rng: random.Random, number: int = FINDS) -> list[str]:
    """Files as people name them: the stem with its suffix, with its folder, or the whole path."""
    files = [path.relative_to(repository).as_posix() for path in sorted(repository.rglob("*.py"))]
    chosen = rng.sample(files, min(len(files), number))
    return ["/".join(path.split("/")[-rng.choice([1, 1, 2, 3, 9]) :]) for path in chosen]


def collect(repository: Path, run: Run, searches: int, finds: int) -> list[dict[str, str]]:
    """A sample of searches and finds in one repository."""
    rng = random.Random(f"{SEED}{repository.name}")
    defined = sorted({name for name in defined_names(repository) if not name.startswith("__") and name.isascii()})
    foreign = sorted(set(used_names(repository)) - set(defined) - {"*"})
    names = rng.sample(defined, min(len(defined), searches)) + rng.sample(foreign, min(len(foreign), searches // 10))
    calls = [("search", name) for name in names]
    calls += [("find", pattern) for pattern in file_patterns(repository, rng, finds)]
    return [{"tool": tool, "pattern": what, "result": run(tool, {"pattern": what})} for tool, what in calls]


def main() -> None:
    """Write `header.txt` and fill `results/` in the working folder."""
    from apptools import Tools
    from header import header

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--searches", type=int, default=SEARCHES, help="of each package")
    parser.add_argument("--finds", type=int, default=FINDS, help="of each package")
    options = parser.parse_args()
    work = options.work
    (work / "header.txt").write_text(header(work), encoding="utf-8")
    (work / "results").mkdir(exist_ok=True)
    for repository in sorted((work / "repos").iterdir()):
        entries = collect(repository, Tools(repository).run, options.searches, options.finds)
        (work / "results" / f"{repository.name}.json").write_text(json.dumps(entries, ensure_ascii=False))
        print(repository.name, len(entries), flush=True)


if __name__ == "__main__":
    main()
