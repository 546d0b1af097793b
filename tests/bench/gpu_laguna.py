"""Checks for machines with a GPU: do taps and graphs agree with the CPU, and what does drafting gain?

Run by hand on a machine with a card of 24 GB or more and 25 GB of disk, with a llama-cpp-python built for it:

    python -m tests.bench.gpu_laguna check                # minutes: every kind of drafter on every device
    python -m tests.bench.gpu_laguna speed FOLDER         # writes the models into FOLDER, then measures

`speed` uses Laguna XS's exact shape with random weights. Drafts are made by a real drafter, at its real cost, and then
replaced by what the target will say, rightly as often as `--acceptance` says: acceptance is replayed, time is real.
`--small` does the same with a model that a laptop can hold, to try the script out.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from laguna_engine.config import PLAIN, KvType
from laguna_engine.draft.base import Draft
from laguna_engine.draft.dflash import DFlash, DFlashDrafter
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.events import Finished, Round, Token
from laguna_engine.ggml.device import Device
from laguna_engine.ggml.tensor import Type
from laguna_engine.speculate.cost_model import constant_acceptance_tokens, speedup

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))

from tests.bench import shape_exact
from tests.engine import drafters, drafting, tiny
from tests.engine.scripted_drafters import Oracle, use, use_again

SMALL = tiny.Shape(n_layer=8, n_embd=512, head=64, full_heads=4, sliding_heads=8, kv_heads=2, n_ff=2048,
                   experts=16, experts_used=2, expert_ff=256, window=256, n_ctx=8192, n_vocab=4096)  # fmt: skip
SMALL_DRAFTER = replace(shape_exact.XS_DRAFTER, n_embd=512, n_layer=2, heads=8, kv_heads=2, head=64, n_ff=1024,
                        n_vocab=4096, taps=(0, 3, 6), window=256)  # fmt: skip
NEW_TOKENS = 160
POSITIONS, STEP, LAST = 240, 60, 77
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 9, 11, 15)


class Replayed(Oracle):
    """Drafts with a real drafter and throws its tokens away for the scripted ones."""

    source = DFlash.source

    def __init__(self, drafter: DFlashDrafter, text: Sequence[int], n_vocab: int, accuracy: float) -> None:
        super().__init__(text, n_vocab, accuracy, longest=drafter.model.drafter.longest)
        self._drafter = drafter
        for hook in ("begin", "pause", "prefill_part", "observe", "rewind", "remember", "offer"):
            setattr(self, hook, getattr(drafter, hook))

    def extend(self, tokens: Sequence[int]) -> None:
        super().extend(tokens)
        self._drafter.extend(tokens)

    def truncate(self, length: int) -> None:
        super().truncate(length)
        self._drafter.truncate(length)

    def draft(self, length: int) -> Draft:
        self._drafter.draft(length)
        return super().draft(length)


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
    """The squared error of the logits over their size, and how many drafted tokens are the reference's."""
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


def speed(folder: Path, acceptance: Sequence[float], prompts: Sequence[int], *, small: bool) -> None:
    """Tables of verify and draft cost by length, and of the gain by acceptance, for each prompt length."""
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
        print(*engine.info.warnings, sep="\n")
        for length in prompts:
            prompt = [40 + (7919 * index) % (engine.vocab.size - 100) for index in range(length)]
            _costs(engine, prompt)
            _gains(engine, prompt, acceptance)


def _run(engine: Engine, prompt: list[int], drafting: Drafting) -> tuple[list[int], list[Round], float]:
    tokens, rounds, rate = [], [], 0.0
    for event in engine.generate(Request(prompt, max_tokens=NEW_TOKENS, drafting=drafting)):
        match event:
            case Token():
                tokens.append(event.id)
            case Round():
                rounds.append(event)
            case Finished(stats=stats):
                rate = stats.decode_rate or 0.0
    return tokens, rounds, rate


def _costs(engine: Engine, prompt: list[int]) -> None:
    """Milliseconds of a round by draft length, the first rounds left out: they build graphs."""
    print(f"\n{len(prompt):,} tokens of prompt\n\n| drafted | draft ms | verify ms | other us |\n|---|---|---|---|")
    for length in LENGTHS:
        drafting = Drafting(sources=frozenset({DFlash.source}), length=length)
        _, rounds, _ = _run(engine, prompt, drafting)
        settled = [each for each in rounds[4:] if each.drafted == length]
        draft, verify = (1e3 * median(getattr(each, name) for each in settled) for name in ("draft_s", "verify_s"))
        other = 1e6 * median(each.total_s - each.draft_s - each.verify_s - each.sample_s for each in settled)
        print(f"| {length} | {draft:.2f} | {verify:.2f} | {other:.0f} |")


def _gains(engine: Engine, prompt: list[int], acceptance: Sequence[float]) -> None:
    plain, _, rate = _run(engine, prompt, PLAIN)
    speculator = engine._speculator
    assert speculator is not None
    drafter = speculator._drafters[DFlash.source]
    assert isinstance(drafter, DFlashDrafter)
    print(
        f"\nplain: {rate:.1f} tok/s\n\n| acceptance | tok/s | gain | predicted | mean length |\n|---|---|---|---|---|"
    )
    for accuracy in acceptance:
        replayed = Replayed(drafter, [*prompt, *plain], engine.vocab.size, accuracy)
        use(engine, replayed)
        for _ in range(2):
            _, rounds, drafted_rate = _run(engine, prompt, Drafting())
        length = round(np.mean([each.drafted for each in rounds]))
        alike = [each for each in rounds if each.drafted == length] or rounds
        round_s = median(each.total_s for each in alike)
        predicted = speedup(constant_acceptance_tokens(accuracy, length), round_s, 1 / rate)
        print(f"| {accuracy} | {drafted_rate:.1f} | {drafted_rate / rate:.2f} | {predicted:.2f} | {length} |")
    use_again(engine, speculator)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(required=True)
    commands.add_parser("check").set_defaults(run=lambda _: check())
    measure = commands.add_parser("speed")
    measure.add_argument("folder", type=Path)
    measure.add_argument("--acceptance", type=float, nargs="+", default=[0.0, 0.5, 0.6, 0.7, 0.8, 0.9])
    measure.add_argument("--prompts", type=int, nargs="+", default=[512, 8192, 32768])
    measure.add_argument("--small", action="store_true")
    measure.set_defaults(run=lambda a: speed(a.folder, a.acceptance, a.prompts, small=a.small))
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
