"""Keeps the numbers of the newest answer for whoever wants to look at them; cheap enough to run unwatched."""

from collections import deque
from dataclasses import dataclass, field
from statistics import fmean

from laguna_engine.events import Prefill, Source
from laguna_engine.options import Speculation
from laguna_engine.speculate.tally import Summary, Tally
from laguna_tui.events import DraftRound, Rate, StepFinished, TurnStarted
from laguna_tui.shares import shares
from laguna_tui.tui.speed import Speed

# Rounds whose words are kept to look at: a screen or two.
KEPT_ROUNDS = 60


@dataclass(slots=True)
class SpeedBook:
    """Hears the agent's events. `first` numbers the oldest of the kept `rounds`, from 1 in each answer."""

    mode: Speculation | None = None
    drafter: str = ""
    rounds: deque[DraftRound] = field(default_factory=lambda: deque(maxlen=KEPT_ROUNDS))
    _tally: Tally = field(default_factory=Tally)
    _count: int = 0
    _decode: float | None = None
    _prefill: float | None = None

    @property
    def first(self) -> int:
        """The number of the oldest round in `rounds`."""
        return self._count - len(self.rounds) + 1

    @property
    def shares(self) -> dict[Source, float]:
        """The part of the answer's tokens that each proposed; empty when nothing was told of it."""
        return shares(self._tally.summary())

    def speed(self) -> Speed:
        """The numbers as they stand."""
        told = self._tally.summary()
        return Speed(
            mode=self.mode,
            drafter=self.drafter,
            decode=self._decode,
            prefill=self._prefill,
            gain=_gain(told),
            rounds=told.rounds,
            tokens_per_round=told.tokens_per_round,
            acceptance=told.together.acceptance,
            positions=told.together.by_position,
            lengths=told.lengths,
            shares=shares(told),
            reason=told.reason,
        )

    def hear(self, event: object) -> None:
        """Take an event into account."""
        match event:
            case TurnStarted():
                self._begin()
            case Prefill(done, _, cached, seconds) if done > cached and seconds > 0:
                self._prefill = (done - cached) / seconds
            case Rate(_, speed):
                self._decode = speed
            case DraftRound():
                self.rounds.append(event)
                self._count += 1
                self._tally.add(event.round)
            case StepFinished(stats):
                self._decode = stats.decode_rate or self._decode
                self._prefill = stats.prefill_rate or self._prefill
            case _:
                pass

    def _begin(self) -> None:
        self.rounds.clear()
        self._count = 0
        self._tally.clear()
        self._decode = self._prefill = None


def _gain(told: Summary) -> float | None:
    """How many times as fast the rounds were as the latest of them that drafted nothing; None without such.

    Means on both sides: what else the machine does slows a few rounds a lot, of either kind.
    """
    plain = [step.total_s for step in told.steps if not step.drafted]
    return told.rate * fmean(plain) if plain and told.rate else None
