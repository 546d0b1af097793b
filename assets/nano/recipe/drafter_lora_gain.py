"""What an adapter brings: tokens a round without and with it over the same sessions, and how sure that is.

Deals in counts alone; both environments use it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

Rounds = Sequence[tuple[int, int]]
"""Tokens committed and rounds taken, by session."""

ADAPTER = "adapter.gguf"
"""Its name in the folder `drafter/lora-NAME` of the working folder."""
SETS = ("train", "test", "other")
DRAWS = 1000
INSIDE = 0.95


def a_round(rounds: Rounds) -> float:
    """Tokens that a round commits, on average."""
    return sum(tokens for tokens, _ in rounds) / max(1, sum(number for _, number in rounds))


def between(plain: Rounds, adapted: Rounds) -> tuple[float, float]:
    """Where the difference lies with `INSIDE` certainty, had other sessions been drawn (bootstrap over sessions)."""
    rng, both = random.Random(3), list(zip(plain, adapted, strict=True))
    drawn = (rng.choices(both, k=len(both)) for _ in range(DRAWS))
    differences = sorted(a_round([b for _, b in chosen]) - a_round([a for a, _ in chosen]) for chosen in drawn)
    outside = int(DRAWS * (1 - INSIDE) / 2)
    return differences[outside], differences[-1 - outside]


def gain(plain: Rounds, adapted: Rounds) -> str:
    """One line."""
    low, high = between(plain, adapted)
    before, after = a_round(plain), a_round(adapted)
    return (
        f"{before:.2f} -> {after:.2f} tokens a round ({after - before:+.2f}; {INSIDE:.0%}: {low:+.2f} to {high:+.2f}; "
        f"{len(plain)} sessions, {sum(tokens for tokens, _ in plain)} tokens)"
    )
