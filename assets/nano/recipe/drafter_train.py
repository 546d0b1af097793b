"""Train the drafter on what the target itself wrote: bfloat16 compute, float32 masters, one thread or one GPU.

    python drafter_train.py WORK ../laguna-nano.gguf --llama-cpp vendor/llama.cpp --minutes 33 [--device cuda]

Reads the dump of `drafter_target.py`; writes `drafter/NAME.pt` and the log `drafter/NAME.csv`. Stops by the clock, with
the learning rate at zero.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from drafter import BLOCK, FFN, LAYERS, RANK, Drafter
from drafter_data import Corpus, stack
from drafter_init import initialise
from drafter_measure import measure
from drafter_target import read_tensors
from log import Log
from muon import Optimizer
from torch import Tensor
from torch.nn import functional
from workers import batches as made_apart
from workers import enough

ROWS, ANCHORS = {"cpu": 6, "cuda": 64}, 24
FADE = 4.0
"""A proposal's weight falls by e with so many positions: a late one only counts if all before it stand."""
CODE_SHARE = 0.15
CONFIDENCE = 0.1  # weight of the confidence head's loss
WARM_UP = 40  # steps
NOT_MATRICES = ("g_proj", "markov", "confidence", "aux_norm")
REPORT_SECONDS = 60.0
MEASURED = tuple(f"{kind} at {temperature}" for kind in ("chat", "edit", "code") for temperature in (0.0, 0.7))


def batches(corpus: Corpus, seed: int, rows: int) -> Iterator[dict[str, Tensor]]:
    """Endless batches, sequences in proportion to what the target wrote in them."""
    rng = random.Random(seed)
    kinds = {kind: [e for e in corpus.entries if e["kind"] == kind] for kind in ("chat", "code")}
    weights = {kind: [sum(b - a - 1 for a, b in e["spans"]) for e in entries] for kind, entries in kinds.items()}
    while True:
        chosen = ["code" if rng.random() < CODE_SHARE else "chat" for _ in range(rows)]
        entries = [rng.choices(kinds[kind], weights[kind])[0] for kind in chosen]
        yield stack([corpus.sample(rng, entry, ANCHORS) for entry in entries])


def loss_of(drafter: Drafter, batch: dict[str, Tensor]) -> Tensor:
    """Cross entropy of what the target wrote, early proposals first, and of the confidence in each."""
    device = drafter.table.device
    targets, weights = batch["targets"], batch["weights"] * torch.exp(-torch.arange(BLOCK - 1, device=device) / FADE)
    doubt = torch.zeros((), device=device)
    with torch.autocast(device.type, torch.bfloat16):
        hidden = drafter.hidden(batch["taps"], batch["first"], batch["anchors"], batch["tokens"])
        if drafter.rank:
            before = torch.cat([batch["tokens"][..., None], targets[..., :-1]], -1)
            logits, confidence = drafter.judged(hidden, before)
            right = (logits.argmax(-1) == targets).float()
            doubt = functional.binary_cross_entropy_with_logits(
                confidence.float(), right, weight=weights, reduction="sum"
            )
        else:
            logits = drafter.logits(hidden)
    losses = functional.cross_entropy(logits.float().flatten(0, 2), targets.flatten(), reduction="none")
    return ((losses * weights.flatten()).sum() + CONFIDENCE * doubt) / weights.sum()


class Report:
    """Measures on held-out text now and then, and writes down what it finds; knows how long that took."""

    def __init__(self, drafter: Drafter, held: Corpus, path: Path, minutes: float) -> None:
        self.drafter, self.held, self.path = drafter, held, path
        self.log = Log(path.with_suffix(".csv"), ("seconds", "step", "loss", *MEASURED))
        self.every, self.reported = REPORT_SECONDS * minutes, time.monotonic()

    def due(self) -> bool:
        """Whether it is time again."""
        return time.monotonic() - self.reported > self.every

    def measure(self, seconds: float, step: int, loss: float, number: int) -> float:
        """Save, measure over `number` sequences and tell; returns the seconds that it took."""
        start = time.monotonic()
        torch.save({name: value.cpu() for name, value in self.drafter.state_dict().items()}, self.path)
        found = measure(self.drafter, self.held, number)
        print(f"{seconds:.0f} s, step {step}, loss {loss:.3f} | " + "; ".join(f"{k} {c}" for k, c in found.items()))
        self.log.add(seconds=seconds, step=step, loss=loss, **{k: c.tokens_a_round for k, c in found.items()})
        self.reported = time.monotonic()
        return self.reported - start


def train(drafter: Drafter, options: argparse.Namespace) -> None:
    """Train until the time is over; the clock stands still while measuring."""
    folder = options.work / "drafter"
    corpus, held = Corpus(folder, "train"), Corpus(folder, "held")
    initialise(drafter, corpus)
    drafter.to(options.device)
    optimizer = Optimizer(drafter, options.muon_rate, options.adam_rate, NOT_MATRICES)
    report = Report(drafter, held, folder / f"{options.name}.pt", options.report)
    rows = options.rows or ROWS[options.device.type]
    source = made_apart(lambda worker: batches(corpus, options.seed + worker, rows), enough(options.device))
    start, average = time.monotonic(), 0.0
    for step, batch in enumerate(source, start=1):
        seconds = time.monotonic() - start
        fraction = seconds / (60 * options.minutes)
        if fraction >= 1:
            break
        loss = loss_of(drafter, {name: value.to(options.device) for name, value in batch.items()})
        loss.backward()
        optimizer.step(min(1.0, step / WARM_UP, (1 - fraction) / options.decay))
        average = loss.item() if step == 1 else 0.98 * average + 0.02 * loss.item()
        if report.due():
            start += report.measure(seconds, step, average, 24)
    report.measure(60 * options.minutes, step, average, 80)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=33.0)
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"), help="cpu or cuda")
    parser.add_argument("--rows", type=int, help="stretches to a step; 6 on a CPU, 64 on a GPU")
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--ffn", type=int, default=FFN)
    parser.add_argument("--rank", type=int, default=RANK, help="of the Markov head; 0 for none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--name", default="drafter")
    parser.add_argument("--muon-rate", type=float, default=0.015)
    parser.add_argument("--adam-rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=0.8)
    parser.add_argument("--report", type=float, default=4.0, help="minutes between two measurements")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    file = read_tensors(options.model, options.llama_cpp)
    drafter = Drafter(file["token_embd.weight"], file["output_norm.weight"], options.layers, options.ffn, options.rank)
    print(f"{sum(p.numel() for p in drafter.parameters()) / 1e6:.2f} M parameters", flush=True)
    train(drafter, options)


if __name__ == "__main__":
    main()
