"""Train the scorer: bfloat16 compute, float32 masters, one thread.

    python scorer_train.py WORK --minutes 31 [--start WORK/scorer.pt]

Reads `repos/` and `tokenizer.json` of WORK; writes `WORK/NAME.pt` and prints a log. Stops by the clock, with the
learning rate at zero. Three losses: the next token (of code, questions and answers), tail attention that must find the
right text among many, and questions that must be likelier after the right text than after wrong ones.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import torch
from muon import Optimizer
from scorer_data import Asker
from scorer_init import initialise
from scorer_model import hidden, tail_products
from scorer_rows import Batch, Copy, Layout, stream, tails
from scorer_text import Package, read_package, words_of
from tokenizer import VOCABULARY, load
from torch import Tensor
from torch.nn import functional
from transformers import Qwen3ForCausalLM

PILES = 2  # of a batch
WARM_UP = 30  # steps
SAMPLE = 200  # texts of each package to count tokens in
SOFT = 0.5  # temperature of the maximum over layers, heads and tail while training
NULL = 8.0
"""A question whose text is not there must score no text above this; so scores compare between windows."""
FIND, CHOOSE, TELL = 0.4, 0.4, 0.5  # weights of the ranking losses beside that of the next token
TELL_SCALE = 4.0  # a nat per token more is that much surer
REPORT_SECONDS = 30.0


def packages(work: Path, *, held: bool) -> list[Package]:
    """The packages that are trained on, or those that are held out."""
    manifest = json.loads((Path(__file__).parent / "sources.json").read_text())
    names = [source["name"] for source in manifest["packages"] if source["held_out"] == held]
    return [
        read_package(work / "repos" / name, random.Random(name), cut=not held)
        for name in names + ["stdlib"] * (not held)
    ]


def negative_logs(model: Qwen3ForCausalLM, states: Tensor, data: Batch) -> Tensor:
    """-log p of the token after each position, float32 [B, T]; 0 where nobody asks."""
    wanted = data.weights > 0
    for copy in data.copies:
        wanted[copy.row, copy.start - 1 : copy.stop - 1] = True
    logits = functional.linear(states[wanted], model.model.embed_tokens.weight.to(states.dtype)).float()
    found = functional.cross_entropy(logits, data.ids.roll(-1, 1)[wanted], reduction="none")
    return torch.zeros(data.ids.shape).masked_scatter(wanted, found)


def candidates(data: Batch) -> list[list[int]]:
    """For every question that has a right text, the copies behind texts, the right one first."""
    groups: dict[int, list[int]] = {}
    for index, copy in enumerate(data.copies):
        if copy.text >= 0:
            groups.setdefault(copy.question, []).append(index)
    return [sorted(group, key=lambda i: not data.copies[i].right) for group in groups.values()]


def listed(values: Tensor, groups: list[list[int]]) -> Tensor:
    """Values [copies] as [questions, most copies], filled up with what never wins."""
    most = max(map(len, groups))
    padded = torch.tensor([group + [len(values)] * (most - len(group)) for group in groups])
    return torch.cat([values, values.new_full((1,), -1e4)])[padded]


def first(scores: Tensor) -> float:
    """How often column 0 is the largest."""
    return (scores.argmax(1) == 0).float().mean().item()


def best_of(products: Tensor, own: Tensor) -> Tensor:
    """The largest product [N, K] of texts own [N or 1, K, keys] of products [N, LAYERS, HEADS, TAIL, keys], softly."""
    tokens = SOFT * torch.logsumexp(products.flatten(1, 3) / SOFT, 1)
    return tokens[:, None].masked_fill(~own, -1e4).amax(2)


def look_losses(model: Qwen3ForCausalLM, data: Batch, groups: list[list[int]]) -> tuple[Tensor, Tensor, float]:
    """By tail attention: find the right text among all of the batch, and choose it as the engine does; how often."""
    behind = [copy for copy in data.copies if copy.text >= 0]
    place = {id(copy): index for index, copy in enumerate(behind)}
    rows = torch.tensor([copy.row for copy in behind])
    own = data.texts[rows][:, None] == torch.tensor([copy.text for copy in behind])[:, None, None]
    scores = best_of(tail_products(model, rows, tails(behind)), own)[:, 0]
    listing = [[place[id(data.copies[index])] for index in group] for group in groups]
    table = torch.cat([listed(scores, listing), scores.new_full((len(groups), 1), NULL)], 1)
    there = [data.copies[group[0]].right for group in groups]
    choose = functional.cross_entropy(table, torch.tensor([0 if yes else table.shape[1] - 1 for yes in there]))
    right = [copy for copy in behind if copy.right]
    return find_loss(model, data, right), choose, first(table[torch.tensor(there)][:, :-1])


def find_loss(model: Qwen3ForCausalLM, data: Batch, right: list[Copy]) -> Tensor:
    """Cross entropy of the right text among all texts of the batch, as its own question sees them."""
    keys = (data.texts >= 0).nonzero()
    products = tail_products(model, torch.tensor([copy.row for copy in right]), tails(right), keys)
    owner = data.texts[keys[:, 0], keys[:, 1]]
    own = owner[None] == torch.arange(int(owner.max()) + 1)[:, None]
    return functional.cross_entropy(best_of(products, own[None]), torch.tensor([copy.text for copy in right]))


def tell_loss(logs: Tensor, data: Batch, groups: list[list[int]]) -> tuple[Tensor, float]:
    """Cross entropy of the right text by how likely it makes the question; and how often it is the likeliest."""
    means = torch.stack([-logs[c.row, c.start - 1 : c.stop - 1].mean() for c in data.copies])
    table = listed(means, [group for group in groups if data.copies[group[0]].right])
    return functional.cross_entropy(TELL_SCALE * table, torch.zeros(len(table), dtype=torch.long)), first(table)


def shares(trained: list[Package], layout: Layout) -> Tensor:
    """Each token's share of all tokens of some texts of every package."""
    counts = torch.zeros(VOCABULARY)
    for package in trained:
        for unit in package.units[:SAMPLE]:
            counts += torch.bincount(torch.tensor(layout.encode(unit.text)), minlength=VOCABULARY)
    return counts / counts.sum()


def train(options: argparse.Namespace) -> None:
    """Train until the time is over."""
    trained = packages(options.work, held=False)
    asker = Asker(trained, words_of(trained), options.seed)
    layout = Layout(load(options.work), options.seed + 1)
    model = initialise(options.seed, shares(trained, layout))
    if options.start:
        model.load_state_dict(torch.load(options.start))
    batches = stream(asker, layout, PILES)
    optimizer = Optimizer(model, options.muon_rate, options.adam_rate)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(trained)} packages", flush=True)
    start = reported = time.monotonic()
    tokens, average = 0, torch.zeros(6)
    for step, data in enumerate(batches, start=1):
        fraction = (time.monotonic() - start) / (60 * options.minutes)
        if fraction >= 1:
            break
        states = hidden(model, data.ids, data.positions, data.bias, half=True)
        logs, groups = negative_logs(model, states, data), candidates(data)
        next_token = (logs * data.weights).sum() / data.weights.sum()
        tell, told = tell_loss(logs, data, groups)
        find, choose, chosen = look_losses(model, data, groups)
        (next_token + FIND * find + CHOOSE * choose + TELL * tell).backward()
        optimizer.step(min(1.0, step / WARM_UP, (1 - fraction) / options.decay))
        tokens += data.ids.numel()
        now = torch.tensor([next_token.item(), find.item(), choose.item(), chosen, tell.item(), told])
        average = now if step == 1 else 0.97 * average + 0.03 * now
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            shown = "next {:.3f} find {:.3f} choose {:.3f} ({:.2f} first) tell {:.3f} ({:.2f} first)".format(
                *average.tolist()
            )
            print(f"{fraction:.2f} step {step} tokens {tokens / 1e6:.2f}M {shown}", flush=True)
            torch.save(model.state_dict(), options.work / f"{options.name}.pt")
    torch.save(model.state_dict(), options.work / f"{options.name}.pt")
    print(f"end: {step} steps, {tokens / 1e6:.2f}M tokens", flush=True)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--minutes", type=float, default=31.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--name", default="scorer")
    parser.add_argument("--muon-rate", type=float, default=0.008)
    parser.add_argument("--adam-rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=0.8)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train(options)


if __name__ == "__main__":
    main()
