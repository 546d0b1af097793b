"""Drafting where it should pay: a target that waits for memory, and drafts of known quality that cost nothing.

Run by hand: `python -m tests.bench.spec_memory_bound [--layers N] [--float16] [--threads N]`. The target is dense, of
random weights, several hundred MB and always says the same token (`obedient`); the drafts are right with a probability
of 0.8, or never. Verify costs are taken from drafts that are never right, so that the prediction (`economics`) knows
nothing of what it predicts. All ways take turns in one process. Goals: faster than plain decoding, within 10 % of the
prediction; never right: at most 2 % slower than plain.
"""

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Finished, Round
from laguna_engine.request import PLAIN, Drafting
from laguna_engine.speculate.economics import constant_acceptance_tokens, speedup
from tests.bench import obedient
from tests.engine.scripted_drafters import Oracle, use

PROMPT = [40 + index % 50 for index in range(16)]
N_CTX = 1024
ACCURACY = 0.8


@dataclass
class Way:
    """One way to decode: drafts of this accuracy and length (None: the engine's choice), or none at all."""

    name: str
    accuracy: float | None = None
    length: int | None = None
    rates: list[float] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    speculator: object = None

    def answer(self, engine: Engine, count: int) -> None:
        """One answer more."""
        engine.clear()
        drafting = PLAIN if self.accuracy is None else Drafting(length=self.length)
        if self.accuracy is not None:
            self._use(engine, count)
        for event in engine.generate(Request(PROMPT, max_tokens=count, drafting=drafting)):
            if isinstance(event, Round):
                self.rounds.append(event)
            elif isinstance(event, Finished):
                self.rates.append(event.stats.decode_rate or 0)

    def round_s(self) -> float:
        """What a round with a whole draft takes."""
        full = [spun for spun in self.rounds if spun.drafted == self.length]
        return median(spun.draft_s + spun.verify_s + spun.sample_s for spun in full)

    def _use(self, engine: Engine, count: int) -> None:
        """Every way learns for itself, and keeps what it learned from answer to answer."""
        if self.speculator is None:
            text = PROMPT + [obedient.SAID] * (2 * count)
            use(engine, Oracle(text, engine.vocab.size, self.accuracy))
            self.speculator = engine._speculator
        engine._speculator = self.speculator


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--float16", action="store_true", help="half the bytes: compute counts for more")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--lengths", default="1,2,4,8")
    options = parser.parse_args()
    lengths = [int(length) for length in options.lengths.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        path = _target(Path(folder) / "target.gguf", options.layers, half=options.float16)
        size = path.stat().st_size / 1e6
        with Engine.open(EngineOptions(path, n_ctx=N_CTX, threads=options.threads)) as engine:
            ways = [Way("plain"), Way("never right", 0.0), Way("0.8", ACCURACY)]
            ways += [Way(f"never right, {length}", 0.0, length) for length in lengths]
            ways += [Way(f"0.8, {length}", ACCURACY, length) for length in lengths]
            ways[0].answer(engine, 8)
            ways[0].rates.clear()
            for turn in range(options.turns):
                for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                    # For costs a few whole drafts are enough.
                    costs = way.accuracy == 0 and way.length
                    way.answer(engine, 2 * way.length + 8 if costs else options.tokens)
    print(f"{size:.0f} MB of {'f16' if options.float16 else 'f32'}, {options.threads} threads, "
          f"load average {os.getloadavg()[0]:.2f}\n")  # fmt: skip
    _report({way.name: way for way in ways}, lengths)


def _report(ways: dict[str, Way], lengths: Sequence[int]) -> None:
    plain = ways["plain"]
    plain_s = 1 / median(plain.rates)
    print("| drafts | tok/s | x plain, median | x plain, best | predicted | off by | tokens/round | round, in tokens |")
    print("|---|---|---|---|---|---|---|---|")
    predictions = {0: 1.0}
    for length in lengths:
        round_s = ways[f"never right, {length}"].round_s()
        predictions[length] = speedup(constant_acceptance_tokens(ACCURACY, length), round_s, plain_s)
        _row(ways[f"0.8, {length}"], plain, predictions[length], f"{round_s / plain_s:.2f}")
    _row(ways["0.8"], plain, max(predictions.values()), "")
    _row(ways["never right"], plain, 1.0, "")
    _row(plain, plain, 1.0, "1.00")
    first = ways["never right"].rates[0] / plain.rates[0]
    print(f"\nNever right, the first answer of all, while it learns: {first:.3f} of plain.")
    chosen = [spun.drafted for spun in ways["0.8"].rounds]
    print(f"0.8, lengths chosen: median {median(chosen):.0f}, without a draft {chosen.count(0) / len(chosen):.0%}.")


def _row(way: Way, plain: Way, predicted: float, cost: str) -> None:
    ratio = median(one / other for one, other in zip(way.rates, plain.rates, strict=True))
    best = max(way.rates) / max(plain.rates)
    tokens = 1 + sum(spun.accepted for spun in way.rounds) / len(way.rounds) if way.rounds else 1
    cells = f"{median(way.rates):.2f} | {ratio:.3f} | {best:.3f} | {predicted:.3f} | {predicted / ratio - 1:+.1%}"
    print(f"| {way.name} | {cells} | {tokens:.2f} | {cost} |")


def _target(path: Path, layers: int, *, half: bool) -> Path:
    size = obedient.Size(n_layer=layers, n_embd=1024, heads=8, kv_heads=4, head=128, n_ff=2048, n_vocab=2048)
    return obedient.target(path, size, kind=np.float16 if half else np.float32)


if __name__ == "__main__":
    main()
