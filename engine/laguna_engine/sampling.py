"""How the next token is picked: the settings a user knows, checked, and the chain of stages they stand for.

Order as in llama.cpp's own programs: penalties, top-k, top-p, min-p, temperature, then the draw. Filters therefore see
the probabilities before the temperature flattens them. At temperature 0 only the penalties matter.
"""

import math
import secrets
from dataclasses import dataclass, replace

from laguna_engine.errors import RequestError
from laguna_engine.llama.readout import BEST, LOGITS, MAX_CANDIDATES, Readout, Wanted
from laguna_engine.llama.sampler import (
    MAX_SEED,
    Distribution,
    Greedy,
    MinP,
    Penalties,
    Stage,
    Temperature,
    TopK,
    TopP,
)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings; the defaults pick the most likely token every time.

    temperature: 0 is greedy. top_k: keep the k likeliest tokens, 0 keeps all. top_p: keep the likeliest tokens that
    add up to this probability. min_p: keep tokens at least this fraction of the likeliest.
    repeat_penalty: divides the scores of the last repeat_last_n tokens, prompt included; 1 does nothing.
    seed: same seed and same prompt, same answer, whatever is drafted; None draws one. RequestError for anything out of
    range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    seed: int | None = None

    def __post_init__(self) -> None:
        _require(_at_least(self.temperature, 0), "temperature", self.temperature, "0 or more; 0 is greedy")
        _require(self.top_k >= 0, "top_k", self.top_k, "0 or more; 0 keeps every token")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1; 1 keeps every token")
        _require(0 <= self.min_p <= 1, "min_p", self.min_p, "between 0 and 1; 0 keeps every token")
        _require(_at_least(self.repeat_penalty, 1), "repeat_penalty", self.repeat_penalty, "1 or more; 1 is off")
        _require(self.repeat_last_n >= 0, "repeat_last_n", self.repeat_last_n, "0 or more")
        _require(self.seed is None or 0 <= self.seed <= MAX_SEED, "seed", self.seed, f"between 0 and {MAX_SEED}")

    @property
    def remembered(self) -> int:
        """How many of the latest tokens, prompt included, have a say in what comes next."""
        return self.repeat_last_n if self.repeat_penalty != 1 else 0

    @property
    def readout(self) -> Readout:
        """How much of a row of logits the chain looks at: all of it where a penalty may lift a token from below."""
        if self.remembered:
            return LOGITS
        if self.temperature == 0:
            return BEST
        return Readout(Wanted.CANDIDATES, self.top_k) if 0 < self.top_k <= MAX_CANDIDATES else LOGITS

    def seeded(self) -> "Sampling":
        """The same with a seed, drawn now if there is none."""
        if self.temperature == 0 or self.seed is not None:
            return self
        return replace(self, seed=secrets.randbelow(MAX_SEED + 1))

    def stages(self) -> list[Stage]:
        """The chain, without stages that would do nothing. A seed of None is drawn anew by every call."""
        penalties = Penalties(self.remembered, repeat=self.repeat_penalty) if self.remembered else None
        if self.temperature == 0:
            chain: list[Stage | None] = [penalties, Greedy()]
        else:
            chain = [
                penalties,
                TopK(self.top_k) if self.top_k else None,
                TopP(self.top_p) if self.top_p < 1 else None,
                MinP(self.min_p) if self.min_p else None,
                Temperature(self.temperature),
                Distribution(secrets.randbelow(MAX_SEED + 1) if self.seed is None else self.seed),
            ]
        return [stage for stage in chain if stage is not None]


def _at_least(value: float, least: float) -> bool:
    return math.isfinite(value) and value >= least


def _require(condition: bool, name: str, value: object, expected: str) -> None:
    if not condition:
        raise RequestError(f"{name} is {value}; it must be {expected}")


GREEDY = Sampling()
"""The most likely token, every time."""
