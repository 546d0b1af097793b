"""The cost of a draft beside llama.cpp's own DFlash, on the same file: `python tests/bench/dflash_cost.py`.

Interleaved, on random weights of a middling size: speed does not depend on the values. One thread, so that a busy
machine disturbs less.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))

from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Type
from tests.engine import drafters
from tests.engine.drafters import Variant
from tests.engine.drafting import Fed, drafter, quantized
from tests.engine.upstream_dflash import Upstream, upstream

LAST, CONTEXT = 77, 1024
SIZES = {"n_embd": 1024, "n_layer": 5, "heads": 16, "kv_heads": 4, "head": 64, "n_ff": 3072, "n_vocab": 32000}
KINDS = {
    "plain, full attention": Variant(**SIZES, half=True, block=16),
    "laguna's, sliding 512": Variant(**SIZES, half=True, block=16, window=512, causal=True),
    "markov": Variant(**SIZES, half=True, block=8, rank=256),
}
FORMATS = {"f16": None, "q8_0": Type.Q8_0, "q4_K": Type.Q4_K}


class Share:
    """Seconds inside the device's computation, as against those around it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        compute = Graph.compute

        def timed(graph: Graph) -> None:
            start = time.perf_counter()
            compute(graph)
            self.seconds += time.perf_counter() - start

        Graph.compute = timed  # type: ignore[method-assign]


def medians(rounds: int, *functions: Callable[[], object]) -> list[float]:
    """Return median microseconds of each, taken in turns."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for place, function in enumerate(functions):
            start = time.perf_counter()
            function()
            times[place].append(1e6 * (time.perf_counter() - start))
    return [statistics.median(one) for one in times]


def python_share(rounds: int, share: Share, function: Callable[[], object]) -> float:
    """Return median microseconds of `function` outside the device's computation."""
    found = []
    for _ in range(rounds):
        share.seconds, start = 0.0, time.perf_counter()
        function()
        found.append(1e6 * (time.perf_counter() - start - share.seconds))
    return statistics.median(found)


def measure(fed: Fed, theirs: Upstream, variant: Variant, share: Share, rounds: int, length: int) -> dict[str, object]:
    """Draft and injection, ours against theirs."""
    for start in range(0, length, 256):
        stop = min(start + 256, length)
        fed.feed(start, stop)
        theirs.inject(fed.features[start:stop], start)
    fed.dflash.follow(LAST, length)

    def draft() -> None:
        fed.dflash.draft(variant.longest)

    def their_draft() -> None:
        theirs.logits(LAST, length, variant.block).argmax(1)

    ours, other = medians(rounds, draft, their_draft)
    result: dict[str, object] = {
        "draft_us": round(ours), "their_draft_us": round(other), "ratio": round(ours / other, 3),
        "python_us": round(python_share(rounds, share, draft)),
    }  # fmt: skip
    for count in (1, 4, 16, 256):
        fed.feed(length, length + count)

        def inject(count: int = count) -> None:
            fed.dflash.inject(length, length + count)

        def their_injection(count: int = count) -> None:
            theirs.inject(fed.features[length : length + count], length)
            theirs.rewind(length)

        ours, other = medians(max(3, rounds // (1 + count // 16)), inject, their_injection)
        result[f"inject_{count}"] = {
            "us": round(ours), "their_us": round(other), "ratio": round(ours / other, 3),
            "python_us": round(python_share(rounds, share, inject)) if count < 64 else None,
        }  # fmt: skip
        fed.dflash.truncate(length)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--length", type=int, default=600)
    parser.add_argument("--formats", nargs="*", default=list(FORMATS), choices=list(FORMATS))
    arguments = parser.parse_args()
    share = Share()
    with tempfile.TemporaryDirectory() as folder:
        for name, variant in KINDS.items():
            for kind in arguments.formats:
                path, file = Path(folder) / "drafter.gguf", drafters.make(variant, tokenizer=True)
                quantization = FORMATS[kind]
                if quantization is not None:
                    file = quantized(
                        drafters.make(Variant(**{**vars(variant), "half": False}), tokenizer=True), quantization
                    )
                with (
                    drafter(variant, path, CONTEXT, file=file, context=CONTEXT, kv=Type.F16, rows=512) as fed,
                    upstream(path, variant.n_vocab, causal=variant.causal, half=True, n_ctx=CONTEXT) as theirs,
                ):
                    found = measure(fed, theirs, variant, share, arguments.rounds, arguments.length)
                print(json.dumps({"kind": name, "weights": kind, **found}), flush=True)


if __name__ == "__main__":
    main()
