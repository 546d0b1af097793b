"""KV snapshots: restoring beside computing the prompt again, what writing costs an answer, and how much is written.

Run by hand: `python -m tests.bench.snapshots [--small] [--only TABLE] [--pairs N]`, on random models of 25 MB and
370 MB with Laguna's kind of layers; `--small` leaves out the larger one, whose 32,768 tokens take minutes to compute.
With `--model FILE` only that model is restored.
Files are read from the page cache, as those of a session of a minute ago are. The last table has the keys and values of
Laguna XS, with next to nothing around them, and says how long a request may have to wait.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from laguna_engine.config import PLAIN, KvType
from laguna_engine.engine import Engine, EngineOptions, Request, Saved
from laguna_engine.events import Finished, Token
from tests.bench.checkpoints import RANDOM, XS_WINDOWS
from tests.bench.tui_engine import LARGER
from tests.engine import tiny

LENGTHS = (4096, 32768)
CONTEXT = 36864
TURNS = 12
MESSAGE, ANSWER = 200, 200
"""Tokens of a turn: few, so that windows are as much as rows."""

MB = 1_000_000

Tokens = Callable[[int, int], list[int]]
"""Makes a text of so many tokens from a seed."""


def tokens(count: int, seed: int) -> list[int]:
    return [300 + (seed + 17 * index) % 3000 for index in range(count)]


def small_tokens(count: int, seed: int) -> list[int]:
    """For a vocabulary of 512."""
    return [40 + (seed + 11 * index) % 400 for index in range(count)]


def said(engine: Engine, prompt: Sequence[int], count: int) -> tuple[list[int], float]:
    """Return the answer's tokens, and the seconds from the request to the end."""
    found, began = [], time.perf_counter()
    for event in engine.generate(Request(prompt, max_tokens=count, drafting=PLAIN)):
        if isinstance(event, Token):
            found.append(event.id)
        assert not isinstance(event, Finished) or event.stats.prompt_tokens == len(prompt)
    return found, time.perf_counter() - began


def restoring(name: str, options: EngineOptions, make: Tokens, folder: Path) -> None:
    """Rows of the first table."""
    for length in (each for each in LENGTHS if each < options.n_ctx):
        prompt, kept = make(length, length), folder / f"{name}-{length}"
        with Engine.open(options) as engine:
            _, computed = said(engine, prompt, 0)
            saved = engine.snapshot(kept, last=True)
        # Everything that a process that has just opened the model does, the hash of its file included.
        seconds, firsts, guess = [], [], 0.0
        for _ in range(5):
            with Engine.open(options) as engine:
                preview = engine.restorable(kept, prompt)
                restored = engine.restore(kept, prompt)
                assert preview is not None
                assert restored.tokens == length
                seconds.append(restored.seconds)
                firsts.append(said(engine, prompt, 1)[1])
                guess = preview.seconds
        print(
            f"| {name}, {options.kv_type.value}, {length:,} | {saved.nbytes / MB:.1f} | {computed:.2f} s "
            f"| {median(seconds) * 1000:.0f} ms | {computed / median(seconds):.0f} | {median(firsts) * 1000:.0f} ms "
            f"| {guess * 1000:.0f} ms "
            f"| {saved.seconds * 1000:.0f} ms | {saved.blocked_s * 1000:.1f} ms |",
            flush=True,
        )


@dataclass
class Cost:
    """Seconds of the processor that snapshots took: of the engine's thread, and of the one that writes."""

    copying: float = 0.0
    writing: float = 0.0

    @contextmanager
    def counted(self, engine: Engine) -> Iterator[None]:
        """Count what snapshots have the engine's thread do."""
        saver = engine._snapshots._saver
        call = saver._call

        def timed(function: Callable[[], object]) -> object:
            began = time.thread_time()
            try:
                return function()
            finally:
                self.copying += time.thread_time() - began

        saver._call = lambda function: call(partial(timed, function))  # type: ignore[assignment]
        try:
            yield
        finally:
            saver._call = call

    def save(self, engine: Engine, folder: Path, saves: list[Saved]) -> None:
        """Write a snapshot on this thread."""
        began = time.thread_time()
        saves.append(engine.snapshot(folder))
        self.writing += time.thread_time() - began


@contextmanager
def saving(engine: Engine, folder: Path | None, cost: Cost) -> Iterator[list[Saved]]:
    """Begin a snapshot in the background, as after a turn; wait for it at the end."""
    done: list[Saved] = []
    if folder is None:
        yield done
        return
    thread = threading.Thread(target=cost.save, args=(engine, folder, done))
    thread.start()
    yield done
    thread.join()


@dataclass(frozen=True)
class Session:
    """What a session took.

    Attributes:
        elapsed: seconds of its turns.
        processor: seconds of the processor that all threads took for them.
        computing: those of the engine's thread, which computes and copies, but writes nothing.
        cost: what of it was the snapshots'.
        tokens: tokens read and answered.
    """

    elapsed: float
    processor: float
    computing: float
    cost: Cost
    tokens: int
    saves: list[Saved]


def session(engine: Engine, make: Tokens, folder: Path | None, seed: int) -> Session:
    """Return a session whose user answers at once, so that every snapshot is written during a turn."""
    engine.clear()
    chat, elapsed, processor, saves, count, cost = make(1000, seed), 0.0, 0.0, [], 0, Cost()
    said(engine, chat, 1)
    computing = -engine._thread.call(time.thread_time)
    for turn in range(TURNS):
        chat += make(MESSAGE, seed + turn)
        began = time.process_time()
        with cost.counted(engine), saving(engine, folder if turn else None, cost) as done:
            answer, seconds = said(engine, chat, ANSWER)
        elapsed, processor = elapsed + seconds, processor + time.process_time() - began
        saves += done
        chat += answer
        count += len(answer) + MESSAGE
    computing += engine._thread.call(time.thread_time)
    if folder is not None:
        saves.append(engine.snapshot(folder, last=True))
    return Session(elapsed, processor, computing, cost, count, saves)


def writing(name: str, options: EngineOptions, make: Tokens, folder: Path, pairs: int) -> None:
    """A row of the second table."""
    plain, saved = list[Session](), list[Session]()
    with Engine.open(options) as engine:
        for pair in range(pairs):
            kept = folder / f"{name}-writing-{pair}"
            order = (None, kept) if pair % 2 else (kept, None)
            runs = {where: session(engine, make, where, pair) for where in order}
            plain.append(runs[None])
            saved.append(runs[kept])
            # The session is still cached: what all of it takes in one piece.
            state = engine.snapshot(folder / f"{name}-state-{pair}", last=True).nbytes
    ratios = " | ".join(
        f"{median(getattr(a, of) / getattr(b, of) for a, b in zip(plain, saved, strict=True)):.3f}, "
        f"{min(getattr(a, of) for a in plain) / min(getattr(b, of) for b in saved):.3f}"
        for of in ("elapsed", "processor", "computing")
    )
    copying = median(each.cost.copying / each.computing for each in saved)
    writing = median(each.cost.writing / each.computing for each in saved)
    last = saved[-1].saves
    written = sum(save.nbytes for save in last)
    rate = median(each.tokens / each.elapsed for each in plain)
    print(
        f"| {name} | {rate:.0f} | {ratios} | {copying:.2%}, {writing:.2%} "
        f"| {sum(save.nbytes > 0 for save in last)} of {TURNS} | {written / MB:.1f} | {state / MB:.1f} "
        f"| {written / state:.2f} | {max(save.blocked_s for save in last) * 1000:.1f} ms |",
        flush=True,
    )


def laguna(folder: Path, threads: int) -> None:
    """Laguna XS's keys and values: 10 full and 30 sliding layers of 8 heads of 128, a window of 512."""
    path = tiny.laguna(replace(XS_WINDOWS, n_ctx=16384)).write(folder / "windows.gguf")
    prompt = small_tokens(2048, 5)
    for kv in KvType:
        options = EngineOptions(path, n_ctx=3072, threads=threads, kv_type=kv)
        with Engine.open(options) as engine:
            said(engine, prompt, 1)
            saved = engine.snapshot(folder / kv.value)
            # A turn later: what is copied at once is the window alone.
            said(engine, [*prompt, *small_tokens(600, 9)], 1)
            turn = engine.snapshot(folder / kv.value, last=True)
            chat = [*prompt, *small_tokens(600, 9)]
        with Engine.open(options) as engine:
            restored = engine.restore(folder / kv.value, chat)
        assert restored.tokens == len(chat)
        print(
            f"| {kv.value} | {saved.nbytes / MB:.0f} | {saved.nbytes / MB / saved.seconds:.0f} MB/s "
            f"| {turn.nbytes / MB:.0f} | {max(saved.blocked_s, turn.blocked_s) * 1000:.0f} ms "
            f"| {restored.seconds * 1000:.0f} ms | {restored.nbytes / MB / restored.seconds:.0f} MB/s |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="only the model of 25 MB")
    parser.add_argument("--model", type=Path, help="restore this model instead of the random ones")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=5, help="sessions with and without snapshots (5)")
    parser.add_argument("--only", choices=("restoring", "writing", "laguna"), help="one of the three tables")
    given = parser.parse_args()
    shapes = {"25 MB": RANDOM} if given.small else {"25 MB": RANDOM, "370 MB": LARGER}
    if given.model is not None:
        given.only, shapes = "restoring", {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made: list[tuple[str, EngineOptions, Tokens]] = []
        for title, shape in shapes.items() if given.only != "laguna" else ():
            path = tiny.laguna(replace(shape, n_ctx=CONTEXT)).write(folder / f"{title}.gguf")
            make = tokens if shape.n_vocab > 3300 else small_tokens
            made.append((title, EngineOptions(path, n_ctx=CONTEXT, threads=given.threads), make))
        if given.model is not None:
            made.append((given.model.stem, EngineOptions(given.model, n_ctx=8192, threads=given.threads), tokens))
        if given.only in (None, "restoring"):
            print("| model, cache, tokens | MB | computed | restored | x | first | preview | written | longest wait |")
            print("|---|---|---|---|---|---|---|---|---|")
            for title, options, make in made:
                restoring(title, options, make, folder)
        if given.only in (None, "writing"):
            print(
                "\nThe speed with snapshots / without: the median of the pairs, and that of the best of each. Share: of"
            )
            print("the engine's thread, what copying takes; beside it, what the thread that writes takes.\n")
            print("| model | tok/s | elapsed | processor | computing | share | saves | MB written | state | x | wait |")
            print("|---|---|---|---|---|---|---|---|---|---|---|")
            for title, options, make in made:
                writing(title, options, make, folder, given.pairs)
        if given.only in (None, "laguna"):
            print("\n| Laguna XS's cache | MB | written | MB of a turn | longest wait | restored | |")
            print("|---|---|---|---|---|---|---|")
            laguna(folder, given.threads)


if __name__ == "__main__":
    main()
