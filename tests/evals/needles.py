"""Whether a fact hidden in code survives compression: `python -m tests.evals.needles [--scorer FILE]`.

Run by hand; nothing is asserted. Code of real packages, 4 K to 128 K tokens, a needle at 0, 25, 50, 75 and 100 % of
it, and a share to keep. A needle is kept when every line that answers its question is.
"""

import argparse
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.evals.compression import HELD, TUNED, mean, sources
from tests.evals.keepers import BASELINES, Keeper, Ranges, Task, measure, missing
from tests.evals.needle_golds import Needle, hide, needles
from tests.evals.ours import ours

SIZES = (4_096, 16_384, 65_536, 131_072)
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
KEEPS = (0.1, 0.3)
TURNS = 4
_SEED = 23


class Case(NamedTuple):
    """A needle in its haystack."""

    needle: Needle
    task: Task
    size: int
    depth: float


def haystack(names: Sequence[tuple[str, str]], size: int, turn: int) -> list[tuple[str, str]]:
    """Return files of about `size` tokens, in an order of their own."""
    pool = {path: text for name in names for path, text in sources(*name).items() if text.strip()}
    rng = random.Random(f"{_SEED} {size} {turn}")
    chosen, left = [], size
    for path in rng.sample(sorted(pool), len(pool)):
        if measure(pool[path]) <= left:
            chosen.append((path, pool[path]))
            left -= measure(pool[path])
    return chosen


def cases(names: Sequence[tuple[str, str]], sizes: Sequence[int], turns: int) -> list[Case]:
    """Return every kind of needle at every size and depth, `turns` times."""
    made = []
    for size in sizes:
        for turn in range(turns):
            files = haystack(names, size, turn)
            for depth in DEPTHS:
                for needle in needles(depth, turn):
                    hidden = hide(files, needle.inserts)
                    made.append(Case(needle, Task(needle.query, hidden), size, depth))
    return made


def kept(case: Case, ranges: Ranges) -> bool:
    """Return whether each line of the answer is there."""
    return all(_line_kept(case.task, line, ranges) for line in case.needle.answer)


def _line_kept(task: Task, line: str, ranges: Ranges) -> bool:
    for path, text in task.files:
        if (start := text.find(line)) >= 0 and not missing(text, start, start + len(line), ranges.get(path, ())):
            return True
    return False


def table(asked: Sequence[Case], keepers: dict[str, Keeper], keep: float) -> None:
    """Rows: keepers, and the last one's by size and by depth. Columns: kinds of needle."""
    kinds = list(dict.fromkeys(case.needle.kind for case in asked))
    print(f"\n### Keep {keep}: {len(asked) // len(kinds)} needles of each kind\n")
    print("| kept by | " + " | ".join(kinds) + " |\n" + "|---" * (1 + len(kinds)) + "|")

    def row(name: str, some: Sequence[tuple[Case, bool]]) -> None:
        cells = [mean([hit for case, hit in some if case.needle.kind == kind]) for kind in kinds]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)

    for name, keeper in keepers.items():
        hits = [(case, kept(case, keeper(case.task, case.task.budget(keep)))) for case in asked]
        row(name, hits)
    for size in dict.fromkeys(case.size for case in asked):
        row(f"{name}, {size:,} tokens", [pair for pair in hits if pair[0].size == size])
    for depth in DEPTHS:
        row(f"{name}, at {depth:.0%}", [pair for pair in hits if pair[0].depth == depth])


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--tuned", action="store_true", help="in the packages that the weights were chosen on")
    parser.add_argument("--scorer", type=Path, help="a GGUF that scores; without one, words only")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="tokens")
    parser.add_argument("--turns", type=int, default=TURNS, help="haystacks of each size")
    options = parser.parse_args()
    asked = cases(TUNED if options.tuned else HELD, options.sizes, options.turns)
    for keep in KEEPS:
        table(asked, {**BASELINES, "ours": ours(options.scorer)}, keep)


if __name__ == "__main__":
    main()
