"""The cost of strict speculation beside fast: prefill and plain decoding.

Run by hand: `python -m tests.bench.strict_cost [MODEL] [--tokens N] [--threads N]`; without a model, on Laguna Nano and
on a random Laguna of 125 MB, as f16 and as Q4_K. A process keeps one kind of kernels for its life, so each side has a
process of its own, and they take turns with the same prompt: read the ratios. Seconds are of
processor time, which other work on the machine lengthens less. "kernels" is strict with micro-batches of 512, which
tells what the kernels cost and what the micro-batches of at most 63 rows do.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))

from laguna_engine import loader
from laguna_engine.config import PLAIN, Speculation
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Finished
from laguna_engine.ggml.tensor import Type
from tests.engine import tiny
from tests.engine.drafting import quantized

NANO = Path(__file__).parents[2] / "assets/nano/laguna-nano.gguf"
RANDOM = tiny.Shape(n_layer=8, n_embd=768, head=64, full_heads=12, sliding_heads=12, kv_heads=4, n_ff=2048, experts=16,
                    experts_used=4, expert_ff=256, window=512, n_ctx=8192, n_vocab=4096)  # fmt: skip
SIDES = ("fast", "kernels", "strict")
TURNS, ANSWER = 5, 33


class Side:
    """One engine in a process of its own."""

    def __init__(self, side: str, model: Path, tokens: int, threads: int) -> None:
        command = [sys.executable, "-m", "tests.bench.strict_cost", str(model), "--serve", side]
        self._process = subprocess.Popen(
            [*command, f"--tokens={tokens}", f"--threads={threads}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def turn(self, seed: int) -> tuple[float, float]:
        """Return seconds a token of a fresh prompt, and of a plainly decoded answer."""
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()
        prefill_s, decode_s = json.loads(self._process.stdout.readline())
        return prefill_s, decode_s

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def serve(side: str, model: Path, tokens: int, threads: int) -> None:
    """Answer each line, a seed, with the seconds of one turn."""
    if side == "kernels":
        loader.fixed_rows = lambda kinds: 512
    mode = Speculation.FAST if side == "fast" else Speculation.STRICT
    with Engine.open(EngineOptions(model, tokens + 2 * ANSWER, threads=threads, speculation=mode)) as engine:
        for line in sys.stdin:
            engine.clear()
            prompt = [300 + (int(line) + 17 * index) % 1500 for index in range(tokens)]
            print(json.dumps([spent(engine, prompt, 1), spent(engine, prompt, ANSWER)]), flush=True)


def spent(engine: Engine, prompt: list[int], count: int) -> float:
    """Return seconds of processor time a token that is computed; a prompt that comes again is cached but for one."""
    began = time.process_time()
    *_, last = engine.generate(Request(prompt, max_tokens=count, drafting=PLAIN))
    assert isinstance(last, Finished)
    read = last.stats.prompt_tokens - last.stats.cached_tokens
    return (time.process_time() - began) / (read + last.stats.generated_tokens - 1)


def compare(name: str, model: Path, tokens: int, threads: int) -> None:
    """The table's rows of one model."""
    sides = {side: Side(side, model, tokens, threads) for side in SIDES}
    for each in sides.values():
        each.turn(0)
    turns = [{side: each.turn(seed) for side, each in sides.items()} for seed in range(1, TURNS + 1)]
    for each in sides.values():
        each.close()
    for index, what in enumerate(("prefill", "decode, plain")):
        fast = median(1 / turn["fast"][index] for turn in turns)
        ratios = [median(turn[side][index] / turn["fast"][index] for turn in turns) for side in SIDES[1:]]
        print(f"| {name}, {what} | {fast:,.0f} tok/s | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)


def models(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield Laguna Nano, and larger ones of random weights."""
    yield "Laguna Nano", NANO
    yield "random f16", tiny.laguna(RANDOM).write(folder / "f16.gguf")
    yield "random Q4_K", quantized(tiny.laguna(RANDOM), Type.Q4_K).write(folder / "q4_k.gguf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--tokens", type=int, default=2000, help="of the prompt (2000)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--serve", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.model, options.tokens, options.threads)
        return
    print("| strict / fast, seconds | fast | kernels alone | strict |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, model in [(options.model.stem, options.model)] if options.model else models(Path(folder)):
            compare(name, model, options.tokens, options.threads)


if __name__ == "__main__":
    main()
