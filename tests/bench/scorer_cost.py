"""The cost of scoring beside llama.cpp's prefill of as many tokens: `python -m tests.bench.scorer_cost`.

The same file of random weights; speed does not depend on the values. Ours and theirs take turns, each turn gives a
ratio, and the median of those is told; seconds are the processor's, which a busy machine changes least. The scorer
reads texts of 40 to 400 tokens, each with its copy of the query; llama.cpp reads as many text tokens in a row, 512 at
once, once with a fresh context every 512 tokens (the same work a row as the scorer's windows) and once every 4,096
(PFlash's windows, causal from end to end).
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))

import numpy as np

from laguna_engine.compress.scorer import Scorer
from laguna_engine.ggml.tensor import Type
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model
from tests.engine import scorers, tiny
from tests.engine.drafting import quantized
from tests.engine.scorers import Variant

SHAPES = {
    "nano": Variant(n_embd=192, n_layer=3, heads=2, kv_heads=2, head=64, n_ff=384, n_vocab=2048, tied=True),
    "middling": Variant(n_embd=512, n_layer=12, heads=8, kv_heads=4, head=64, n_ff=1536, n_vocab=32_000),
    "qwen3 0.6b": Variant(
        n_embd=1024, n_layer=28, heads=16, kv_heads=8, head=128, n_ff=3072, n_vocab=151_936, tied=True
    ),
}
FORMATS = {"f16": None, "q8_0": Type.Q8_0}
WINDOW, UBATCH = 4096, 512
QUERY = (
    "where is the function that computes the factorial of a number? what is the answer that we have been looking for"
)


def write(variant: Variant, kind: Type | None, path: Path) -> None:
    """A file of random weights, never held twice: a Qwen3 0.6B takes 1.2 GB."""
    file = scorers.make(variant)
    if kind is not None:
        file = quantized(file, kind)
    with path.open("wb") as out:
        out.write(file.header())
        for array in file.tensors.values():
            out.write(bytes(-out.tell() % file.alignment))
            out.write(array.tobytes())


def texts(count: Callable[[str], int], tokens: int, seed: int = 3) -> list[str]:
    """Return texts of 40 to 400 tokens, so many in all."""
    random, found, left = np.random.default_rng(seed), [], tokens
    words = tiny._CORPUS.split()
    while left > 0:
        text = ""
        wanted = min(left, int(random.integers(40, 400)))
        while (have := count(text)) < wanted:
            text += " " + " ".join(random.choice(words, max(1, (wanted - have) // 3)))
        found.append(text)
        left -= have
    return found


def prefill(context: Context, tokens: Sequence[int], window: int) -> None:
    """Read every window in a fresh context, with the logits of each batch's last row."""
    for first in range(0, len(tokens), window):
        context.clear()
        for start in range(0, min(window, len(tokens) - first), UBATCH):
            context.decode(tokens[first + start : first + min(start + UBATCH, window)], start)
    context.synchronize()


def timed(function: Callable[[], object]) -> float:
    """Return seconds of the processor, all threads together: others on the machine change them least."""
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(path: Path, tokens: int, turns: int, threads: int) -> dict[str, object]:
    """Text tokens a second, and the ratios of seconds; one turn before the first builds graphs and touches pages."""
    model = Model.open(path)
    half = model.n_layer // 2
    context = Context(model, ContextOptions(WINDOW, n_ubatch=UBATCH, threads=threads, threads_batch=threads))
    with Scorer.open(path, threads=threads) as scorer, Scorer.open(path, threads=threads, layers=half) as early:
        found = texts(scorer.count, tokens)
        flat = [token for text in found for token in model.vocab.tokenize(text, special=False)]
        jobs = (
            lambda: scorer.score(found, QUERY),
            lambda: early.score(found, QUERY),
            lambda: prefill(context, flat, UBATCH),
            lambda: prefill(context, flat, WINDOW),
        )
        rows = np.array([[timed(job) for job in jobs] for _ in range(turns + 1)])[1:]
        copies = 1 + scorer.count(QUERY) + len(found) * (scorer.count(QUERY) + 2)
    context.close()
    model.close()
    ours, cut, short, long = np.median(rows, 0)
    over_short, over_long = np.median(rows[:, 2:] / rows[:, :1], 0)
    return {
        "text_tokens": len(flat), "texts": len(found), "query_tokens": copies,
        "score_tok_s": round(len(flat) / ours), "half_layers_tok_s": round(len(flat) / cut),
        "prefill_512_tok_s": round(len(flat) / short), "prefill_4096_tok_s": round(len(flat) / long),
        "x_prefill_512": round(over_short, 3), "x_prefill_512_a_row": round(over_short * (1 + copies / len(flat)), 3),
        "x_prefill_4096": round(over_long, 3),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="*", default=["nano"], choices=list(SHAPES))
    parser.add_argument("--formats", nargs="*", default=list(FORMATS), choices=list(FORMATS))
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for shape in arguments.shapes:
            for kind in arguments.formats:
                path = Path(folder) / "scorer.gguf"
                write(SHAPES[shape], FORMATS[kind], path)
                found = measure(path, arguments.tokens, arguments.turns, arguments.threads)
                print(json.dumps({"shape": shape, "weights": kind, **found}), flush=True)


if __name__ == "__main__":
    main()
