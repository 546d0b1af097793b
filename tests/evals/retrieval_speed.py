"""How long indexing and asking a large folder take: `python -m tests.evals.retrieval_speed [FILES]`.

A synthetic repository of Python, TypeScript and Go files (30,000 by default) under git. Cold: everything is read. Warm:
nothing changed, in a process of its own, and `laguna-tui search` from start to end. One change: one file was written.
Questions: p50 and p95 of 300 different ones. Wall clock / seconds of the processor, those of processes that were waited
for among them. A session's codebase: when its paths are known, when it is ready, how long a completion takes for each
key of many mentions, how soon it stops while it indexes. Nothing is asserted; the machine's load is printed with the
numbers.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from laguna_tui.context.codebase import Codebase
from laguna_tui.context.completion import completions
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.ranking import search
from laguna_tui.repo.search.repository_map import repository_map

FILES = 30_000
QUESTIONS = 300
WAIT_S = 600.0
_SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo zu cha she plo gra tre".split()
_COMMON = "load save parse read write open close find list update delete create get set run check".split()

_PYTHON = '''"""{a} of the {b}."""
from {module} import {other}

class {Type}:
    """Keeps the {a} {b} until it is {c}."""

    def {verb}_{a}(self, {b}, limit={n}):
        """{Verb} every {a} whose {b} is {c}."""
        for item in self.{b}s:
            if item.{c} > limit:
                return {other}(item, {b})
        return None

def {verb2}_{b}_{c}(value: {Type}) -> int:
    result = value.{verb}_{a}({n})
    return {other}(result) + {n}
'''
_TYPESCRIPT = """import {{ {other} }} from './{module}';

/** Keeps the {a} {b}. */
export class {Type} {{
  private {b} = new Map<string, number>();
  {verb}{A}(limit: number): number {{
    return {other}(this.{b}, limit) + {n};
  }}
}}
export const {verb2}{B} = (value: {Type}) => {other}(value.{verb}{A}({n}));
"""
_GO = """package {module}

// {Type} keeps the {a} {b}.
type {Type} struct {{ {b} int }}

// {Verb}{A} is called when the {b} is {c}.
func (t *{Type}) {Verb}{A}(limit int) int {{
\tif t.{b} > limit {{ return {other}(t.{b}) }}
\treturn {n}
}}
"""


def word(rng: random.Random) -> str:
    # Some words are everywhere, most are rare, as in real code.
    return "".join(_SYLLABLES[min(int(rng.expovariate(0.25)), len(_SYLLABLES) - 1)] for _ in range(rng.randint(2, 3)))


def source(rng: random.Random, known: list[str], module: str) -> tuple[str, str]:
    """Return the suffix and text of one file; it refers to a name of an earlier one."""
    a, b, c, verb, verb2 = word(rng), word(rng), word(rng), rng.choice(_COMMON), rng.choice(_COMMON)
    name = a.title() + b.title()
    other = rng.choice(known[-2000:]) if known else "print"
    known.append(rng.choice([name, f"{verb2}_{b}_{c}"]))
    suffix, form = rng.choice([(".py", _PYTHON)] * 2 + [(".ts", _TYPESCRIPT), (".go", _GO)])
    text = form.format(
        a=a, b=b, c=c, A=a.title(), B=b.title(), Type=name, verb=verb, verb2=verb2, Verb=verb.title(),
        other=other, module=module, n=rng.randint(1, 99),
    )  # fmt: skip
    return suffix, text


def make_tree(root: Path, files: int) -> None:
    """Write the repository, and let git know of it."""
    rng = random.Random(7)
    known: list[str] = []
    for number in range(files):
        folder = root / f"part{number // 600:03}" / f"module{number // 30 % 20:02}"
        if number % 30 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        suffix, text = source(rng, known, f"module{rng.randint(0, 19):02}")
        path = folder / f"{word(rng)}_{number}{suffix}"
        path.write_text(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    options = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "gc.auto=0"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *options, *command], cwd=root, check=True, capture_output=True)


def questions(index: Index) -> list[str]:
    """Return words of the folder's own names, alone and together, rare and common."""
    rng = random.Random(3)
    names = [name for (name,) in index.connection.execute("select name from names order by id")]
    asked = []
    for number in range(QUESTIONS):
        picked = " ".join(rng.choice(names).replace("_", " ") for _ in range(number % 3 + 1))
        asked.append(rng.choice([picked, f"where do we {rng.choice(_COMMON)} the {picked}", rng.choice(names)]))
    return asked


class Took(NamedTuple):
    """Seconds by the clock, and of the processor."""

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s / {self.processor:.2f} s"


def timed(action):
    began, used = time.perf_counter(), _used()
    result = action()
    return Took(time.perf_counter() - began, _used() - used), result


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def in_milliseconds(times: list[Took], share: int) -> str:
    """Return what so many of 100 stayed below."""
    return " / ".join(
        f"{sorted(column)[len(column) * share // 100] * 1e3:.1f} ms" for column in zip(*times, strict=True)
    )


def of_process(*command: str, runs: int = 5, **environment: str) -> list[Took]:
    """Return what runs of a command took, quickest first."""
    action = partial(
        subprocess.run, command, check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    return sorted(timed(action)[0] for _ in range(runs))


_WARM = """
import sys
from pathlib import Path
from laguna_tui.repo.search.index import Index
with Index.open(Path(sys.argv[1]), Path(sys.argv[2])) as index:
    index.refresh()
"""


def measure(root: Path, cache: Path) -> list[tuple[str, str]]:
    with Index.open(root, cache) as index:
        cold, update = timed(index.refresh)
        rows = [("cold index", f"{cold} ({update.read / cold.wall:.0f} files/s)")]
        rows.append(("index on the disk", f"{index.path.stat().st_size / 1e6:.0f} MB"))
    warm = of_process(sys.executable, "-c", _WARM, str(root), str(cache))
    rows.append(("warm index in a process of its own, best of 5", str(warm[0])))
    search_it = (sys.executable, "-m", "laguna_tui", "search", "load the cart", "--folder", str(root))
    rows.append(("`laguna-tui search`, best of 5", str(of_process(*search_it, LAGUNA_TUI_INDEX=str(cache))[0])))
    with Index.open(root, cache) as index:
        index.refresh()
        next(root.glob("part000/module00/*.py")).write_text("def changed(): pass\n")
        rows.append(("after one change", str(timed(index.refresh)[0])))
        first, _ = timed(lambda: search(index.connection, "load the cart"))
        times = [timed(lambda text=text: search(index.connection, text))[0] for text in questions(index)]
        rows.append(("first question", str(first)))
        rows += [(f"question, p{share}", in_milliseconds(times, share)) for share in (50, 95, 99)]
        rows.append(("map of 2,048 tokens", str(timed(lambda: repository_map(index.connection, 2048))[0])))
    return rows


def measure_codebase(root: Path, cache: Path) -> list[tuple[str, str]]:
    """Return what a session waits for; `cache` has the index already."""
    began = time.perf_counter()
    codebase = Codebase(root, cache)
    codebase.start()
    codebase.paths(WAIT_S)
    listed = time.perf_counter() - began
    codebase.wait(WAIT_S)
    ready = time.perf_counter() - began
    times = [timed(lambda text=text: completions(codebase, text, len(text)))[0] for text in typed(codebase)]
    codebase.close()
    fresh = Codebase(root, cache / "fresh")
    fresh.start()
    while fresh.progress[0] == 0:
        time.sleep(0.01)
    return [
        ("codebase: paths known / ready", f"{listed:.2f} s / {ready:.2f} s"),
        *((f"completion, p{share}", in_milliseconds(times, share)) for share in (50, 95, 99)),
        ("stopped while indexing", str(timed(fresh.close)[0])),
    ]


def typed(codebase: Codebase) -> list[str]:
    """Return every beginning of mentions of the folder's own files, folders and definitions."""
    rng = random.Random(5)
    mentioned = [rng.choice(codebase.paths()) for _ in range(30)]
    mentioned += [path.rpartition("/")[2] for path in mentioned] + rng.sample(codebase.spellings.names, 60)
    return [f"@{name[:count]}" for name in mentioned for count in range(len(name) + 1)]


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        root.mkdir()
        make_tree(root, files)
        before = os.getloadavg()[0]
        cache = Path(folder) / "cache"
        rows = measure(root, cache) + measure_codebase(root, cache)
    print(f"{files:,} files, {os.cpu_count()} cores, load {before:.1f} before and {os.getloadavg()[0]:.1f} after\n")
    print("| what | measured |\n|---|---|")
    for what, value in rows:
        print(f"| {what} | {value} |")


if __name__ == "__main__":
    main()
