"""Checks for machines with a GPU: do taps and graphs agree with the CPU, and what does drafting gain?

Run by hand on a machine with a card of 24 GB or more and 25 GB of disk, with a llama-cpp-python built for it:

    python -m tests.bench.gpu_laguna check                # minutes: every kind of drafter on every device
    python -m tests.bench.gpu_laguna speed FOLDER         # writes the models into FOLDER, then measures

`speed` uses Laguna XS's exact shape with random weights. A real drafter drafts at its real cost, and its tokens are
accepted as often as `--acceptance` says: acceptance is forced, time is real. `--small` does the same with a model that
a laptop can hold, to try the script out.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median

import numpy as np

from laguna_engine.config import PLAIN, KvType
from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.events import Finished, Round, Stats
from laguna_engine.ggml.device import Device
from laguna_engine.ggml.tensor import Type
from laguna_engine.speculate import speculator
from laguna_engine.speculate.draft_policy import DraftPolicy
from tests.bench import shape_exact
from tests.engine import drafters, drafting, tiny

SMALL = tiny.Shape(n_layer=8, n_embd=512, head=64, full_heads=4, sliding_heads=8, kv_heads=2, n_ff=2048,
                   experts=16, experts_used=2, expert_ff=256, window=256, n_ctx=8192, n_vocab=4096)  # fmt: skip
SMALL_DRAFTER = replace(shape_exact.XS_DRAFTER, n_embd=512, n_layer=2, heads=8, kv_heads=2, head=64, n_ff=1024,
                        n_vocab=4096, taps=(0, 3, 6), window=256)  # fmt: skip
COST_TOKENS = 160
POSITIONS, STEP, LAST = 240, 60, 77
FIXED = (3, 5, 7)
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 9, 11, 15)


def check() -> None:
    """Every kind of drafter on every device against float64, and the devices' names."""
    kinds = {
        "plain": drafters.Variant(),
        "sliding, gated, normed taps (XS-2.1)": drafters.LAGUNA,
        "reduced vocabulary": drafters.Variant(reduced=300),
        "Markov and confidence heads": drafters.Variant(rank=8, confidence="both"),
    }
    print("| device | drafter | squared error | tokens equal |\n|---|---|---|---|")
    for device in Device.all():
        for name, kind in kinds.items():
            print(f"| {device.name} | {name} | {_agreement(device, kind)} |")


def _agreement(device: Device, kind: drafters.Variant) -> str:
    """Return the squared error of the logits over their size, and how many drafted tokens are the reference's."""
    weights = drafters.weights_of(drafters.make(kind), tiny.laguna())
    errors, same, drafted = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        target = tiny.laguna().write(Path(folder) / "target.gguf")
        path = Path(folder) / "drafter.gguf"
        with drafting.drafter(kind, path, POSITIONS, target=target, kv=Type.F16, device=device) as fed:
            for length in range(STEP, POSITIONS + 1, STEP):
                fed.feed(length - STEP, length)
                known = fed.features[:length].astype(float)
                rows = min(1 << (kind.longest + kind.first_row - 1).bit_length(), kind.block)
                right = drafters.reference(kind, weights, known, LAST, rows)
                errors.append(drafting.nmse(fed.logits(LAST, length, kind.longest), right.logits))
                found = fed.tokens(LAST, length, kind.longest)
                same += sum(a == b for a, b in zip(found, right.tokens, strict=True))
                drafted += len(found)
    return f"{max(errors):.1e} | {same} of {drafted}"


@contextmanager
def forced_acceptance(rate: float, seed: int = 1) -> Iterator[None]:
    """Accept each drafted token with this probability, whatever the target picks, as llama.cpp's `--spec-synth-rates`.

    Everything is computed as always. Replaying an answer would not do: with random weights the two likeliest tokens
    are often so close that batches of another width pick the other one.
    """
    random = Random(seed)

    def accept(draft: Sequence[int], pick: Callable[[int], int]) -> list[int]:
        committed: list[int] = []
        for row, proposed in enumerate(draft):
            picked = pick(row)
            if random.random() >= rate:
                return [*committed, picked]
            committed.append(proposed)
        return [*committed, pick(len(draft))]

    real, speculator.accept = speculator.accept, accept
    try:
        yield
    finally:
        speculator.accept = real


def speed(folder: Path, acceptance: Sequence[float], prompts: Sequence[int], new_tokens: int, *, small: bool) -> None:
    """Tables of draft and verify cost by length, and of the gain by acceptance, for each prompt length."""
    folder.mkdir(parents=True, exist_ok=True)
    target, drafter = folder / "laguna-xs-shape.gguf", folder / "laguna-xs-shape-dflash.gguf"
    if not target.exists():
        shape_exact.write_target(target, SMALL if small else shape_exact.XS)
    if not drafter.exists():
        shape_exact.write_drafter(drafter, SMALL_DRAFTER if small else shape_exact.XS_DRAFTER)
    options = EngineOptions(
        target,
        n_ctx=max(prompts) + 1024,
        kv_type=KvType.Q8_0,
        gpu_layers=-1,
        drafter=drafter,
        threads=1 if small else 0,
    )
    with Engine.open(options) as engine:
        print(f"{engine.info.description} on {engine.info.devices[0]}, {engine.info.drafter}")
        print(*engine.info.warnings, sep="\n", flush=True)
        for length in prompts:
            prompt = [40 + (7919 * index) % (engine.vocab.size - 100) for index in range(length)]
            print(f"\n{length:,} tokens of prompt: {_reading(engine, prompt, folder / f'snapshot-{length}')}\n")
            _costs(engine, prompt)
            _gains(engine, prompt, acceptance, new_tokens)


def _run(engine: Engine, prompt: list[int], drafting: Drafting, new_tokens: int) -> tuple[list[Round], Stats]:
    rounds = []
    for event in engine.generate(Request(prompt, max_tokens=new_tokens, drafting=drafting)):
        match event:
            case Round():
                rounds.append(event)
            case Finished(stats=stats):
                return rounds, stats
    raise AssertionError("an answer always ends with `Finished`")


def _reading(engine: Engine, prompt: list[int], folder: Path) -> str:
    """Return how fast a prompt is read, and a snapshot of it written and restored."""
    _, stats = _run(engine, prompt, PLAIN, 1)
    saved = engine.snapshot(folder, last=True)
    engine.clear()
    restored = engine.restore(folder, prompt)
    return (
        f"read in {stats.prefill_s:.2f} s ({stats.prefill_rate or 0:,.0f} tok/s), snapshot of "
        f"{saved.nbytes / 1e6:,.0f} MB written in {saved.seconds:.2f} s, {restored.tokens:,} tokens restored in "
        f"{restored.seconds:.2f} s"
    )


def _costs(engine: Engine, prompt: list[int]) -> None:
    """Milliseconds of a round by draft length, the first rounds left out: they build graphs."""
    print("| drafted | draft ms | verify ms | other us |\n|---|---|---|---|")
    for length in LENGTHS:
        drafting = Drafting(sources=frozenset({DFlash.source}), length=length)
        with forced_acceptance(0.5):
            rounds, _ = _run(engine, prompt, drafting, COST_TOKENS)
        settled = [each for each in rounds[4:] if each.drafted == length]
        if not settled:
            print(f"| {length} | no round drafted so many | | |")
            continue
        draft, verify = (1e3 * median(getattr(each, name) for each in settled) for name in ("draft_s", "verify_s"))
        other = 1e6 * median(each.total_s - each.draft_s - each.verify_s - each.sample_s for each in settled)
        print(f"| {length} | {draft:.2f} | {verify:.2f} | {other:.0f} |", flush=True)


def _gains(engine: Engine, prompt: list[int], acceptance: Sequence[float], new_tokens: int) -> None:
    """Times as fast as plain decoding: with fixed lengths, and in the first and second answer of a new policy."""
    plain = _run(engine, prompt, PLAIN, new_tokens)[1].decode_rate or 0.0
    drafts = speculator_of(engine)
    names = [*map(str, FIXED), "chosen, first answer", "second answer", "mean chosen"]
    print(f"\nplain: {plain:.1f} tok/s, {new_tokens} tokens\n\n| acceptance | {' | '.join(names)} |")
    print("|---" * (1 + len(names)) + "|")
    for rate in acceptance:
        drafts.policy = DraftPolicy()
        gains, rounds = [], []
        with forced_acceptance(rate):
            for length in (*FIXED, None, None):
                drafting = Drafting(sources=frozenset({DFlash.source}), length=length)
                rounds, stats = _run(engine, prompt, drafting, new_tokens)
                gains.append((stats.decode_rate or 0.0) / plain)
        chosen = np.mean([each.drafted for each in rounds])
        print(f"| {rate} | {' | '.join(f'{gain:.2f}' for gain in gains)} | {chosen:.1f} |", flush=True)


def speculator_of(engine: Engine) -> speculator.Speculator:
    """Return what drafts in `engine`, which was opened with a drafter."""
    found = engine._speculator
    assert isinstance(found, speculator.Speculator)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(required=True)
    commands.add_parser("check").set_defaults(run=lambda _: check())
    measure = commands.add_parser("speed")
    measure.add_argument("folder", type=Path)
    measure.add_argument("--acceptance", type=float, nargs="+", default=[0.0, 0.5, 0.6, 0.7, 0.8, 0.9])
    measure.add_argument("--prompts", type=int, nargs="+", default=[512, 8192, 32768])
    measure.add_argument("--tokens", type=int, default=700, help="tokens of an answer (700)")
    measure.add_argument("--small", action="store_true")
    measure.set_defaults(run=lambda a: speed(a.folder, a.acceptance, a.prompts, a.tokens, small=a.small))
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
