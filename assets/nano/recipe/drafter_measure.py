"""How many of a drafter's tokens stand: rounds replayed over what the target itself wrote.

    python drafter_measure.py WORK MODEL.gguf DRAFTER.pt --llama-cpp vendor/llama.cpp

Runs in the training environment. A round commits the proposals up to the first wrong one, and the target's own token
there. That is exactly what an engine commits which samples the target and compares, so it holds at any temperature.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from drafter import BLOCK, Drafter
from drafter_data import REACH, Corpus, Entry, stack
from drafter_target import read_tensors

ANCHORS = 48  # to a pass; a multiple of none, short rows repeat their last


@dataclass(slots=True)
class Count:
    """Rounds, the tokens they committed, and how often each position was reached and stood."""

    rounds: int = 0
    committed: int = 0
    reached: list[int] = field(default_factory=lambda: [0] * (BLOCK - 1))
    stood: list[int] = field(default_factory=lambda: [0] * (BLOCK - 1))

    def add(self, accepted: int, room: int) -> None:
        """One round: proposals that stood, of those that there was room for before the end."""
        self.rounds += 1
        self.committed += min(accepted + 1, room)
        for position in range(min(accepted + 1, room, BLOCK - 1)):
            self.reached[position] += 1
            self.stood[position] += position < accepted

    @property
    def tokens_a_round(self) -> float:
        """Committed, on average."""
        return self.committed / max(1, self.rounds)

    def __str__(self) -> str:
        shares = " ".join(f"{100 * s / max(1, r):.0f}" for s, r in zip(self.stood, self.reached, strict=True))
        return f"{self.tokens_a_round:.2f} a round ({self.rounds} rounds; stood, if reached, %: {shares})"


@torch.inference_mode()
def accepted_everywhere(drafter: Drafter, corpus: Corpus, entry: Entry) -> dict[int, int]:
    """For every token that the target wrote (but the last of a span): how many proposals after it stand."""
    wanted = [p for start, stop in entry["spans"] for p in range(start, stop - 1)]
    accepted: dict[int, int] = {}
    while wanted:
        part = [p for p in wanted[:ANCHORS] if p < wanted[0] + REACH]
        wanted = wanted[len(part) :]
        device = drafter.table.device
        batch = {name: value.to(device) for name, value in stack([corpus.stretch(entry, part[0], part)]).items()}
        with torch.autocast(device.type, torch.bfloat16):
            best = drafter.propose(batch["taps"], batch["first"], batch["anchors"], batch["tokens"])
        right = (best == batch["targets"]) & (batch["weights"] > 0)
        accepted |= dict(zip(part, right[0].long().cumprod(-1).sum(-1).tolist(), strict=True))
    return accepted


def rounds(entry: Entry, accepted: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Accepted proposals and tokens left, round by round; the first token of a span is the prompt's own."""
    for start, stop in entry["spans"]:
        position = start
        while position < stop - 1:
            yield accepted[position], stop - 1 - position
            position += min(accepted[position] + 1, stop - 1 - position)


def measure(drafter: Drafter, corpus: Corpus, limit: int | None = None) -> dict[str, Count]:
    """Counts by kind of text and temperature."""
    counts: dict[str, Count] = defaultdict(Count)
    entries = (
        corpus.entries if limit is None else random.Random(5).sample(corpus.entries, min(limit, len(corpus.entries)))
    )
    for entry in entries:
        accepted = accepted_everywhere(drafter, corpus, entry)
        for stood, room in rounds(entry, accepted):
            counts[f"{entry['kind']} at {entry['temperature']}"].add(stood, room)
    return dict(sorted(counts.items()))


def load_drafter(checkpoint: Path, model: Path, llama_cpp: Path) -> Drafter:
    """A trained drafter beside its target's table."""
    file = read_tensors(model, llama_cpp)
    state = torch.load(checkpoint)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    ffn = len(state["layers.0.ffn_up.weight"])
    rank = state["markov_in.weight"].shape[1] if "markov_in.weight" in state else 0
    drafter = Drafter(file["token_embd.weight"], file["output_norm.weight"], layers, ffn, rank)
    drafter.load_state_dict(state)
    return drafter.eval()


def main() -> None:
    """Print the counts over the held-out packages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("drafter", type=Path)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    drafter = load_drafter(options.drafter, options.model, options.llama_cpp)
    for kind, count in measure(drafter, Corpus(options.work / "drafter", "held"), options.limit).items():
        print(f"{kind}: {count}")


if __name__ == "__main__":
    main()
