"""The numbers of the newest answer, cheap enough to be tracked while hidden."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

from laguna_engine.config import Speculation
from laguna_engine.events import Prefill, Source
from laguna_engine.speculate.metrics import SpeculationMetrics, Summary
from laguna_tui.base.events import DraftRound, Rate, ReasoningDelta, StepFinished, TextDelta, TurnStarted

MODE_NAMES = {Speculation.FAST: "fast", Speculation.STRICT: "strict", Speculation.OFF: "spec off"}


@dataclass(frozen=True, slots=True)
class Speed:
    """The numbers of one answer. Rates in tokens per second, None where nothing was measured.

    Attributes:
        mode: speculation mode of the answer.
        drafter: name of the drafter.
        decode: decoding rate.
        prefill: prefill rate.
        gain: speed-up over plain decoding, by the rounds without a draft.
        rounds: number of rounds.
        tokens_per_round: committed tokens per round.
        acceptance: share of the drafted tokens that were accepted.
        positions: for each position in a draft, the share of drafts at least that long that were accepted up to there.
        lengths: tokens drafted in each round, newest last.
        shares: share of the answer's tokens by source.
        reason: why this drafter and length, or why none.
    """

    mode: Speculation | None = None
    drafter: str = ""
    decode: float | None = None
    prefill: float | None = None
    gain: float | None = None
    rounds: int = 0
    tokens_per_round: float | None = None
    acceptance: float | None = None
    positions: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    shares: Mapping[Source, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def plain(self) -> float | None:
        """What the rate would be without speculation."""
        return self.decode / self.gain if self.decode and self.gain else None


# Rounds kept for display: a screen or two.
KEPT_ROUNDS = 60


@dataclass(slots=True)
class SpeedTracker:
    """Tracks the agent's events. `first` numbers the oldest of the kept `rounds`, from 1 in each answer.

    not_shown: why there are no rounds to show, of a remote model; empty otherwise.
    """

    mode: Speculation | None = None
    drafter: str = ""
    not_shown: str = ""
    rounds: deque[DraftRound] = field(default_factory=lambda: deque(maxlen=KEPT_ROUNDS))
    _seen: dict[Source, None] = field(default_factory=dict)
    _tally: SpeculationMetrics = field(default_factory=SpeculationMetrics)
    _count: int = 0
    _decode: float | None = None
    _prefill: float | None = None

    @property
    def first(self) -> int:
        """Number of the oldest round in `rounds`."""
        return self._count - len(self.rounds) + 1

    @property
    def shares(self) -> dict[Source, float]:
        """The part of the answer's tokens that each proposed; empty if nothing was reported."""
        return self._tally.summary().shares

    @property
    def legend(self) -> tuple[tuple[Source, float], ...]:
        """The same shares, and none for others whose words are shown: of earlier answers, or of a constraint."""
        return tuple((dict.fromkeys((*self._seen, Source.TARGET), 0.0) | self.shares).items())

    def speed(self) -> Speed:
        """Return the current numbers."""
        summary = self._tally.summary()
        return Speed(
            mode=self.mode,
            drafter=self.drafter,
            decode=self._decode,
            prefill=self._prefill,
            gain=_gain(summary),
            rounds=summary.rounds,
            tokens_per_round=summary.tokens_per_round,
            acceptance=summary.together.acceptance,
            positions=summary.together.by_position,
            lengths=summary.lengths,
            shares=summary.shares,
            reason=self.not_shown or summary.reason,
        )

    def update(self, event: object) -> None:
        """Update the numbers with an event."""
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
                if event.round.drafter is not None:
                    self._seen[event.round.drafter] = None
                self._tally.add(event.round)
            case TextDelta(source=source) | ReasoningDelta(source=source) if source != Source.TARGET:
                # What a constraint leaves the target is tinted too, also where nothing is drafted.
                self._seen[source] = None
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


def _gain(summary: Summary) -> float | None:
    """Return how many times as fast the rounds were as the latest of them that drafted nothing; None without such.

    Means on both sides: what else the machine does slows a few rounds a lot, of either kind.
    """
    plain = [step.total_s for step in summary.steps if not step.drafted]
    return summary.rate * fmean(plain) if plain and summary.rate else None
