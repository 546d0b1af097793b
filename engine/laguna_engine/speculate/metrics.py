"""What speculation brought: an engine's events added up for a view or a benchmark, in bounded memory.

Feed it every event of one or many generations; ask `summary()` whenever there is something to draw. Needs no model
and no numpy. Not thread-safe: it belongs to the reader of the events.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from laguna_engine.events import Event, Round, Source, Token

HISTORY = 512
"""Rounds that are recorded one by one: more than any sparkline is wide."""

POSITIONS = 64
"""Positions of a draft that are counted separately; longer drafts count in the sums only."""


@dataclass(frozen=True, slots=True)
class Step:
    """One round in short. drafter: None without a draft. committed: tokens, the target's own included."""

    drafter: Source | None
    drafted: int
    accepted: int
    total_s: float

    @property
    def committed(self) -> int:
        """Tokens that the round added to the answer."""
        return self.accepted + 1


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the rounds' time went; `other` is the engine's own."""

    draft: float = 0.0
    verify: float = 0.0
    sample: float = 0.0
    other: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.draft + self.verify + self.sample + self.other


@dataclass(frozen=True, slots=True)
class DrafterRecord:
    """What one drafter did, or all of them together.

    Attributes:
        rounds: in which it drafted.
        drafted, accepted: tokens.
        draft_s: seconds spent drafting.
        proposed: by position, the rounds in which a token was drafted there.
        reached: of those, the rounds in which all tokens before it were accepted.
        accepted_at: of those, the rounds in which it was accepted too.
    """

    rounds: int
    drafted: int
    accepted: int
    draft_s: float
    proposed: tuple[int, ...]
    reached: tuple[int, ...]
    accepted_at: tuple[int, ...]

    @property
    def acceptance(self) -> float | None:
        """Share of the drafted tokens that were accepted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def by_position(self) -> tuple[float, ...]:
        """For each position the share of drafts whose token there was accepted; it can only fall."""
        return tuple(
            accepted_at / proposed for accepted_at, proposed in zip(self.accepted_at, self.proposed, strict=True)
        )

    @property
    def conditional(self) -> tuple[float | None, ...]:
        """The same, only where the tokens before were accepted; None where that never happened."""
        pairs = zip(self.accepted_at, self.reached, strict=True)
        return tuple(accepted_at / reached if reached else None for accepted_at, reached in pairs)


@dataclass(frozen=True, slots=True)
class Summary:
    """The metrics at one moment.

    Attributes:
        rounds: all of them, drafted or not.
        tokens: reported so far, from any source.
        together: all drafters' record.
        drafters: each one's.
        sources: tokens by the source that proposed them.
        seconds: of the rounds.
        steps: the latest rounds, oldest first.
        reason, rejected: the latest round's.
    """

    rounds: int
    tokens: int
    together: DrafterRecord
    drafters: Mapping[Source, DrafterRecord]
    sources: Mapping[Source, int]
    seconds: Seconds
    steps: tuple[Step, ...]
    reason: str
    rejected: str

    @property
    def shares(self) -> dict[Source, float]:
        """The share of the tokens that each source proposed, by these rounds; empty before the first."""
        counts = {source: record.accepted for source, record in self.drafters.items()}
        # Every round commits one token of the target's own.
        counts[Source.TARGET] = self.rounds
        return {source: count / sum(counts.values()) for source, count in counts.items()} if self.rounds else {}

    @property
    def tokens_per_round(self) -> float | None:
        """Mean tokens committed by a round; 1 is plain decoding. None before the first."""
        return (self.together.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def lengths(self) -> tuple[int, ...]:
        """Draft lengths of the latest rounds, oldest first, for a sparkline."""
        return tuple(step.drafted for step in self.steps)

    @property
    def rate(self) -> float | None:
        """Committed tokens per second over all rounds."""
        return (self.together.accepted + self.rounds) / self.seconds.total if self.seconds.total > 0 else None


class SpeculationMetrics:
    """Adds events up."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Start again."""
        self._rounds = 0
        self._records: dict[Source, _Sums] = {}
        self._sources: Counter[Source] = Counter()
        self._phases = [0.0, 0.0, 0.0, 0.0]
        self._steps: deque[Step] = deque(maxlen=HISTORY)
        self._reason = self._rejected = ""

    def add(self, event: Event) -> None:
        """Add one event; those that say nothing of speculation are ignored."""
        if isinstance(event, Token):
            self._sources[event.source] += 1
        elif isinstance(event, Round):
            self._add_round(event)

    def extend(self, events: Iterable[Event]) -> None:
        """Add many events."""
        for event in events:
            self.add(event)

    def summary(self) -> Summary:
        """Return everything until now; later events do not change it."""
        together = _Sums()
        for sums in self._records.values():
            together.merge(sums)
        return Summary(
            rounds=self._rounds,
            tokens=self._sources.total(),
            together=together.record(),
            drafters=MappingProxyType({source: sums.record() for source, sums in self._records.items()}),
            sources=MappingProxyType(dict(self._sources)),
            seconds=Seconds(*self._phases),
            steps=tuple(self._steps),
            reason=self._reason,
            rejected=self._rejected,
        )

    def _add_round(self, event: Round) -> None:
        self._rounds += 1
        self._reason, self._rejected = event.reason, event.rejected
        self._steps.append(Step(event.drafter, event.drafted, event.accepted, event.total_s))
        other = max(0.0, event.total_s - event.draft_s - event.verify_s - event.sample_s)
        phases = (event.draft_s, event.verify_s, event.sample_s, other)
        self._phases = [before + now for before, now in zip(self._phases, phases, strict=True)]
        if event.drafter is not None:
            self._records.setdefault(event.drafter, _Sums()).add(event)


class _Sums:
    """A `Record` in the making; a draft is counted by its length and by how much of it was accepted."""

    def __init__(self) -> None:
        self._rounds = self._drafted = self._accepted = 0
        self._draft_s = 0.0
        self._drafts: Counter[tuple[int, int]] = Counter()

    def add(self, event: Round) -> None:
        self._rounds += 1
        self._drafted += event.drafted
        self._accepted += event.accepted
        self._draft_s += event.draft_s
        self._drafts[min(event.drafted, POSITIONS), min(event.accepted, POSITIONS)] += 1

    def merge(self, other: "_Sums") -> None:
        self._rounds += other._rounds
        self._drafted += other._drafted
        self._accepted += other._accepted
        self._draft_s += other._draft_s
        self._drafts.update(other._drafts)

    def record(self) -> DrafterRecord:
        deepest = max((drafted for drafted, _ in self._drafts), default=0)
        proposed, reached, accepted_at = [0] * deepest, [0] * deepest, [0] * deepest
        for (drafted, accepted), times in self._drafts.items():
            for position in range(drafted):
                proposed[position] += times
                reached[position] += times * (position <= accepted)
                accepted_at[position] += times * (position < accepted)
        counts = tuple(proposed), tuple(reached), tuple(accepted_at)
        return DrafterRecord(self._rounds, self._drafted, self._accepted, self._draft_s, *counts)
