"""Benefit and cost of sliding-window checkpoints: the same conversation with and without them.

Run by hand: `python -m tests.bench.checkpoints [MODEL] [--tokens N]`; without a model, on a random one of 25 MB with
Laguna's window of 512. Both engines take turns, so that a busy machine slows both: read the ratios. Then what one
checkpoint takes with the sliding layers of Laguna XS (30 of 8 key-value heads of 128 numbers), by KV type.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from laguna_engine.config import KvType
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Finished
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model
from tests.engine import tiny

RANDOM = tiny.Shape(n_layer=8, n_embd=256, head=64, full_heads=4, sliding_heads=4, kv_heads=2, n_ff=1024, experts=8,
                    expert_ff=128, window=512, n_ctx=16384, n_vocab=4096)  # fmt: skip
XS_WINDOWS = tiny.Shape(n_layer=40, head=128, full_heads=8, sliding_heads=8, kv_heads=8, window=512, n_ctx=8192)
"""XS's keys and values, with next to nothing around them."""

TURNS = 5
MESSAGE, ANSWER = 400, 256
"""Tokens of the last message and of its answer: together more than llama.cpp's window cells can go back."""

MB = 1_000_000


@dataclass(frozen=True)
class Step:
    """One request. told: the tokens to say; count: of the answer."""

    name: str
    told: list[int]
    count: int


def tokens(count: int, seed: int) -> list[int]:
    return [300 + (seed + 17 * index) % 3000 for index in range(count)]


def conversation(length: int, seed: int) -> Iterator[Step]:
    """Yield everything up to the last message, that message, then what a user does to it."""
    earlier, message = tokens(length - MESSAGE, seed), tokens(MESSAGE, seed + 5)
    before, end = [*earlier, *message[:40]], message[41:]
    yield Step("read the conversation", earlier, 1)
    yield Step("the last message", [*earlier, *message], ANSWER)
    yield Step("tell the answer again", [*earlier, *message], ANSWER)
    yield Step("edit the last message", [*before, 301, *end], ANSWER)
    yield Step("edit it once more", [*before, 302, *end], ANSWER)
    yield Step("drop a part in the middle", [*earlier[: length // 2], *earlier[length // 2 + 200 :], *message], ANSWER)


def first_token_after(engine: Engine, step: Step) -> float:
    """Return seconds from the request to its first token."""
    *_, finished = engine.generate(Request(step.told, max_tokens=step.count))
    assert isinstance(finished, Finished)
    return finished.stats.prefill_s


def compare(path: Path, length: int) -> None:
    """The table of one conversation."""
    options = [EngineOptions(path, n_ctx=length + 1024, threads=1, checkpoints=count) for count in (0, 16)]
    seconds: dict[str, list[tuple[float, float]]] = {}
    with ExitStack() as stack:
        without, with_them = (stack.enter_context(Engine.open(each)) for each in options)
        for turn in range(TURNS):
            without.clear()
            with_them.clear()
            for step in conversation(length, turn):
                pair = (first_token_after(without, step), first_token_after(with_them, step))
                seconds.setdefault(step.name, []).append(pair)
        kept = with_them._sequence.checkpoints
        print(f"{length} tokens, {TURNS} turns; {len(kept.lengths)} checkpoints of {kept.nbytes / MB:.1f} MB in all\n")
    print("| time to the first token | without | with | without / with |\n|---|---|---|---|")
    for name, pairs in seconds.items():
        ratio = median(without / with_ for without, with_ in pairs)
        without_s, with_s = (median(times) for times in zip(*pairs, strict=True))
        print(f"| {name} | {without_s * 1000:.0f} ms | {with_s * 1000:.0f} ms | {ratio:.2f} |")


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def copies(folder: Path) -> None:
    """What one checkpoint takes with Laguna XS's window."""
    model = Model.open(tiny.laguna(XS_WINDOWS).write(folder / "windows.gguf"))
    print("\n| one checkpoint, Laguna XS's window | MB | made | made in memory used before | put back |")
    print("|---|---|---|---|---|")
    for kv in KvType:
        context = Context(model, ContextOptions(2048, type_k=kv, type_v=kv, threads=1))
        for start in range(0, 1024, 512):
            context.decode([30 + index % 400 for index in range(512)], start)
        print(f"| {kv.value} | {copy_costs(context)} |")
        context.close()
    model.close()


def copy_costs(context: Context) -> str:
    """Return size and times of copying the window that `context` holds."""
    fresh = median(milliseconds(context.save_window) for _ in range(TURNS))
    saved = context.save_window()
    assert saved is not None
    again = median(milliseconds(lambda: context.save_window(saved)) for _ in range(TURNS))
    back = median(milliseconds(lambda: context.load_window(saved)) for _ in range(TURNS))
    return f"{saved.nbytes / MB:.1f} | {fresh:.0f} ms | {again:.0f} ms | {back:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--tokens", type=int, default=3000, help="of the conversation (3000)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(options.model or tiny.laguna(RANDOM).write(Path(folder) / "random.gguf"), options.tokens)
        copies(Path(folder))


if __name__ == "__main__":
    main()
