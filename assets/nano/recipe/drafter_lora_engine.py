"""The adapter in the engine, switched on and off within one: does it do there what it did in PyTorch?

    python drafter_lora_engine.py WORK ../laguna-nano.gguf ../laguna-nano-dflash.gguf --repository httpx

Runs in the app's environment, after `drafter_lora.py`. Says every session that was not trained on again, once without
the adapter and once with it, session by session. The words must be the same; only the rounds may differ.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drafter_lora_gain import ADAPTER, Rounds, a_round, gain
from speaker import CONTEXT, PROPOSED

from laguna_engine.config import Speculation
from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.events import Round, Token


@dataclass(slots=True)
class Said:
    """A session said again: tokens that rounds committed, rounds, and replies that are not word for word the same."""

    tokens: int = 0
    rounds: int = 0
    other: int = 0


def again(engine: Engine, ids: list[int], spans: Sequence[tuple[int, int]], adapter: str | None) -> Said:
    """Let the target write each span once more, greedily, after what stood before it."""
    drafting, found = Drafting(sources=frozenset({DFlash.source}), length=PROPOSED, adapter=adapter), Said()
    for start, stop in spans:
        request = Request(tuple(ids[:start]), max_tokens=stop - start, drafting=drafting)
        events = list(engine.generate(request))
        said = [event.id for event in events if isinstance(event, Token)]
        found.tokens += max(0, len(said) - 1)
        found.rounds += sum(isinstance(event, Round) for event in events)
        found.other += said != ids[start:stop]
    return found


def measured(engine: Engine, folder: Path, name: str, adapter: str) -> tuple[Rounds, Rounds, int]:
    """Counts by session, without and with the adapter, and the replies that differed."""
    header = json.loads((folder / "header.json").read_text())["header"]
    plain: list[tuple[int, int]] = []
    adapted: list[tuple[int, int]] = []
    other = 0
    for line in (folder / f"{name}.jsonl").read_text().splitlines():
        session = json.loads(line)
        spans = [(start + len(header), stop + len(header)) for start, stop in session["spans"]]
        for counts, which in ((plain, None), (adapted, adapter)):
            said = again(engine, header + session["ids"], spans, which)
            counts.append((said.tokens, said.rounds))
            other += said.other
    return plain, adapted, other


def main() -> None:
    """Read the command line and print both, PyTorch's and the engine's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("drafter", type=Path)
    parser.add_argument("--repository", default="httpx")
    options = parser.parse_args()
    folder, name = options.work / "drafter" / f"lora-{options.repository}", options.repository
    torch = json.loads((folder / "rounds.json").read_text())
    engine_options = EngineOptions(
        options.model, n_ctx=CONTEXT, threads=1, swa_full=True, drafter=options.drafter,
        adapters=((name, folder / ADAPTER),), speculation=Speculation.FAST,
    )  # fmt: skip
    with Engine.open(engine_options) as engine:
        for kind, what in (("test", f"other sessions about {name}"), ("other", "sessions about other packages")):
            plain, adapted, other = measured(engine, folder, kind, name)
            print(f"{what}: {gain(plain, adapted)}; {other} replies in other words")
            before, after = (a_round(torch[which][kind]) for which in ("plain", "adapted"))
            print(f"    in PyTorch {before:.2f} -> {after:.2f}", flush=True)


if __name__ == "__main__":
    main()
