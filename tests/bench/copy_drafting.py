"""The longest call of the copying drafters: a whole text at once, and in small parts.

Run by hand: `python -m tests.bench.copy_drafting [--tokens N]`. The text is this repository's own Python, a token a
word or sign. Prints the seconds of the longest call of each kind and how many times shorter it is a little at a time.
"""

import argparse
import gc
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from laguna_engine.draft.base import CATCH_UP
from laguna_engine.draft.suffix import LIMIT
from tests.engine.draft.transcripts import FileCopy, TranscriptCopy

ROOT = Path(__file__).parents[2]


def text(count: int) -> list[int]:
    """Return tokens of source code, `count` of them."""
    ids: dict[str, int] = {}
    found: list[int] = []
    for path in sorted(ROOT.glob("*/**/*.py")):
        if ".venv" not in path.parts:
            words = re.findall(r"\w+|\s+|[^\w\s]", path.read_text(encoding="utf-8"))
            found += [ids.setdefault(word, len(ids)) for word in words]
            if len(found) >= count:
                break
    return found[:count]


def first_offer(tokens: list[int], most: int | None) -> Iterator[Callable[[], object]]:
    """Yield the calls of a long transcript that comes at once, then of rounds."""
    drafter = TranscriptCopy()
    drafter.extend(tokens[:LIMIT])
    yield from _rounds(drafter, most)


def forgetting(tokens: list[int], most: int | None) -> Iterator[Callable[[], object]]:
    """Yield the calls of a few tokens with which the oldest quarter is forgotten."""
    drafter = TranscriptCopy()
    drafter.extend(tokens[:LIMIT])
    drafter.catch_up()
    drafter.extend(tokens[LIMIT : LIMIT + 8])
    yield from _rounds(drafter, most)


def going_back(tokens: list[int], most: int | None) -> Iterator[Callable[[], object]]:
    """Yield the calls that take back the last third of a long transcript."""
    drafter = TranscriptCopy()
    drafter.extend(tokens[:LIMIT])
    drafter.catch_up()
    drafter.truncate(LIMIT * 2 // 3)
    yield from _rounds(drafter, most)


def files(tokens: list[int], most: int | None) -> Iterator[Callable[[], object]]:
    """As many files as fit are named at once."""
    drafter = FileCopy()
    drafter.extend(tokens[:8])
    drafter.add_files([tuple(tokens[start : start + 4096]) for start in range(0, LIMIT * 3 // 4 - 4096, 4096)])
    yield from _rounds(drafter, most)


def _rounds(drafter: TranscriptCopy | FileCopy, most: int | None) -> Iterator[Callable[[], object]]:
    done: list[bool] = [False]
    while not done[-1]:
        yield lambda: done.append(drafter.catch_up(most))
        yield drafter.offer


def longest(calls: Iterable[Callable[[], object]]) -> tuple[float, int]:
    """Return seconds of work of the longest call, and how many calls there were."""
    worst, count = 0.0, 0
    gc.collect()
    for call in calls:
        began = time.thread_time()
        call()
        worst, count = max(worst, time.thread_time() - began), count + 1
    return worst, count


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=LIMIT + 8, help="of the text")
    tokens = text(parser.parse_args().tokens)
    print(f"{len(tokens)} tokens")
    for kind in (first_offer, forgetting, going_back, files):
        (whole, _), (step, calls) = longest(kind(tokens, None)), longest(kind(tokens, CATCH_UP))
        name = kind.__name__.replace("_", " ")
        print(
            f"{name:>12}: at once {whole * 1e3:6.1f} ms, {step * 1e3:5.1f} ms in {calls:3} calls: 1/{whole / step:.0f}"
        )


if __name__ == "__main__":
    main()
