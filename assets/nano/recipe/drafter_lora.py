"""A variant of the drafter for one repository: low-rank additions to its matrices (LoRA), trained on sessions about it.

    python drafter_lora.py WORK ../laguna-nano.gguf --repository httpx --llama-cpp vendor/llama.cpp

Runs in the training environment, after `drafter_lora_sessions.py`. The drafter itself stays as it is. Writes into
`drafter/lora-NAME/` the adapter in llama.cpp's format (`adapter.gguf`), and tokens and rounds of sessions of every set,
without it and with it (`rounds.json`), for `drafter_lora_engine.py` to hold the engine against.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from drafter import HEAD, Drafter
from drafter_convert import NAMES
from drafter_data import Corpus, stack
from drafter_lora_gain import ADAPTER, SETS, Rounds, gain
from drafter_measure import accepted_everywhere, load_drafter, rounds
from drafter_target import Target, dump, load_target
from drafter_train import ANCHORS, ROWS, loss_of
from pad import OUTPUT, QUERIES, widen
from torch import Tensor, nn
from torch.nn.utils import parametrize

RANK, ALPHA = 8, 16.0
ADAPTED = ("q", "k", "v", "o", "ffn_gate", "ffn_up", "ffn_down")
RATE = 1e-3
WARM_UP = 10  # steps
SESSIONS = 40  # of each set, to measure on


class LowRank(nn.Module):
    """What a matrix W [out, in] becomes: W + alpha / rank * up @ down. It begins as W itself."""

    def __init__(self, matrix: Tensor, rank: int, alpha: float) -> None:
        super().__init__()
        rows, columns = matrix.shape
        self.down = nn.Parameter(torch.randn(rank, columns) * columns**-0.5)
        self.up = nn.Parameter(torch.zeros(rows, rank))
        self.scale = alpha / rank

    def forward(self, matrix: Tensor) -> Tensor:
        """The adapted matrix."""
        return matrix + self.scale * (self.up @ self.down)


def adapt(drafter: Drafter, rank: int, alpha: float) -> dict[str, LowRank]:
    """Freeze the drafter and add to its matrices; returns what is to be trained by its name in the file."""
    drafter.requires_grad_(False)
    added = {}
    for index, layer in enumerate(drafter.layers):
        for name in ADAPTED:
            linear = layer.get_submodule(name)
            low = LowRank(linear.get_parameter("weight"), rank, alpha)
            parametrize.register_parametrization(linear, "weight", low)
            added[f"blk.{index}.{NAMES[f'{name}.weight']}.weight"] = low
    return added


def batches(corpus: Corpus, seed: int) -> Iterator[dict[str, Tensor]]:
    """Endless batches, sessions in proportion to what the target wrote in them."""
    rng = random.Random(seed)
    weights = [sum(stop - start - 1 for start, stop in entry["spans"]) for entry in corpus.entries]
    while True:
        entries = rng.choices(corpus.entries, weights, k=ROWS["cpu"])
        yield stack([corpus.sample(rng, entry, ANCHORS) for entry in entries])


def train(drafter: Drafter, added: dict[str, LowRank], corpus: Corpus, options: argparse.Namespace) -> None:
    """Train what was added until the time is over, with the learning rate at zero then."""
    parameters = [p for low in added.values() for p in low.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=options.rate, betas=(0.9, 0.98), weight_decay=0.0)
    start, losses = time.monotonic(), []
    for step, batch in enumerate(batches(corpus, options.seed), start=1):
        fraction = (time.monotonic() - start) / (60 * options.minutes)
        if fraction >= 1:
            break
        optimizer.param_groups[0]["lr"] = options.rate * min(step / WARM_UP, 1 - fraction)
        loss = loss_of(drafter, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    tenth = max(1, len(losses) // 10)
    first, last = (sum(part) / tenth for part in (losses[:tenth], losses[-tenth:]))
    print(f"{len(losses)} steps, loss {first:.3f} -> {last:.3f} ({sum(p.numel() for p in parameters)} numbers)")


def measured(drafter: Drafter, corpus: Corpus) -> Rounds:
    """Tokens committed and rounds taken in each of the first sessions, in order."""
    found = []
    for entry in corpus.entries[:SESSIONS]:
        took = list(rounds(entry, accepted_everywhere(drafter, corpus, entry)))
        found.append((sum(min(stood + 1, room) for stood, room in took), len(took)))
    return found


def write(path: Path, added: dict[str, LowRank], alpha: float, repository: str, llama_cpp: Path) -> None:
    """Write the adapter in float32, in the shape of the widened drafter."""
    sys.path.insert(0, str(llama_cpp / "gguf-py"))
    import gguf

    writer = gguf.GGUFWriter(path, "dflash")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_name(f"Laguna Nano DFlash for {repository}")
    writer.add_license("apache-2.0")
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    for name, low in added.items():
        down, up = low.down.detach().numpy(), low.up.detach().numpy()
        writer.add_tensor(f"{name}.lora_a", widen(name, down, HEAD) if name.endswith(OUTPUT) else down)
        writer.add_tensor(f"{name}.lora_b", widen(name, up, HEAD) if name.endswith(QUERIES) else up)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Read the command line, train, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--drafter", type=Path, help="its checkpoint; WORK/drafter/drafter.pt without it")
    parser.add_argument("--repository", default="httpx")
    parser.add_argument("--llama-cpp", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    folder = options.work / "drafter" / f"lora-{options.repository}"
    target = Target(
        load_target(options.model, options.llama_cpp), json.loads((folder / "header.json").read_text())["header"]
    )
    for name in SETS:
        dump(target, folder, name, minutes=2.0)
    checkpoint = options.drafter or options.work / "drafter" / "drafter.pt"
    drafter = load_drafter(checkpoint, options.model, options.llama_cpp)
    sets = {name: Corpus(folder, name) for name in SETS}
    plain = {name: measured(drafter, corpus) for name, corpus in sets.items()}
    added = adapt(drafter, options.rank, options.alpha)
    train(drafter, added, sets["train"], options)
    write(folder / ADAPTER, added, options.alpha, options.repository, options.llama_cpp)
    adapted = {name: measured(drafter, corpus) for name, corpus in sets.items()}
    (folder / "rounds.json").write_text(json.dumps({"plain": plain, "adapted": adapted}))
    for name in SETS:
        print(f"{name}: {gain(plain[name], adapted[name])}", flush=True)


if __name__ == "__main__":
    main()
