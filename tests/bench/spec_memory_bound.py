"""Drafting where it should pay: a target that waits for memory, and drafts of known quality that cost nothing.

Run by hand: `python -m tests.bench.spec_memory_bound [--layers N] [--float16] [--threads N]`. The target is dense, of
random weights, several hundred MB and always says the same token (`obedient`); the drafts are right with a probability
of 0.8, or never. Verify costs are taken from drafts that are never right, so that the prediction (`economics`) knows
nothing of what it predicts. All ways take turns in one process, each with a plain answer just before. Goals: faster
than plain decoding, within 10 % of the prediction; never right: at most 2 % slower than plain.
"""

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from laguna_engine.config import PLAIN, Drafting
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Finished, Round
from laguna_engine.speculate.cost_model import constant_acceptance_tokens, speedup
from tests.bench import obedient
from tests.engine.scripted_drafters import Oracle, use, use_again

PROMPT = [40 + index % 50 for index in range(16)]
N_CTX = 1024
ACCURACY = 0.8


class Way:
    """One way to decode: drafts of this accuracy and length (None: the engine's choice), or none at all."""

    def __init__(self, accuracy: float | None = None, length: int | None = None) -> None:
        self.accuracy, self.length = accuracy, length
        self.rounds: list[Round] = []
        self._speculator: object = None

    def answer(self, engine: Engine, count: int) -> float:
        """Return one answer more: its tokens a second."""
        engine.clear()
        drafting = PLAIN if self.accuracy is None else Drafting(length=self.length)
        if self.accuracy is not None:
            self._use(engine, self.accuracy)
        self.rounds = []
        for event in engine.generate(Request(PROMPT, max_tokens=count, drafting=drafting)):
            if isinstance(event, Round):
                self.rounds.append(event)
            elif isinstance(event, Finished):
                rate = event.stats.decode_rate
        return rate or 0.0

    def round_s(self) -> float:
        """Return what a round with a whole draft took in the latest answer."""
        full = [spun for spun in self.rounds if spun.drafted == self.length]
        return median(spun.draft_s + spun.verify_s + spun.sample_s for spun in full)

    def tokens(self) -> float:
        """Committed a round in the latest answer."""
        return 1 + sum(spun.accepted for spun in self.rounds) / len(self.rounds)

    def _use(self, engine: Engine, accuracy: float) -> None:
        """Every way learns for itself, and keeps what it learned from answer to answer."""
        if self._speculator is None:
            use(engine, Oracle(PROMPT + [obedient.SAID] * N_CTX, engine.vocab.size, accuracy))
            self._speculator = engine._speculator
        use_again(engine, self._speculator)


@dataclass
class Found:
    """Of one way, answer by answer: speed-ups over the plain answer just before, predicted ones, tokens a round."""

    measured: list[float] = field(default_factory=list)
    predicted: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)

    def add(self, rate: float, plain: float, way: Way, predicted: float | None = None) -> None:
        self.measured.append(rate / plain)
        self.tokens.append(way.tokens())
        if predicted is not None:
            self.predicted.append(predicted)


class Trial:
    """Every way in turn, each with a plain answer of its own just before: a burst of other work disturbs both."""

    def __init__(self, engine: Engine, lengths: Sequence[int], count: int) -> None:
        self._engine, self._count = engine, count
        self._plain, self._chosen, self._never = Way(), Way(ACCURACY), Way(0.0)
        self._fixed = {length: (Way(0.0, length), Way(ACCURACY, length)) for length in lengths}
        self.found = {**{str(length): Found() for length in lengths}, "chosen": Found(), "never right": Found()}
        self.lengths: list[int] = []
        self.rates: list[float] = []

    def turn(self) -> None:
        """One answer of each."""
        for length, (costs, drafts) in self._fixed.items():
            plain = self._plainly()
            # For costs a few whole drafts are enough.
            costs.answer(self._engine, 2 * length + 8)
            predicted = speedup(constant_acceptance_tokens(ACCURACY, length), costs.round_s(), 1 / plain)
            self.found[str(length)].add(drafts.answer(self._engine, self._count), plain, drafts, predicted)
        for name, way in (("chosen", self._chosen), ("never right", self._never)):
            plain = self._plainly()
            self.found[name].add(way.answer(self._engine, self._count), plain, way)
        self.lengths += [spun.drafted for spun in self._chosen.rounds]

    def report(self) -> None:
        """The table."""
        print("| drafts of | x plain, median | predicted | off by | tokens/round |\n|---|---|---|---|---|")
        best = max(median(found.predicted) for found in self.found.values() if found.predicted)
        for name, found in self.found.items():
            predicted = median(found.predicted) if found.predicted else best if name == "chosen" else 1.0
            ratio = median(found.measured)
            cells = f"{ratio:.3f} | {predicted:.3f} | {predicted / ratio - 1:+.1%} | {median(found.tokens):.2f}"
            print(f"| {name} | {cells} |")
        never = self.found["never right"].measured
        print(
            f"\nPlain: {median(self.rates):.1f} tok/s. Never right, while it learns (the first answer): {never[0]:.3f}."
        )
        print(
            f"Chosen: median length {median(self.lengths):.0f}, none {self.lengths.count(0) / len(self.lengths):.0%}."
        )

    def _plainly(self) -> float:
        rate = self._plain.answer(self._engine, self._count)
        self.rates.append(rate)
        return rate


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--layers", type=int, default=10)
    parser.add_argument("--float16", action="store_true", help="half the bytes: compute counts for more")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--lengths", default="1,2,4,8")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = _sequence(Path(folder) / "target.gguf", options.layers, half=options.float16)
        kind = "f16" if options.float16 else "f32"
        load = f"load average {os.getloadavg()[0]:.2f}"
        print(f"{path.stat().st_size / 1e6:.0f} MB of {kind}, {options.threads} threads, {load}\n", flush=True)
        with Engine.open(EngineOptions(path, n_ctx=N_CTX, threads=options.threads)) as engine:
            Way().answer(engine, 16)
            trial = Trial(engine, [int(length) for length in options.lengths.split(",")], options.tokens)
            for _ in range(options.turns):
                trial.turn()
    trial.report()


def _sequence(path: Path, layers: int, *, half: bool) -> Path:
    size = obedient.Size(n_layer=layers, n_embd=1024, heads=8, kv_heads=4, head=128, n_ff=2048, n_vocab=2048)
    return obedient.target(path, size, kind=np.float16 if half else np.float32)


if __name__ == "__main__":
    main()
