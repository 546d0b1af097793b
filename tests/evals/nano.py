"""The bundled pair in numbers: `python -m tests.evals.nano [--questions 20] [--seeds 7 8]`.

Run by hand; nothing is asserted. All of it is about packages that Laguna Nano never saw, asked in wordings that it
never saw: answers that are right word for word, bits per byte of code, and how much of what its drafter proposes stands
(where all before it does). The questions and the right answers are the recipe's (`assets/nano/recipe/cases.py`); tools
and engine are the app's.
"""

import argparse
import logging
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean

from laguna_engine.events import Source
from laguna_engine.sampling import GREEDY, Sampling
from laguna_engine.speculate.tally import Tally
from tests.evals.corpora import CACHE, HERE

sys.path.insert(0, str(HERE / "assets/nano/recipe"))

from apptools import open_tools
from bits import bits_per_byte
from cases import COLUMNS, KINDS, SEED, Tools, converse, groups, pairs, table
from drafter_answers import continued, excerpt, source_files
from sources import HELD_OUT, fetch, manifest, unpacked
from speaker import TEMPERATURE, TOP_K, Chat, Speaker, sampled

NANO = HERE / "assets/nano"
STRETCHES = 60
"""Pieces of held-out code that bits per byte are counted over."""


def held_out(work: Path) -> list[str]:
    """The packages that were kept from training, fetched if they are not there."""
    if missing := [name for name in HELD_OUT if not (work / "repos" / name).is_dir()]:
        fetch(work, missing, work / "wheels", manifest())
    return unpacked(work, held_out=True)


def tools_of(work: Path, names: Sequence[str]) -> dict[str, Tools]:
    return {n: dict(zip(("search", "find"), open_tools(work / "repos" / n), strict=True)) for n in names}


def answers(speaker: Speaker, work: Path, questions: int, seed: int) -> Counter[tuple[str, str]]:
    """How many calls and answers were right, by kind and column, of `questions` each."""
    names = held_out(work)
    tools, counts = tools_of(work, names), Counter[tuple[str, str]]()
    for group in groups(work / "repos", names, questions, seed):
        for first, second in pairs(group):
            for case, turn, call, right, reply in converse(Chat(speaker), first, second, tools[first.repository]):
                counts[case.kind, f"call {turn}"] += call
                counts[case.kind, f"answer {turn}"] += right
                if not right:
                    logging.info("%s, turn %d: %s\n    %r", case.kind, turn, case.question, reply)
    return counts


def code_of(work: Path, number: int, seed: int) -> list[str]:
    rng, files = random.Random(seed), source_files(work / "repos", held_out(work))
    return [excerpt(files, rng) for _ in range(number)]


def drafted(speaker: Speaker, work: Path, chats: int, seed: int) -> Iterator[str]:
    """A row for each kind of text: tokens that a round commits, and how often each proposal stands once reached."""
    names = held_out(work)
    tools = tools_of(work, names)
    for sampling in (GREEDY, sampled(seed)):
        for group in groups(work / "repos", names, -(-chats // len(KINDS)), seed):
            for first, second in pairs(group):
                list(converse(Chat(speaker, sampling), first, second, tools[first.repository]))
        yield row(speaker, "chats", sampling)
        for text in code_of(work, chats, seed):
            continued(speaker, text, sampling)
        yield row(speaker, "code", sampling)


def row(speaker: Speaker, kind: str, sampling: Sampling) -> str:
    """What the rounds since the last row add up to."""
    how = f"temperature {TEMPERATURE}, top-k {TOP_K}" if sampling.temperature else "greedy"
    tally = Tally()
    tally.extend(speaker.rounds)
    found = tally.summary().drafters[Source.DFLASH]
    per_round, rounds = speaker.committed / len(speaker.rounds), len(speaker.rounds)
    speaker.rounds, speaker.committed = [], 0
    shares = [stood / max(1, reached) for stood, reached in zip(found.stood, found.reached, strict=True)]
    return f"| {kind}, {how} | {rounds} | {per_round:.2f} | " + " | ".join(f"{share:.0%}" for share in shares) + " |"


def seeds_apart(found: Sequence[Counter[tuple[str, str]]], questions: int) -> str:
    """All answers of each seed together: how much the choice of questions moves the numbers."""
    total = questions * len(KINDS)
    shares = [[sum(c[kind, column] for kind in KINDS) / total for column in COLUMNS] for c in found]
    return "; ".join(
        f"{column} {mean(values):.1%} ({min(values):.1%} to {max(values):.1%})"
        for column, values in zip(COLUMNS, zip(*shares, strict=True), strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--model", type=Path, default=NANO / "laguna-nano.gguf")
    parser.add_argument("--drafter", type=Path, default=NANO / "laguna-nano-dflash.gguf")
    parser.add_argument("--work", type=Path, default=CACHE / "nano", help="where repos/ with the held-out packages is")
    parser.add_argument("--questions", type=int, default=20, help="of each kind, for each seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[SEED, SEED + 1], help="that questions are drawn with")
    parser.add_argument("--chats", type=int, default=36, help="that acceptance is counted over")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO if options.show else logging.WARNING, format="%(message)s")
    start = time.monotonic()
    speaker = Speaker(options.model)
    found = [answers(speaker, options.work, options.questions, seed) for seed in options.seeds]
    print(table(sum(found, Counter()), options.questions * len(found)))
    print(f"\nAll kinds, mean of {len(found)} seeds: {seeds_apart(found, options.questions)}")
    # In a process of its own: llama-cpp-python and the engine would fight over llama.cpp's log.
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        texts = code_of(options.work, STRETCHES, options.seeds[0])
        bits = alone.submit(bits_per_byte, options.model, texts).result()
    print(f"\nHeld-out code: {bits:.2f} bits per byte over {STRETCHES} pieces\n", flush=True)
    print("| drafted | rounds | tokens a round | 1 | 2 | 3 | 4 | 5 | 6 | 7 |\n|" + "---|" * 10)
    for line in drafted(Speaker(options.model, options.drafter), options.work, options.chats, options.seeds[0]):
        print(line, flush=True)
    print(f"\n{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
