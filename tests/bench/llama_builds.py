"""Speed of several builds of llama.cpp on one machine, beside the first one named.

    python -m tests.bench.llama_builds PYTHON PYTHON... [--model FILE] [--threads N]

Each PYTHON is that of an environment with its own build, and this project installed in it. The builds run in turn, each
in a process of its own, and every run of a build is divided by the first build's run of the same turn. What counts is
CPU time, so that other programs disturb less: use one thread. Without a model: Laguna Nano (16 bits), and a random one
of 231 MB in Laguna's Q4_K_M mix.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from laguna_engine.config import Speculation
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Token
from tests.bench.engine_overhead import NEW_TOKENS, unending_prompt

TOP = Path(__file__).resolve().parents[2]
NANO = TOP / "assets/nano/laguna-nano.gguf"
CONTEXT, ANSWERS = 1024, 3


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "pythons", nargs="*", metavar="PYTHON", help="the first one is what the others are compared with"
    )
    parser.add_argument("--model", type=Path, help="a GGUF file")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(rates(options.model, options.threads)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for model in (options.model,) if options.model else models(Path(folder)):
            compare(model, options.pythons, options.threads, options.turns)


def models(folder: Path) -> Iterator[Path]:
    """Yield Laguna Nano, and a larger one whose matrices are quantized."""
    from tests.bench.shape_exact import XS, write_target

    yield NANO
    yield write_target(folder / "random-q4.gguf", replace(XS, n_layer=4, experts=16, n_vocab=4096))


def compare(model: Path, pythons: list[str], threads: int, turns: int) -> None:
    """Let the builds run in turn, and print their medians and ratios."""
    runs: dict[str, list[tuple[float, float]]] = {python: [] for python in pythons}
    for _ in range(turns):
        for python, found in runs.items():
            command = [python, "-m", "tests.bench.llama_builds", "--one", "--model", model, "--threads", str(threads)]
            found.append(json.loads(subprocess.run(command, cwd=TOP, capture_output=True, check=True).stdout))
    print(f"\n{model.name}, {threads} threads, {turns} turns\n")
    print("| build | prefill tok/s | decode tok/s | prefill ratio | decode ratio |\n|---|---|---|---|---|")
    first = runs[pythons[0]]
    for python, found in runs.items():
        medians = [statistics.median(part) for part in zip(*found, strict=True)]
        pairs = [[one / other for one, other in zip(*pair, strict=True)] for pair in zip(found, first, strict=True)]
        ratios = [statistics.median(part) for part in zip(*pairs, strict=True)]
        print(f"| {python} | {medians[0]:,.0f} | {medians[1]:,.1f} | {ratios[0]:.3f} | {ratios[1]:.3f} |", flush=True)


def rates(model: Path, threads: int) -> tuple[float, float]:
    """Tokens a second of this process's CPU time, of prefill and of plain decoding, each the best of some answers."""
    found = []
    options = EngineOptions(model, n_ctx=CONTEXT, threads=threads, speculation=Speculation.OFF)
    with Engine.open(options) as engine:
        prompt = unending_prompt(engine)
        for _ in range(ANSWERS):
            engine.clear()
            begun = time.process_time()
            request = Request(prompt, max_tokens=NEW_TOKENS)
            at = [time.process_time() for event in engine.generate(request) if isinstance(event, Token)]
            found.append((len(prompt) / (at[0] - begun), (len(at) - 1) / (at[-1] - at[0])))
    return max(each[0] for each in found), max(each[1] for each in found)


if __name__ == "__main__":
    sys.exit(main())
