"""The overhead of speculation: Python per round, sampling, and a busy screen.

Run by hand: `python -m tests.bench.spec_overhead [--threads N]`. The pairs are of random weights and always right
(`obedient`), so that every way below commits the same tokens in the same rounds and only the cost differs. Goals: 0.3
ms of the engine's own Python a round; sampled at least 0.95 of greedy; a busy UI thread at most 3 %.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from laguna_engine.config import GREEDY, PLAIN, Drafting, Sampling
from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Finished, Stats
from laguna_engine.native.library import lib
from laguna_tui.compose import SWITCH_INTERVAL_S
from tests.bench import obedient

PROMPT = [40 + index % 50 for index in range(64)]
N_CTX = 1024
CARD = Sampling(temperature=0.7, top_k=20, seed=1)
"""The sampling of Laguna XS.2's card."""

_CALLS = 10_000

LARGE = obedient.Size(n_embd=256, n_ff=1024, n_vocab=100_352)
"""With Laguna's vocabulary: its output matrix alone throws Python out of the processor's cache every round."""

SMALL = obedient.Size(
    n_layer=2, n_embd=128, heads=2, kv_heads=1, n_ff=128, n_vocab=512, target_layers=(1,), draft_layers=1
)
"""So small that everything stays in the cache: Python as fast as it gets."""

FRAME_S, DRAW_S = 1 / 20, 0.010
"""A screen that draws 20 times a second and takes 10 ms of Python for it: what the TUI was measured at, and more."""


class OwnTime:
    """The engine thread's processor time outside llama.cpp and ggml, from the first native call to the last.

    Processor time, so that other programs and a GIL that is waited for do not count; native code computes on the same
    thread when it has one.
    """

    def __init__(self) -> None:
        self._inside = False
        self._first: float | None = None
        self._last = self._native = 0.0
        self._calls = 0

    def seconds(self, clock_s: float = 0.0) -> float:
        """Return what was not spent in native code; `clock_s` is what the clock itself takes for one native call."""
        return self._last - (self._first or 0.0) - self._native - self._calls * clock_s

    @classmethod
    def of_the_clock(cls) -> float:
        """Return seconds that the clock itself takes for one native call."""
        clock = cls()
        with clock.on():
            for _ in range(_CALLS):
                lib.ggml_backend_dev_count()
        return clock.seconds() / _CALLS

    @contextmanager
    def on(self) -> Iterator[None]:
        """Put a clock around every native function, from the outside."""
        names = [name for name in vars(lib) if name.startswith(("llama_", "ggml_"))]
        real = {name: getattr(lib, name) for name in names}
        for name, function in real.items():
            setattr(lib, name, self._timed(function))
        try:
            yield
        finally:
            for name, function in real.items():
                setattr(lib, name, function)

    def _timed(self, function: Callable) -> Callable:
        def timed(*arguments: object) -> object:
            if self._inside:
                # Called back from native code, whose time is being taken.
                return function(*arguments)
            self._inside, began = True, time.thread_time()
            try:
                return function(*arguments)
            finally:
                self._last, self._inside = time.thread_time(), False
                self._native += self._last - began
                self._calls += 1
                self._first = began if self._first is None else self._first

        return timed


def answer(engine: Engine, count: int, drafting: Drafting, sampling: Sampling = GREEDY) -> Stats:
    """Return one answer."""
    engine.clear()
    *_, last = engine.generate(Request(PROMPT, sampling=sampling, max_tokens=count, drafting=drafting))
    assert isinstance(last, Finished)
    assert last.stats.acceptance in (None, 1.0), "the pair is not as obedient as it should be"
    return last.stats


def own_python(engine: Engine, count: int, drafting: Drafting, turns: int) -> tuple[float, float]:
    """Return seconds of a round, and the engine's own processor seconds of it. The prompt is in the cache."""
    whole, own = [], []
    clock_s = OwnTime.of_the_clock()
    for _ in range(turns):
        clock = OwnTime()
        with clock.on():
            *_, last = engine.generate(Request(PROMPT, max_tokens=count, drafting=drafting))
        assert isinstance(last, Finished)
        rounds = last.stats.rounds or last.stats.generated_tokens - 1
        whole.append(last.stats.decode_s / rounds)
        own.append(clock.seconds(clock_s) / rounds)
    return median(whole), median(own)


def sampled(engine: Engine, count: int, drafting: Drafting, turns: int) -> tuple[float, ...]:
    """Return tokens a second greedy and sampled, and their ratios."""
    pairs = [
        [answer(engine, count, drafting, sampling).decode_rate for sampling in (GREEDY, CARD)] for _ in range(turns)
    ]
    return _compared(pairs)


def beside(engine: Engine, count: int, drafting: Drafting, turns: int, busy: Callable) -> tuple[float, ...]:
    """Return tokens a second alone and beside a thread, and their ratios."""
    pairs = []
    for _ in range(turns):
        alone = answer(engine, count, drafting).decode_rate
        with busy():
            pairs.append((alone, answer(engine, count, drafting).decode_rate))
    return _compared(pairs)


def _compared(pairs: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return medians of both sides, the median of the turns' ratios, and the ratio of the best turns."""
    one, two = zip(*pairs, strict=True)
    return median(one), median(two), median(late / early for early, late in pairs), max(two) / max(one)


@contextmanager
def _thread(rest_s: float) -> Iterator[None]:
    """Run a thread that works in Python for `DRAW_S`, rests, and so on."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            until = time.perf_counter() + DRAW_S
            while time.perf_counter() < until:
                " ".join(str(number) for number in range(100)).split()
            if rest_s:
                ended.wait(rest_s)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        ended.set()
        worker.join()


def drawing() -> contextmanager:
    return _thread(FRAME_S - DRAW_S)


def endless() -> contextmanager:
    return _thread(0.0)


def main() -> None:
    """Measure and print three Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--turns", type=int, default=9)
    options = parser.parse_args()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    print(f"load average {os.getloadavg()[0]:.2f}, {options.threads} threads")
    ways = {"plain": PLAIN}
    ways |= {str(k): Drafting(sources=frozenset({DFlash.source}), length=k) for k in (1, 3, 7, 15)}
    print("\n| pair | drafted | round, ms | the engine's own Python, ms |\n|---|---|---|---|")
    # Native code computes on the engine's own thread only when it has one.
    with _open(SMALL, threads=1) as engine:
        _own_rows(engine, "in the cache", ways, options)
    with _open(LARGE, threads=1) as engine:
        _own_rows(engine, "large", ways, options)
    with _open(LARGE, options.threads) as engine:
        _tables(engine, ways, options.tokens, options.turns)


@contextmanager
def _open(size: obedient.Size, threads: int) -> Iterator[Engine]:
    """Yield an engine with a pair of this size."""
    with tempfile.TemporaryDirectory() as folder:
        target = obedient.target(Path(folder) / "target.gguf", size)
        drafter = obedient.drafter(Path(folder) / "drafter.gguf", size, right=True)
        with Engine.open(EngineOptions(target, n_ctx=N_CTX, threads=threads, drafter=drafter)) as engine:
            yield engine


def _own_rows(engine: Engine, pair: str, ways: dict[str, Drafting], options: argparse.Namespace) -> None:
    for name, drafting in ways.items():
        answer(engine, options.tokens, drafting)
        whole, own = own_python(engine, options.tokens, drafting, options.turns)
        print(f"| {pair} | {name} | {1e3 * whole:.2f} | {1e3 * own:.3f} |", flush=True)


def _tables(engine: Engine, ways: dict[str, Drafting], count: int, turns: int) -> None:
    print("\n| drafted | greedy, tok/s | top-k 20 at 0.7, tok/s | ratio, median | ratio, best |\n|---|---|---|---|---|")
    for name, drafting in ways.items():
        answer(engine, count, drafting)
        print(
            "| {} | {:.1f} | {:.1f} | {:.3f} | {:.3f} |".format(name, *sampled(engine, count, drafting, turns)),
            flush=True,
        )
    print(
        "\n| drafted | beside | alone, tok/s | beside, tok/s | ratio, median | ratio, best |\n|---|---|---|---|---|---|"
    )
    for busy in (drawing, endless):
        for name in ("plain", "3", "7"):
            rates = beside(engine, count, ways[name], turns, busy)
            print("| {} | {} | {:.1f} | {:.1f} | {:.3f} | {:.3f} |".format(name, busy.__name__, *rates), flush=True)


if __name__ == "__main__":
    main()
