"""Run in a process of its own, because strict arithmetic has to be chosen before the first computation.

Prints a line for every combination whose drafted answer is not byte for byte the plain one, then how many were tried.
"""

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from laguna_engine.config import GREEDY, PLAIN, KvType, Sampling, Speculation
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import SuffixDrafter
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.events import Finished, Token
from tests.engine.scripted_drafters import Oracle, use

COUNT = 40
SAMPLED = Sampling(temperature=0.8, top_k=20, seed=5)
FULL_ROWS = Sampling(temperature=0.8, top_p=0.95, repeat_penalty=1.1, seed=6)


def answer(
    engine: Engine, prompt: list[int], drafting: Drafting, sampling: Sampling, **constraints: object
) -> tuple[list[int], int]:
    """The tokens, and how many of them were accepted from drafts."""
    tokens, accepted = [], 0
    engine.clear()
    for event in engine.generate(
        Request(prompt, sampling=sampling, max_tokens=COUNT, drafting=drafting, **constraints)  # type: ignore[arg-type]
    ):
        if isinstance(event, Token):
            tokens.append(event.id)
        if isinstance(event, Finished):
            accepted = event.stats.accepted
    return tokens, accepted


def cut_anywhere(engine: Engine) -> None:
    """Have drafts cut at random, as by a drafter whose doubts depend on what it drew."""
    chance = random.Random(3)
    assert engine._speculator is not None
    policy = engine._speculator.policy
    policy.cut = lambda choice, draft: chance.randint(0, len(draft.tokens))  # type: ignore[method-assign]


def differences(model: Path, drafter: Path | None, prompt: list[int], kv: KvType) -> Iterator[str]:
    options = EngineOptions(
        model, 1024, n_ubatch=64, kv_type=kv, threads=1, speculation=Speculation.STRICT, drafter=drafter
    )
    with Engine.open(options) as engine:
        plain = {sampling: answer(engine, prompt, PLAIN, sampling)[0] for sampling in (GREEDY, SAMPLED, FULL_ROWS)}
        real = frozenset({DFlash.source}) if drafter else frozenset({SuffixDrafter.source})
        for length, sampling in product(range(1, 17), (GREEDY, SAMPLED)):
            tokens, _ = answer(engine, prompt, Drafting(sources=real, length=length), sampling)
            yield from report(tokens, plain[sampling], model, kv, f"{sorted(s.value for s in real)} {length}")
        if drafter:
            cut_anywhere(engine)
            for seed, kept in product(range(8), (SAMPLED, FULL_ROWS)):
                sampling = replace(kept, seed=seed)
                expected = answer(engine, prompt, PLAIN, sampling)[0]
                tokens, _ = answer(engine, prompt, Drafting(sources=real, length=6, sampled=True), sampling)
                yield from report(tokens, expected, model, kv, f"drawn drafts, seed {seed}")
        for accuracy, sampling in product((0.0, 0.3, 0.9, 1.0), plain):
            for length in (1, 3, 7, 16):
                use(engine, Oracle([*prompt, *plain[sampling]], engine.vocab.size, accuracy))
                tokens, accepted = answer(engine, prompt, Drafting(length=length), sampling)
                yield from report(tokens, plain[sampling], model, kv, f"oracle {accuracy} {length}")
                if accuracy in (0.0, 1.0) and (accuracy == 1.0) != (accepted > len(tokens) // 3):
                    yield f"an oracle of {accuracy} had {accepted} of {len(tokens)} tokens accepted"
        yield from constrained_differences(engine, prompt, model, kv)


def constrained_differences(engine: Engine, prompt: list[int], model: Path, kv: KvType) -> Iterator[str]:
    """With a thinking budget, and with a ban on what the answer would say: drafts that respect it and that do not."""
    thinks = engine.vocab.id_of("<think>")
    assert thinks is not None
    for sampling in (GREEDY, SAMPLED, FULL_ROWS):
        said = answer(engine, prompt, PLAIN, sampling)[0]
        text = [*prompt, *said]
        at = next(at for at in range(len(prompt), len(text)) if text[at] in text[:at])
        begins = at - 1 - text[:at][::-1].index(text[at])
        # The first token of the answer that was there before, and what stands between.
        cases: dict[str, tuple[list[int], dict[str, object]]] = {
            "budget": ([*prompt, thinks], {"thinking_budget": 9}),
            "ban": (prompt, {"no_repeat": (tuple(text[begins:at]),)}),
        }
        for name, (asked, constraints) in cases.items():
            plain = answer(engine, asked, PLAIN, sampling, **constraints)[0]
            free = answer(engine, asked, PLAIN, sampling)[0]
            if plain == free:
                yield f"{name} changed nothing"
            for known, length in product((plain, free), (1, 3, 7, 16)):
                use(engine, Oracle([*asked, *known], engine.vocab.size, 0.95))
                tokens, _ = answer(engine, asked, Drafting(length=length), sampling, **constraints)
                yield from report(tokens, plain, model, kv, f"{name} {length} {sampling}")


def report(tokens: list[int], plain: list[int], model: Path, kv: KvType, what: str) -> Iterator[str]:
    yield "." if tokens == plain else f"{model.name} {kv.value} {what}: {tokens} is not {plain}"


def main() -> None:
    tried = 0
    for specification in sys.argv[1:]:
        model, drafter, kv = specification.split(",")
        prompt = [40 + (11 * index) % 400 for index in range(65)]
        for line in differences(Path(model), Path(drafter) if drafter else None, prompt, KvType(kv)):
            tried += 1
            if line != ".":
                print(line)
    print(tried)


main()
