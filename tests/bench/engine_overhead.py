"""The engine's overhead over llama.cpp: the same greedy work through `Engine` and through a bare low-level loop.

Run by hand: `python -m tests.bench.engine_overhead [MODEL] [--threads N] [--turns N]`; without a model, on a random one
of 30 MB. The two take turns in one process, so that a busy machine slows both. Two ratios: the median of each turn's
own, and that of the best turns, which were disturbed least; and that of the processor times, which other work hardly
disturbs.
Goals: ratios of 0.97 or more, under 100 MB of memory above llama.cpp's own buffers.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from llama_cpp import llama_cpp as native

from laguna_engine.config import Speculation
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Finished
from laguna_engine.ggml import extra_buffers
from tests.engine import tiny

PROMPT_TOKENS, NEW_TOKENS, UBATCH, N_CTX = 512, 128, 256, 1024
TURNS = 31
MB = 1 << 20

OWN_MEMORY = """
import psutil, sys, tracemalloc
from pathlib import Path
process = psutil.Process()
before = process.memory_info().rss
from laguna_engine.config import Speculation
from laguna_engine.engine import Engine, EngineOptions, Request
imported = process.memory_info().rss - before
tracemalloc.start()
with Engine.open(EngineOptions(Path(sys.argv[1]), n_ctx=1024, threads=1)) as engine:
    for event in engine.generate(Request(list(range(40, 240)), max_tokens=200)):
        pass
    for token in range(engine.vocab.size):
        engine.vocab.piece(token)
    print(imported + tracemalloc.get_traced_memory()[1])
"""
"""The modules with the shared libraries' code, plus the most that Python objects took, all pieces cached."""


@dataclass(frozen=True)
class Speed:
    """Tokens a second of one turn."""

    prefill: float
    decode: float


class Bare:
    """The least Python that can drive llama.cpp: one batch, two calls a token, no events, no checks."""

    def __init__(self, path: Path, threads: int) -> None:
        native.llama_backend_init()
        model_params = native.llama_model_default_params()
        model_params.n_gpu_layers = 0
        # As the engine: where an order of weights does not work, none is used.
        model_params.use_extra_bufts = not extra_buffers.faults()
        self.model = native.llama_model_load_from_file(os.fsencode(path), model_params)
        params = native.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = N_CTX, UBATCH, UBATCH
        params.n_threads = params.n_threads_batch = threads
        params.swa_full = False
        self.context = native.llama_init_from_model(self.model, params)
        self.batch = native.llama_batch_init(UBATCH, 0, 1)
        self.sampler = native.llama_sampler_chain_init(native.llama_sampler_chain_default_params())
        native.llama_sampler_chain_add(self.sampler, native.llama_sampler_init_greedy())
        for index in range(UBATCH):
            self.batch.n_seq_id[index] = 1
            self.batch.seq_id[index][0] = 0

    def turn(self, prompt: list[int]) -> Speed:
        native.llama_memory_seq_rm(native.llama_get_memory(self.context), 0, 0, -1)
        began = time.perf_counter()
        for start in range(0, len(prompt), UBATCH):
            self._decode_part(prompt[start : start + UBATCH], start, last=start + UBATCH >= len(prompt))
        token = native.llama_sampler_sample(self.sampler, self.context, -1)
        first = time.perf_counter()
        batch, position = self.batch, len(prompt)
        batch.n_tokens = 1
        batch.logits[0] = 1
        for _ in range(NEW_TOKENS - 1):
            batch.token[0], batch.pos[0] = token, position
            native.llama_decode(self.context, batch)
            token = native.llama_sampler_sample(self.sampler, self.context, -1)
            position += 1
        return Speed(len(prompt) / (first - began), (NEW_TOKENS - 1) / (time.perf_counter() - first))

    def _decode_part(self, part: list[int], start: int, *, last: bool) -> None:
        batch, size = self.batch, len(part)
        batch.n_tokens = size
        ctypes.memmove(batch.token, (ctypes.c_int32 * size)(*part), 4 * size)
        ctypes.memmove(batch.pos, (ctypes.c_int32 * size)(*range(start, start + size)), 4 * size)
        ctypes.memset(batch.logits, 0, size)
        batch.logits[size - 1] = last
        native.llama_decode(self.context, batch)


def engine_turn(engine: Engine, prompt: list[int]) -> Speed:
    """Return the same through the engine, every event read."""
    engine.clear()
    for event in engine.generate(Request(prompt, max_tokens=NEW_TOKENS)):
        last = event
    assert isinstance(last, Finished)
    stats = last.stats
    assert stats.generated_tokens == NEW_TOKENS, "the model ended its answer; choose another prompt or model"
    return Speed(stats.prefill_rate or 0, stats.decode_rate or 0)


def measure(path: Path, threads: int, turns: int) -> None:
    # The bare loop drafts nothing.
    options = EngineOptions(
        path, n_ctx=N_CTX, n_batch=UBATCH, n_ubatch=UBATCH, threads=threads, speculation=Speculation.OFF
    )
    with Engine.open(options) as engine:
        bare = Bare(path, threads)
        prompt = unending_prompt(engine)
        for turn in (bare.turn(prompt), engine_turn(engine, prompt)):
            assert turn.decode > 0
        pairs, taken = [], [0.0, 0.0]
        for _ in range(turns):
            began = time.process_time()
            theirs, between = bare.turn(prompt), time.process_time()
            pairs.append((theirs, engine_turn(engine, prompt)))
            taken = [taken[0] + between - began, taken[1] + time.process_time() - between]
        size, load = engine.info.size_bytes / MB, os.getloadavg()[0]
        print(f"{engine.info.name}: {size:.0f} MB of weights, {threads} threads, load average {load:.1f}")
    report(pairs)
    print(f"\nProcessor time of the bare loop / the engine, prefill and decode: {taken[0] / taken[1]:.3f}")


def unending_prompt(engine: Engine, beginning: Sequence[int] = ()) -> list[int]:
    """Return a prompt with this beginning, after which the model continues for long enough."""
    for first in range(40, 90):
        prompt = [*beginning, *(40 + (first * index) % 300 for index in range(PROMPT_TOKENS))]
        *_, last = engine.generate(Request(prompt, max_tokens=NEW_TOKENS))
        if isinstance(last, Finished) and last.stats.generated_tokens == NEW_TOKENS:
            return prompt
    raise SystemExit("this model always ends its answers early; choose another")


def report(pairs: list[tuple[Speed, Speed]]) -> None:
    print("\n| work | bare loop, tok/s | engine, tok/s | ratio, median | ratio, best |\n|---|---|---|---|---|")
    for name in ("prefill", "decode"):
        bare, engine = ([getattr(speed, name) for speed in side] for side in zip(*pairs, strict=True))
        ratio = median(ours / theirs for theirs, ours in zip(bare, engine, strict=True))
        best = max(engine) / max(bare)
        print(f"| {name} | {median(bare):.1f} | {median(engine):.1f} | {ratio:.3f} | {best:.3f} |")


def own_memory(path: Path) -> float:
    """Megabytes, measured in a process of its own."""
    run = subprocess.run([sys.executable, "-c", OWN_MEMORY, str(path)], capture_output=True, text=True, check=True)
    return int(run.stdout) / MB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shape = tiny.Shape(n_embd=512, n_ff=2048, expert_ff=512)
        path = arguments.model or tiny.laguna(shape).write(Path(folder) / "random.gguf")
        measure(path, arguments.threads, arguments.turns)
        print(f"\nThe engine's own memory, above llama.cpp's buffers: {own_memory(path):.0f} MB")


if __name__ == "__main__":
    main()
