"""Our rounds against llama.cpp's own C++ speculative loop: the same target, the same DFlash drafter, in turns.

Run by hand: `python -m tests.bench.spec_upstream --upstream PYTHON [--threads N] [--lengths 1,3,7,15]`, where PYTHON
has xllamacpp, which carries that loop inside llama.cpp's server (asked in its own process, not over its port). Both
draft a fixed number of tokens every round; the pair is of random weights and either always right or always wrong
(`obedient`), so that acceptance is the same by construction, and the two extremes bracket everything between. Rates
are each side's own clock from the first token to the last. Ratios: ours over theirs, the median of each turn's own, and
that of the best turns. Goal: 1.0 or more.
"""

import argparse
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from laguna_engine.config import PLAIN, Drafting, Speculation
from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Finished, Token
from tests.bench import obedient

PROMPT = [40 + (7 * index) % 300 for index in range(128)]
N_CTX, TURNS = 1024, 9


@dataclass(frozen=True)
class Answer:
    """Tokens a second after the first, tokens drafted, tokens that stood, and the text."""

    rate: float
    drafted: int
    accepted: int
    text: str


class Theirs:
    """The worker in the other Python."""

    def __init__(self, python: str, target: Path, drafter: Path, threads: int) -> None:
        script = Path(__file__).with_name("upstream_worker.py")
        self.process = subprocess.Popen(
            [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._say({"target": str(target), "drafter": str(drafter), "threads": threads, "n_ctx": N_CTX})

    def answer(self, length: int | None, count: int) -> Answer:
        self._say({"prompt": PROMPT, "tokens": count, "length": length})
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("llama.cpp's side ended; run upstream_worker.py by hand to see why")
        found = json.loads(line)
        rate = (found["predicted_n"] - 1) / (found["predicted_ms"] / 1e3)
        return Answer(rate, found.get("draft_n", 0), found.get("draft_n_accepted", 0), found["text"])

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def _say(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


def ours(engine: Engine, length: int | None, count: int) -> Answer:
    """Return the same through the engine."""
    engine.clear()
    drafting = PLAIN if length is None else Drafting(sources=frozenset({DFlash.source}), length=length)
    events = list(engine.generate(Request(PROMPT, max_tokens=count, drafting=drafting)))
    assert isinstance(events[-1], Finished)
    stats = events[-1].stats
    text = "".join(event.text for event in events if isinstance(event, Token))
    return Answer(stats.decode_rate or 0, stats.drafted, stats.accepted, text)


def compare(python: str, folder: Path, *, right: bool, lengths: list[int | None], threads: int, count: int) -> None:
    size = obedient.Size()
    target = obedient.target(folder / "target.gguf", size)
    drafter = obedient.drafter(folder / "drafter.gguf", size, right=right)
    # Their plain server has no drafter and taps nothing, so neither does our plain engine.
    plain = EngineOptions(target, n_ctx=N_CTX, threads=threads, speculation=Speculation.OFF)
    drafted = replace(plain, speculation=Speculation.FAST, drafter=drafter)
    theirs = Theirs(python, target, drafter, threads)
    try:
        for length in lengths:
            with Engine.open(plain if length is None else drafted) as engine:
                ours(engine, length, count), theirs.answer(length, count)
                report(length, [_pair(engine, theirs, length, count, turn) for turn in range(TURNS)])
    finally:
        theirs.close()


def _pair(engine: Engine, theirs: Theirs, length: int | None, count: int, turn: int) -> tuple[Answer, Answer]:
    """Return one answer each, another one first every time."""
    first = ours(engine, length, count) if turn % 2 else None
    other = theirs.answer(length, count)
    return first or ours(engine, length, count), other


def report(length: int | None, pairs: list[tuple[Answer, Answer]]) -> None:
    """One row."""
    mine, other = zip(*pairs, strict=True)
    ratio = median(one.rate / two.rate for one, two in pairs)
    best = max(one.rate for one in mine) / max(two.rate for two in other)
    same = "yes" if all(one.text == two.text for one, two in pairs) else "NO"
    stood = " / ".join(f"{a.accepted / a.drafted:.0%}" if a.drafted else "–" for a in (mine[0], other[0]))
    rates = " | ".join(f"{median(answer.rate for answer in side):.1f}" for side in (mine, other))
    print(
        f"| {'plain' if length is None else length} | {rates} | {ratio:.3f} | {best:.3f} | {stood} | {same} |",
        flush=True,
    )


def main() -> None:
    """Measure and print two Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--upstream", required=True, metavar="PYTHON", help="a Python that has xllamacpp")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lengths", default="1,3,7,15", help="tokens drafted every round")
    parser.add_argument("--tokens", type=int, default=192, help="of each answer")
    arguments = parser.parse_args()
    lengths = [None, *map(int, arguments.lengths.split(","))]
    for right in (True, False):
        print(f"\nEvery draft {'right' if right else 'wrong'}; load average {os.getloadavg()[0]:.2f}\n")
        print("| draft | ours, tok/s | llama.cpp's, tok/s | ratio, median | ratio, best | stood | same text |")
        print("|---|---|---|---|---|---|---|", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            compare(
                arguments.upstream,
                Path(folder),
                right=right,
                lengths=lengths,
                threads=arguments.threads,
                count=arguments.tokens,
            )


if __name__ == "__main__":
    main()
