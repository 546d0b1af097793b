"""Train transformers' LagunaForCausalLM on chats: bfloat16 compute, float32 masters, one shared header.

    python train.py WORK --minutes 75 [--start checkpoint.pt] [--processes 2]
    python train.py WORK --minutes 15 --device cuda

Reads `tokenizer.json`, `results/` and `header.txt` from WORK; writes `WORK/NAME.pt` and the log `WORK/NAME.csv`. Stops
by the clock, with the learning rate at zero, so that the plan fits whatever machine it runs on. On a CPU several
processes train one model, each with a batch of its own; on a GPU one does, with larger batches that others make.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import torch
from architecture import SharedPrefix, masks
from batches import BATCH_TOKENS, Batch, stream
from data import Generator, header_ids
from init import initialise
from log import Log
from muon import Optimizer
from partners import agree, join, meeting_place
from results import load as load_entries
from sources import trained
from tokenizer import load, newline
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from transformers import LagunaForCausalLM
from workers import batches, enough

WARM_UP = 60  # steps
BIAS_STEP = 0.003  # of the experts' correction bias, towards equal load
HEADER_STEPS = 4  # steps between two passes over the header: its states change slowly, and carry nothing to learn
HEADER_FROM = 0.35  # fraction of the run after which every step has the header
RANK_SEEDS = 1000  # apart: no partner ever sees another's chats
REPORT_SECONDS, SAVE_SECONDS = 30.0, 120.0
REPORTS = 60  # at least, of a short run
COLUMNS = ("seconds", "fraction", "step", "tokens", "rate", "loss")
COMMON_WORD = 3  # occurrences that make a word of the corpus one to build names from


def corpus_words(results: list[str]) -> list[str]:
    """Words that the corpus uses often enough."""
    counts = Counter(word.lower() for text in results for word in re.findall(r"[A-Z]?[a-z]{2,9}", text))
    return sorted(word for word, count in counts.items() if count >= COMMON_WORD)


def bias_balancer(model: LagunaForCausalLM) -> None:
    """After each step's long pass, nudge every expert's selection bias against its load (no auxiliary loss)."""

    def nudge(router: nn.Module, _: object, output: tuple[Tensor, Tensor, Tensor]) -> None:
        load = torch.bincount(output[2].flatten(), minlength=router.num_experts).float()
        biases[router].add_(BIAS_STEP * torch.sign(load.mean() - load))

    biases = {}
    for module in model.modules():
        if type(module).__name__ == "LagunaTopKRouter":
            biases[module] = module.e_score_correction_bias.data
            module.register_forward_hook(nudge)


class Trainer:
    """One model, one header, and the loss of one step."""

    def __init__(self, model: LagunaForCausalLM, header: list[int]) -> None:
        self.model, self.device = model, model.device
        self.header = torch.tensor([header], device=self.device)
        self.table = model.model.embed_tokens.weight
        self.prefix, self.header_age = SharedPrefix(), 0

    def hidden(self, ids: Tensor, first: int, mask: dict[str, Tensor], prefix: SharedPrefix | None) -> Tensor:
        """Last hidden states [rows, T, D] of ids at positions from `first` on, in bfloat16."""
        halves = {
            name: p.bfloat16()
            for name, p in self.model.model.named_parameters()
            if p.requires_grad and "embed" not in name
        }
        inputs = {
            "inputs_embeds": functional.embedding(ids, self.table).bfloat16(),
            "attention_mask": mask,
            "position_ids": torch.arange(first, first + ids.shape[1], device=self.device)[None],
            "past_key_values": prefix,
            "use_cache": False,
        }
        return functional_call(self.model.model, halves, kwargs=inputs).last_hidden_state

    @torch.no_grad()
    def header_states(self) -> SharedPrefix:
        """The header's keys and values, as of a few steps ago at most."""
        if self.header_age % HEADER_STEPS == 0:
            self.prefix = SharedPrefix()
            self.hidden(self.header, 0, masks(self.header.shape[1], 0, self.device), self.prefix)
        self.header_age += 1
        return self.prefix

    def loss(self, batch: Batch, *, bare: bool) -> Tensor:
        """Weighted cross entropy of what the model must write; `bare` leaves the header out but keeps its positions."""
        length = self.header.shape[1]
        prefix = None if bare else self.header_states()
        mask = masks(batch.inputs.shape[1], 0 if bare else length, self.device)
        hidden = self.hidden(batch.inputs, length, mask, prefix)
        wanted = batch.weights > 0
        logits = functional.linear(hidden[wanted], self.table.bfloat16()).float()
        losses = functional.cross_entropy(logits, batch.targets[wanted], reduction="none")
        weights = batch.weights[wanted]
        return (losses * weights).sum() / weights.sum()


def rate_at(fraction: float, step: int, decay: float) -> float:
    """Warm-up, a plateau, and a linear fall to zero over the last `decay` of the run."""
    return min(1.0, step / WARM_UP, max(0.0, 1 - fraction) / decay)


def save(model: LagunaForCausalLM, path: Path) -> None:
    """Write the checkpoint so that a reader never sees half of one."""
    torch.save({name: value.cpu().clone() for name, value in model.state_dict().items()}, path.with_suffix(".part"))
    path.with_suffix(".part").rename(path)


def examples(options: argparse.Namespace, rank: int, tokenizer: Tokenizer) -> Iterator[Batch]:
    """This partner's own endless stream of batches over the trained packages."""
    entries = load_entries(options.work / "results", trained(options.work))
    words = corpus_words([entry["result"] for entry in entries])

    def make(worker: int) -> Iterator[Batch]:
        seed = options.seed + RANK_SEEDS * (rank + worker)
        return stream(Generator(seed + 1, entries, words), tokenizer, seed + 2, options.batch_tokens)

    return batches(make, options.workers)


class Report:
    """Progress lines, a log of numbers and checkpoints, by the clock."""

    def __init__(self, model: LagunaForCausalLM, path: Path, minutes: float) -> None:
        self.model, self.path = model, path
        self.log = Log(path.with_suffix(".csv"), COLUMNS)
        self.every = min(REPORT_SECONDS, 60 * minutes / REPORTS)
        self.start = self.reported = self.saved = time.monotonic()
        self.tokens, self.average, self.steps = 0, 0.0, 0

    def step(self, fraction: float, tokens: int, loss: float, rate: float) -> None:
        """Count one step of all partners."""
        self.steps += 1
        self.tokens += tokens
        self.average = loss if self.steps == 1 else 0.98 * self.average + 0.02 * loss
        now = time.monotonic()
        if now - self.reported > self.every:
            self.reported = now
            self.tell(now - self.start, fraction, rate)
        if now - self.saved > SAVE_SECONDS:
            self.saved = now
            save(self.model, self.path)

    def tell(self, seconds: float, fraction: float, rate: float) -> None:
        """A line for people and a row for `curves.py`."""
        done = f"{fraction:.3f} step {self.steps} tokens {self.tokens / 1e6:.2f}M {self.tokens / seconds:.0f}/s"
        print(f"{done} loss {self.average:.4f}", flush=True)
        numbers = zip(COLUMNS, (seconds, fraction, self.steps, self.tokens, rate, self.average), strict=True)
        self.log.add(**dict(numbers))


def run(rank: int, options: argparse.Namespace, meeting: str) -> None:
    """The whole training run of one partner."""
    torch.set_num_threads(options.threads)
    join(rank, options.processes, meeting)
    tokenizer = load(options.work)
    model = initialise(options.seed, newline(tokenizer))
    if options.start:
        model.load_state_dict(torch.load(options.start, map_location="cpu"))
    model.to(options.device)
    bias_balancer(model)
    trainer = Trainer(model, header_ids(tokenizer, (options.work / "header.txt").read_text()))
    optimizer = Optimizer(model, options.muon_rate, options.adam_rate)
    report = Report(model, options.work / f"{options.name}.pt", options.minutes)
    coin = random.Random(options.seed)
    fraction = 0.0
    for step, batch in enumerate(examples(options, rank, tokenizer), start=1):
        bare = fraction < options.header_from and coin.random() < options.bare_share
        loss = trainer.loss(batch.to(options.device), bare=bare)
        loss.backward()
        elapsed = (time.monotonic() - report.start) / (60 * options.minutes)
        fraction = agree(model, rank, options.processes, elapsed)
        if fraction >= 1:
            break
        rate = rate_at(fraction, step, options.decay)
        optimizer.step(rate)
        if rank == 0:
            report.step(fraction, batch.inputs.numel() * options.processes, loss.item(), rate)
    if rank == 0:
        report.tell(time.monotonic() - report.start, 1.0, 0.0)
        save(model, report.path)
        print(f"end: about {report.tokens / 1e6:.2f}M tokens, loss {report.average:.4f}", flush=True)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--minutes", type=float, default=75.0)
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"), help="cpu or cuda")
    parser.add_argument("--processes", type=int, help="that train together; 2 on a CPU, 1 on a GPU")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--workers", type=int, help="processes that make batches; none on a CPU")
    parser.add_argument("--batch-tokens", type=int, help="of a step of each process; 2,048 on a CPU, 32,768 on a GPU")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--name", default="nano")
    parser.add_argument("--muon-rate", type=float, default=0.005)
    parser.add_argument("--adam-rate", type=float, default=1e-3)
    parser.add_argument("--decay", type=float, default=0.8)
    parser.add_argument(
        "--bare-share", type=float, default=0.8, help="early steps without header: cheaper, same copying"
    )
    parser.add_argument("--header-from", type=float, default=HEADER_FROM)
    options = parser.parse_args()
    kind = options.device.type
    options.processes = options.processes or (2 if kind == "cpu" else 1)
    options.workers = enough(options.device) if options.workers is None else options.workers
    options.batch_tokens = options.batch_tokens or BATCH_TOKENS[kind]
    if options.processes > 1 and (kind != "cpu" or options.workers):
        parser.error("several processes train on a CPU only, and make their own batches; leave --processes out")
    if options.processes == 1:
        run(0, options, "")
    else:
        torch.multiprocessing.spawn(run, (options, meeting_place()), nprocs=options.processes)


if __name__ == "__main__":
    main()
