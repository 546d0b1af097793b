"""One drafter by draft length: `bench sweep` measures each, `bench model` predicts it, `bench profile` times rounds.

The prediction takes acceptance by position from the longest drafts and costs from each length's own rounds; the
arithmetic is the engine's own (`laguna_engine.speculate.economics`). A large difference means that something costs
time that no round shows, or that what was measured does not hold for long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.events import Round
from laguna_engine.gguf import drafter_header as drafter_file
from laguna_engine.speculate.cost_model import constant_acceptance_tokens, expected_tokens, speedup
from laguna_tui.bench import statistics
from laguna_tui.bench.measurement import BenchResult, MarkdownTable, VariantMeasurement, number, percent
from laguna_tui.bench.runner import PLAIN_VARIANT, Sample, Variant, drafted_variant
from laguna_tui.bench.workload import DFLASH, BenchOptions

_SWEEP_COLUMNS = (
    "draft",
    "tok/s",
    "x plain, median",
    "x plain, best",
    "tokens/round",
    "draft ms",
    "verify ms",
    "stood, by position",
)

_SWEEP_NOTE = (
    "Costs are medians over the rounds that drafted so many tokens. By position: of the drafts that had a token there,"
    " the percentage in which it stood."
)


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One length, or plain decoding. draft_s, verify_s: medians. by_position: shares."""

    way: str
    tokens_per_second: float | None
    ratio_median: float | None
    ratio_best: float | None
    tokens_per_round: float | None
    draft_s: float | None
    verify_s: float | None
    by_position: tuple[float, ...]

    @classmethod
    def of(cls, samples: list[Sample], way: str) -> "SweepRow":
        """The figures of one length."""
        chosen = statistics.of_way(samples, way)
        summary = statistics.summed(statistics.rounds_of(chosen))
        full = statistics.rounds_of(chosen, int(way)) if way.isdecimal() else []
        return cls(
            way,
            statistics.rate(chosen),
            statistics.ratio_median(samples, way, PLAIN_VARIANT.name),
            statistics.ratio_best(samples, way, PLAIN_VARIANT.name),
            summary.tokens_per_round,
            statistics.middle(statistics.seconds(full, "draft")),
            statistics.middle(statistics.seconds(full, "verify")),
            summary.together.by_position,
        )

    def fields(self) -> Mapping[str, object]:
        """As JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """As a row of the table."""
        costs = [number(None if cost is None else 1e3 * cost, 3) for cost in (self.draft_s, self.verify_s)]
        positions = " ".join(f"{100 * share:.0f}" for share in self.by_position) or "–"
        figures_ = [number(self.tokens_per_second, 1), number(self.ratio_median), number(self.ratio_best)]
        return [self.way, *figures_, number(self.tokens_per_round), *costs, positions]


@dataclass(slots=True)
class LengthSweep(VariantMeasurement):
    """Every length of one drafter."""

    def ways(self) -> list[Variant]:
        """Plainly and at every length."""
        return lengths_of(self.options)

    def outcome(self) -> BenchResult:
        """One row a length."""
        names = [way.name for way in self.ways() if statistics.of_way(self.samples, way.name)]
        rows = [SweepRow.of(self.samples, name) for name in names]
        table = MarkdownTable(_SWEEP_COLUMNS, [row.cells() for row in rows])
        return BenchResult(table, [row.fields() for row in rows], [f"{self.options.who} {_SWEEP_NOTE}"])


def lengths_of(options: BenchOptions) -> list[Variant]:
    """Plain decoding, and every length there is."""
    return [PLAIN_VARIANT, *(drafted_variant(options.use, length) for length in range(longest(options) + 1))]


def longest(options: BenchOptions) -> int:
    """The most tokens drafted at once; ModelFileError when the drafter's file cannot be read."""
    if options.use == DFLASH and options.drafter is not None:
        return min(MAX_DRAFT, drafter_file.read(options.drafter).longest)
    return MAX_DRAFT


_PREDICTION_COLUMNS = (
    "draft",
    "tokens/round",
    "expected",
    "round, in tokens",
    "predicted",
    "by one a",
    "measured",
    "off by",
)


@dataclass(frozen=True, slots=True)
class DraftCosts:
    """What was measured of a drafter.

    chances: for each position, that it stands if those before it do. constant: one acceptance for all positions that
    brings as many tokens at the longest draft. plain_s: of a plainly decoded token.
    """

    chances: tuple[float, ...]
    constant: float
    plain_s: float

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> "DraftCosts | None":
        """From the longest drafts and the plain answers; None before there are both."""
        plain = statistics.rate(statistics.of_way(samples, PLAIN_VARIANT.name))
        lengths = [int(sample.way) for sample in samples if sample.way.isdecimal()]
        if not plain or not lengths:
            return None
        rounds = statistics.rounds_of(statistics.of_way(samples, str(max(lengths))))
        chances = tuple(statistics.conditional(rounds))
        return cls(chances, constant_for(expected_tokens(chances)[-1], len(chances)), 1 / plain)


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """One length.

    tokens_per_round: measured. expected: predicted from the longest drafts. round_tokens: a round's cost in plainly
    decoded tokens. predicted, predicted_constant, measured: speed-ups; difference: predicted over measured, less 1.
    """

    length: int
    tokens_per_round: float | None
    expected: float
    round_tokens: float
    predicted: float
    predicted_constant: float
    measured: float | None
    difference: float | None

    @classmethod
    def of(cls, samples: list[Sample], length: int, costs: DraftCosts) -> "PredictionRow | None":
        """The figures of one length; None when no round drafted so many tokens."""
        rounds = statistics.rounds_of(statistics.of_way(samples, str(length)))
        full = [spun for spun in rounds if spun.drafted == length]
        times = [statistics.middle(statistics.seconds(full, phase)) for phase in ("draft", "verify", "sample")]
        if not full or None in times:
            return None
        round_s = sum(time for time in times if time is not None)
        committed = expected_tokens(costs.chances)
        expected = committed[min(length, len(committed) - 1)]
        predicted = speedup(expected, round_s, costs.plain_s)
        constant = speedup(constant_acceptance_tokens(costs.constant, length), round_s, costs.plain_s)
        measured = statistics.ratio_median(samples, str(length), PLAIN_VARIANT.name)
        return cls(
            length,
            statistics.summed(rounds).tokens_per_round,
            expected,
            round_s / costs.plain_s,
            predicted,
            constant,
            measured,
            predicted / measured - 1 if measured else None,
        )

    def fields(self) -> Mapping[str, object]:
        """As JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """As a row of the table."""
        off = "–" if self.difference is None else f"{self.difference:+.0%}"
        tokens = [number(self.tokens_per_round), number(self.expected), number(self.round_tokens)]
        return [
            str(self.length),
            *tokens,
            number(self.predicted),
            number(self.predicted_constant),
            number(self.measured),
            off,
        ]


@dataclass(slots=True)
class SpeedupPrediction(VariantMeasurement):
    """The economics of one drafter."""

    def ways(self) -> list[Variant]:
        """Plainly and at every length."""
        return lengths_of(self.options)

    def outcome(self) -> BenchResult:
        """One row a length that was drafted."""
        costs = DraftCosts.of(self.samples)
        if costs is None:
            return BenchResult(MarkdownTable(_PREDICTION_COLUMNS), [])
        lengths = sorted({int(sample.way) for sample in self.samples if sample.way.isdecimal()})
        found = (PredictionRow.of(self.samples, length, costs) for length in lengths if length)
        rows = [row for row in found if row is not None]
        return BenchResult(
            MarkdownTable(_PREDICTION_COLUMNS, [row.cells() for row in rows]),
            [row.fields() for row in rows],
            self._notes(costs, rows),
        )

    def _notes(self, costs: DraftCosts, rows: Sequence[PredictionRow]) -> list[str]:
        positions = " ".join(percent(chance) for chance in costs.chances) or "none"
        notes = [
            f"{self.options.who} Acceptance by position, if all before stood: {positions}; one a for all: "
            f"{costs.constant:.2f}. A plain token takes {1e3 * costs.plain_s:.3f} ms."
        ]
        measured = [row for row in rows if row.measured is not None]
        if measured:
            best = max(measured, key=lambda row: row.measured or 0)
            hoped = max(rows, key=lambda row: row.predicted)
            notes.append(
                f"Best length predicted: {_best(hoped.length, hoped.predicted)}; "
                f"measured: {_best(best.length, best.measured or 0)}."
            )
        return notes


def constant_for(tokens: float, length: int) -> float:
    """The one acceptance with which drafts of `length` tokens commit `tokens` a round on average."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if constant_acceptance_tokens(middle, length) < tokens else (low, middle)
    return high if tokens > 1 else 0.0


def _best(length: int, ratio: float) -> str:
    return f"{length} ({ratio:.2f}x)" if ratio > 1 else f"none (drafting is slower: {ratio:.2f}x)"


_PROFILE_COLUMNS = ("tokens drafted", "rounds", "draft", "verify", "sample", "other", "whole round")

_P90 = 0.9
_ALL = "all"

_PROFILE_NOTE = "Microseconds: median / 90th percentile. Other is the engine's own: choosing, keeping, telling."


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Seconds of one phase of a round."""

    median: float | None
    p90: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "PhaseTimes":
        """From what it took in each round."""
        return cls(statistics.middle(values), statistics.percentile(values, _P90))

    def cell(self) -> str:
        """In microseconds."""
        if self.median is None or self.p90 is None:
            return "–"
        return f"{1e6 * self.median:,.0f} / {1e6 * self.p90:,.0f}"


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """The rounds that drafted so many tokens, or all."""

    length: str
    rounds: int
    phases: Mapping[str, PhaseTimes]

    @classmethod
    def of(cls, rounds: Sequence[Round], length: str) -> "ProfileRow":
        """Times of these rounds."""
        names = (*statistics.PHASES, "total")
        return cls(length, len(rounds), {name: PhaseTimes.of(statistics.seconds(rounds, name)) for name in names})

    def fields(self) -> Mapping[str, object]:
        """As JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """As a row of the table."""
        return [self.length, str(self.rounds), *(phase.cell() for phase in self.phases.values())]


@dataclass(slots=True)
class RoundProfile(VariantMeasurement):
    """Rounds of one drafter, at the lengths that the engine chooses."""

    def ways(self) -> list[Variant]:
        """Plainly, for the comparison, and with drafts."""
        return [PLAIN_VARIANT, drafted_variant(self.options.use)]

    def outcome(self) -> BenchResult:
        """One row for all rounds and one for every length."""
        rounds = statistics.rounds_of(statistics.of_way(self.samples, self.options.use))
        lengths = sorted({spun.drafted for spun in rounds})
        rows = [ProfileRow.of(rounds, _ALL)] if rounds else []
        rows += [ProfileRow.of([spun for spun in rounds if spun.drafted == length], str(length)) for length in lengths]
        table = MarkdownTable(_PROFILE_COLUMNS, [row.cells() for row in rows])
        return BenchResult(
            table,
            [row.fields() for row in rows],
            [f"{self.options.who} {_PROFILE_NOTE}", *self._notes()],
        )

    def _notes(self) -> list[str]:
        chosen = statistics.of_way(self.samples, self.options.use)
        between, plain = (
            statistics.between_rounds(chosen),
            statistics.rate(statistics.of_way(self.samples, PLAIN_VARIANT.name)),
        )
        if between is None or plain is None:
            return []
        return [
            f"Between two rounds: {number(1e6 * between, 0)} on average, to commit the tokens and tell of them. "
            f"A plainly decoded token takes {number(1e6 / plain, 0)}."
        ]
