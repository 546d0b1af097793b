"""Train transformers' LagunaForCausalLM on chats: bfloat16 compute, float32 masters, one shared header.

    python train.py WORK --minutes 75 [--start checkpoint.pt] [--processes 2]

Reads `tokenizer.json`, `results/` and `header.txt` from WORK; writes `WORK/NAME.pt` and a log. Stops by the clock,
with the learning rate at zero, so that the plan fits whatever machine it runs on.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import torch
from architecture import SharedPrefix, masks
from batches import Batch, stream
from data import Generator, header_ids, load_results
from init import initialise
from muon import Optimizer
from partners import agree, join, meeting_place
from tokenizer import load
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from transformers import LagunaForCausalLM

WARM_UP = 60  # steps
BIAS_STEP = 0.003  # of the experts' correction bias, towards equal load
HEADER_STEPS = 4  # steps between two passes over the header: its states change slowly, and carry nothing to learn
HEADER_FROM = 0.35  # fraction of the run after which every step has the header
RANK_SEEDS = 1000  # apart: no partner ever sees another's chats
REPORT_SECONDS, SAVE_SECONDS = 30.0, 120.0
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
        self.model, self.header = model, torch.tensor([header])
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
            "position_ids": torch.arange(first, first + ids.shape[1])[None],
            "past_key_values": prefix,
            "use_cache": False,
        }
        return functional_call(self.model.model, halves, kwargs=inputs).last_hidden_state

    @torch.no_grad()
    def header_states(self) -> SharedPrefix:
        """The header's keys and values, as of a few steps ago at most."""
        if self.header_age % HEADER_STEPS == 0:
            self.prefix = SharedPrefix()
            self.hidden(self.header, 0, masks(self.header.shape[1], 0), self.prefix)
        self.header_age += 1
        return self.prefix

    def loss(self, batch: Batch, *, bare: bool) -> Tensor:
        """Weighted cross entropy of what the model must write; `bare` leaves the header out but keeps its positions."""
        length = self.header.shape[1]
        prefix = None if bare else self.header_states()
        hidden = self.hidden(batch.inputs, length, masks(batch.inputs.shape[1], 0 if bare else length), prefix)
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
    torch.save({name: value.clone() for name, value in model.state_dict().items()}, path.with_suffix(".part"))
    path.with_suffix(".part").rename(path)


def examples(options: argparse.Namespace, rank: int, tokenizer: Tokenizer) -> Iterator[Batch]:
    """This partner's own endless stream of batches over the trained packages."""
    manifest = json.loads((Path(__file__).parent / "sources.json").read_text())
    trained = {source["name"] for source in manifest["packages"] if not source["held_out"]} | {"stdlib"}
    results = load_results(options.work / "results", trained)
    seed = options.seed + RANK_SEEDS * rank
    generator = Generator(seed + 1, results, corpus_words([r.result for r in results]))
    return stream(generator, tokenizer, seed + 2)


class Report:
    """Progress lines and checkpoints, by the clock."""

    def __init__(self, model: LagunaForCausalLM, path: Path) -> None:
        self.model, self.path = model, path
        self.start = self.reported = self.saved = time.monotonic()
        self.tokens, self.average, self.steps = 0, 0.0, 0

    def step(self, fraction: float, tokens: int, loss: float) -> None:
        """Count one step of all partners."""
        self.steps += 1
        self.tokens += tokens
        self.average = loss if self.steps == 1 else 0.98 * self.average + 0.02 * loss
        now = time.monotonic()
        if now - self.reported > REPORT_SECONDS:
            self.reported = now
            speed = self.tokens / (now - self.start)
            done = f"{fraction:.3f} step {self.steps} tokens {self.tokens / 1e6:.2f}M {speed:.0f}/s"
            print(f"{done} loss {self.average:.4f}", flush=True)
        if now - self.saved > SAVE_SECONDS:
            self.saved = now
            save(self.model, self.path)


def run(rank: int, options: argparse.Namespace, meeting: str) -> None:
    """The whole training run of one partner."""
    torch.set_num_threads(options.threads)
    join(rank, options.processes, meeting)
    model = initialise(options.seed)
    if options.start:
        model.load_state_dict(torch.load(options.start))
    bias_balancer(model)
    tokenizer = load(options.work)
    trainer = Trainer(model, header_ids(tokenizer, (options.work / "header.txt").read_text()))
    optimizer = Optimizer(model, options.muon_rate, options.adam_rate)
    report = Report(model, options.work / f"{options.name}.pt")
    coin = random.Random(options.seed)
    fraction = 0.0
    for step, batch in enumerate(examples(options, rank, tokenizer), start=1):
        bare = fraction < options.header_from and coin.random() < options.bare_share
        loss = trainer.loss(batch, bare=bare)
        loss.backward()
        elapsed = (time.monotonic() - report.start) / (60 * options.minutes)
        fraction = agree(model, rank, options.processes, elapsed)
        if fraction >= 1:
            break
        optimizer.step(rate_at(fraction, step, options.decay))
        if rank == 0:
            report.step(fraction, batch.inputs.numel() * options.processes, loss.item())
    if rank == 0:
        save(model, report.path)
        print(f"end: about {report.tokens / 1e6:.2f}M tokens, loss {report.average:.4f}", flush=True)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--minutes", type=float, default=75.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
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
    if options.processes == 1:
        run(0, options, "")
    else:
        torch.multiprocessing.spawn(run, (options, meeting_place()), nprocs=options.processes)


if __name__ == "__main__":
    main()
