"""A machine that decodes by the book: costs and acceptance are functions, time is a number.

It plays what `DraftPolicy` sees of the real one, so that whole sessions take milliseconds and their best outcome is
known.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from laguna_engine.draft.base import Kind, Offer
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter, kind
from laguna_engine.events import Source
from laguna_engine.speculate.cost_model import constant_acceptance_tokens
from laguna_engine.speculate.draft_policy import DraftChoice, DraftPolicy

MATCHES = (2, 3, 5, 8)
COPIES = {
    found.name: found
    for source in (SuffixDrafter.source, FileDrafter.source)
    for found in (kind(source, match) for match in MATCHES)
}
"""The kinds of the drafters that copy, with their priors and labels."""

PLAIN_S = 0.02
"""Seconds of a plain round."""

REBUILD_S = 0.002
"""Seconds that a round takes longer when its length is not that of the one before."""

NOISE = 0.03
"""How much a round's time varies, as a share."""

MEMORY_BOUND = [1 + 0.02 * length for length in range(33)]
"""Verification by draft length, in plain rounds: the weights are read once, whoever is served."""

STAIRCASE = [1.0] + [1.15] * 3 + [1.3] * 4 + [2.6] * 8 + [3.4] * 17
"""Kernels that are made for 4, 8 and 16 rows: costs jump from 4 to 5 rows and double from 8 to 9."""


def kind_of(name: str) -> Kind:
    return COPIES.get(name) or Kind(name)


@dataclass
class Simulated:
    """A drafter: its record's name, the cost of a draft in plain rounds, acceptance by round."""

    kind: str = "dflash"
    cost: float = 0.1
    acceptance: Callable[[int], float] = lambda _: 0.8
    longest: int = 16
    source: Source = DFlash.source
    offered: Callable[[int], bool] = lambda _: True

    def offer(self) -> Offer:
        return Offer(self.source, kind_of(self.kind), self.longest)


@dataclass
class Session:
    """What happened: choices in order, tokens and seconds."""

    choices: list[DraftChoice] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens in the time of a plain round."""
        return self.tokens / self.seconds * PLAIN_S

    def lengths(self, last: int) -> list[int]:
        return [choice.length for choice in self.choices[-last:]]

    def kinds(self, last: int) -> list[str]:
        return [choice.offer.kind.name if choice.offer else "" for choice in self.choices[-last:]]


def play(
    policy: DraftPolicy,
    drafters: list[Simulated],
    rounds: int,
    verify: list[float] = MEMORY_BOUND,
    context: int = 100,
    fixed: int | None = None,
    seed: int = 1,
    speed: float = 1.0,
) -> Session:
    """Decode for so many rounds; `speed` divides every time."""
    chance, session, previous = random.Random(seed), Session(), 0
    for index in range(rounds):
        by_kind = {drafter.kind: drafter for drafter in drafters if drafter.offered(index)}
        choice = policy.choose([drafter.offer() for drafter in by_kind.values()], context, fixed)
        drafter = by_kind[choice.offer.kind.name] if choice.offer else Simulated(cost=0.0)
        accepted = 0
        while accepted < choice.length and chance.random() < drafter.acceptance(index):
            accepted += 1
        unit = PLAIN_S / speed
        draft_s = drafter.cost * unit if choice.length else 0.0
        rebuild_s = REBUILD_S / speed if choice.length != previous else 0.0
        verify_s = verify[choice.length] * unit * chance.uniform(1 - NOISE, 1 + NOISE) + rebuild_s
        policy.record(choice, context, choice.length, accepted, draft_s, verify_s)
        previous = choice.length
        session.choices.append(choice)
        session.tokens += accepted + 1
        session.seconds += draft_s + verify_s
    return session


def best_fixed(acceptance: float, cost: float, verify: list[float], longest: int = 16) -> float:
    """Tokens in the time of a plain round with the best length there is, 0 included, known beforehand."""
    rates = [constant_acceptance_tokens(acceptance, k) / (verify[k] + cost) for k in range(1, longest + 1)]
    return max(1.0, *rates)
