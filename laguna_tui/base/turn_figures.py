"""The figures of a turn: what the model read and wrote in all its generations, and how fast."""

from dataclasses import dataclass, field
from functools import partial

from laguna_tui.base import units
from laguna_tui.base.events import StepFinished


@dataclass(slots=True)
class TurnFigures:
    """The figures of one turn; what tools and the user's approvals take is not in them."""

    steps: list[StepFinished] = field(default_factory=list)

    @property
    def read(self) -> int:
        """Tokens that were prefilled; of a remote model that does not report its cache, all that were sent."""
        return sum(step.stats.prompt_tokens - step.stats.cached_tokens for step in self.steps)

    @property
    def cached(self) -> int | None:
        """Tokens in the KV cache when the turn began; None if unknown."""
        if not all(step.cache_known for step in self.steps):
            return None
        return self.steps[0].stats.cached_tokens if self.steps else 0

    @property
    def written(self) -> int:
        """Tokens that the model wrote, thinking and calls included."""
        return sum(step.stats.generated_tokens for step in self.steps)

    @property
    def seconds(self) -> float:
        """Time that the model took."""
        return sum(step.waited_s + step.stats.prefill_s + step.stats.decode_s for step in self.steps)

    @property
    def prefill_rate(self) -> float | None:
        """Tokens read per second; None if nothing was measured."""
        took = sum(step.stats.prefill_s for step in self.steps)
        return self.read / took if self.read and took else None

    @property
    def decode_rate(self) -> float | None:
        """Tokens written per second, without the first of each generation; None if nothing was measured."""
        later = sum(max(step.stats.generated_tokens - 1, 0) for step in self.steps)
        took = sum(step.stats.decode_s for step in self.steps)
        return later / took if later and took else None

    @property
    def acceptance(self) -> float | None:
        """Share of the drafted tokens that were accepted; None if nothing was drafted."""
        drafted = sum(step.stats.drafted for step in self.steps)
        return sum(step.stats.accepted for step in self.steps) / drafted if drafted else None

    def lines(self) -> tuple[str, ...]:
        """Return the figures as a line for the user, the most detailed variant first; empty without a generation."""
        if not self.steps:
            return ()
        about = "about " if any(step.estimated for step in self.steps) else ""
        read, written = f"{about}{units.count(self.read)}", units.count(self.written)
        tokens = partial(units.plural, one="token")
        verb = "sent" if self.cached is None else "read"
        cached = "" if self.cached is None else f", {units.count(self.cached)} cached"
        took = [units.duration(self.seconds)]
        rate = [] if self.decode_rate is None else [units.rate(self.decode_rate)]
        share = [] if self.acceptance is None else [f"{round(100 * self.acceptance)} % accepted"]
        variants = (
            [
                f"{read} {tokens(self.read)} {verb}{cached}",
                *took,
                f"{written} {tokens(self.written)} written",
                *rate,
                *share,
            ],
            [f"{read} {verb}{cached}", *took, f"{written} written", *rate, *share],
            [f"{read} {verb}", *took, f"{written} written", *rate],
            [f"{read} {verb}", f"{written} written", *rate],
            [f"{written} written", *rate],
        )
        return tuple(" · ".join(parts) for parts in variants)
