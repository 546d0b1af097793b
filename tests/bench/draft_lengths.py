"""One drafter at every draft length: `sweep` measures, `model` predicts, `profile` times the rounds.

Run by `python -m tests.bench.speculation`.

The prediction takes the acceptance by position from the longest drafts and the costs from each length's own rounds,
with the engine's formulas (`laguna_engine.speculate.cost_model`). A large difference means that time is spent outside
of the rounds, or that the measured acceptance does not last.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.events import Round
from laguna_engine.gguf import drafter_header as drafter_file
from laguna_engine.speculate.cost_model import constant_acceptance_tokens, expected_tokens, speedup
from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench import statistics
from laguna_tui.bench.answer_runs import PLAIN_VARIANT, AnswerSample, Variant, drafted_variant
from laguna_tui.bench.measurement import BenchResult, Measurement, number, percent
from laguna_tui.bench.workload import DFLASH, BenchOptions

PHASES = ("draft", "verify", "sample", "other")
"""Phases of a round; "other" is the engine's own work."""

_SWEEP_COLUMNS = (
    "draft",
    "tok/s",
    "x plain, median",
    "x plain, best",
    "tokens/round",
    "draft ms",
    "verify ms",
    "accepted, by position",
)

_SWEEP_NOTE = (
    "Costs are medians over the rounds that drafted this many tokens. By position: accepted share, in percent, of the"
    " drafts that had a token there."
)


@dataclass(frozen=True, slots=True)
class SweepRow:
    """Figures of one draft length, or of plain decoding, also as JSON.

    Attributes:
        way: The length, or the name of plain decoding.
        tokens_per_second: Decoding rate.
        ratio_median: Median speed-up over plain decoding.
        ratio_best: Speed-up over plain decoding between the fastest answers.
        tokens_per_round: Mean.
        draft_s: Median seconds of drafting per round.
        verify_s: Median seconds of verifying per round.
        by_position: Accepted share of the drafted tokens by position.
    """

    way: str
    tokens_per_second: float | None
    ratio_median: float | None
    ratio_best: float | None
    tokens_per_round: float | None
    draft_s: float | None
    verify_s: float | None
    by_position: tuple[float, ...]

    @classmethod
    def of(cls, samples: list[AnswerSample], way: str) -> "SweepRow":
        """Compute the figures of one length."""
        chosen = statistics.of_variant(samples, way)
        summary = statistics.summary_of(statistics.rounds_of(chosen))
        full = statistics.rounds_of(chosen, int(way)) if way.isdecimal() else []
        return cls(
            way,
            statistics.rate(chosen),
            statistics.ratio_median(samples, way, PLAIN_VARIANT.name),
            statistics.ratio_best(samples, way, PLAIN_VARIANT.name),
            summary.tokens_per_round,
            median_of(seconds(full, "draft")),
            median_of(seconds(full, "verify")),
            summary.together.by_position,
        )

    def fields(self) -> Mapping[str, object]:
        """Return JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """Return a row of the table."""
        costs = [number(None if cost is None else 1e3 * cost, 3) for cost in (self.draft_s, self.verify_s)]
        positions = " ".join(f"{100 * share:.0f}" for share in self.by_position) or "–"
        figures = [number(self.tokens_per_second, 1), number(self.ratio_median), number(self.ratio_best)]
        return [self.way, *figures, number(self.tokens_per_round), *costs, positions]


@dataclass(slots=True)
class VariantMeasurement(Measurement):
    """A benchmark that answers every prompt in every variant."""

    @abstractmethod
    def variants(self) -> list[Variant]:
        """Return the variants."""

    def measure(self, progress: ProgressLine) -> None:
        with self.engine.stage(self.options, progress) as stage:
            stage.run(self.variants(), self.samples)


@dataclass(slots=True)
class LengthSweep(VariantMeasurement):
    """Every draft length of one drafter."""

    def variants(self) -> list[Variant]:
        """Return plain decoding and every length."""
        return lengths_of(self.options)

    def outcome(self) -> BenchResult:
        """Return one row per length."""
        names = [way.name for way in self.variants() if statistics.of_variant(self.samples, way.name)]
        rows = [SweepRow.of(self.samples, name) for name in names]
        cells = [row.cells() for row in rows]
        return BenchResult(_SWEEP_COLUMNS, cells, [row.fields() for row in rows], [f"{self.options.who} {_SWEEP_NOTE}"])


def lengths_of(options: BenchOptions) -> list[Variant]:
    """Return plain decoding and every draft length."""
    return [PLAIN_VARIANT, *(drafted_variant(options.use, length) for length in range(longest(options) + 1))]


def longest(options: BenchOptions) -> int:
    """Return the longest draft in tokens. Raises ModelFileError when the drafter's file cannot be read."""
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
    """Measured acceptance and costs of a drafter.

    Attributes:
        chances: For each position, the acceptance rate given that all earlier positions were accepted.
        constant: One acceptance rate for all positions that gives as many tokens with the longest drafts.
        plain_s: Seconds of a plainly decoded token.
    """

    chances: tuple[float, ...]
    constant: float
    plain_s: float

    @classmethod
    def of(cls, samples: Sequence[AnswerSample]) -> "DraftCosts | None":
        """Compute it from the longest drafts and the plain answers; None before there are both."""
        plain = statistics.rate(statistics.of_variant(samples, PLAIN_VARIANT.name))
        lengths = [int(sample.way) for sample in samples if sample.way.isdecimal()]
        if not plain or not lengths:
            return None
        rounds = statistics.rounds_of(statistics.of_variant(samples, str(max(lengths))))
        chances = tuple(conditional(rounds))
        return cls(chances, constant_for(expected_tokens(chances)[-1], len(chances)), 1 / plain)


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """Prediction for one draft length, also as JSON.

    Attributes:
        length: Tokens drafted per round.
        tokens_per_round: Measured mean.
        expected: The same, predicted from the longest drafts.
        round_tokens: Cost of a round in plainly decoded tokens.
        predicted: Predicted speed-up.
        predicted_constant: The same with one acceptance rate for all positions.
        measured: Measured speed-up.
        difference: predicted / measured - 1.
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
    def of(cls, samples: list[AnswerSample], length: int, costs: DraftCosts) -> "PredictionRow | None":
        """Compute the figures of one length; None when no round drafted that many tokens."""
        rounds = statistics.rounds_of(statistics.of_variant(samples, str(length)))
        full = [round_ for round_ in rounds if round_.drafted == length]
        times = [median_of(seconds(full, phase)) for phase in ("draft", "verify", "sample")]
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
            statistics.summary_of(rounds).tokens_per_round,
            expected,
            round_s / costs.plain_s,
            predicted,
            constant,
            measured,
            predicted / measured - 1 if measured else None,
        )

    def fields(self) -> Mapping[str, object]:
        """Return JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """Return a row of the table."""
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
    """Predicted and measured speed-up of one drafter."""

    def variants(self) -> list[Variant]:
        """Return plain decoding and every length."""
        return lengths_of(self.options)

    def outcome(self) -> BenchResult:
        """Return one row per drafted length."""
        costs = DraftCosts.of(self.samples)
        if costs is None:
            return BenchResult(_PREDICTION_COLUMNS)
        lengths = sorted({int(sample.way) for sample in self.samples if sample.way.isdecimal()})
        found = (PredictionRow.of(self.samples, length, costs) for length in lengths if length)
        rows = [row for row in found if row is not None]
        return BenchResult(
            _PREDICTION_COLUMNS,
            [row.cells() for row in rows],
            [row.fields() for row in rows],
            self._notes(costs, rows),
        )

    def _notes(self, costs: DraftCosts, rows: Sequence[PredictionRow]) -> list[str]:
        positions = " ".join(percent(chance) for chance in costs.chances) or "none"
        notes = [
            f"{self.options.who} Acceptance by position, given all before: {positions}; one a for all: "
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
    """Return the one acceptance rate with which drafts of `length` tokens emit `tokens` a round on average."""
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

_PROFILE_NOTE = (
    "Microseconds: median / 90th percentile. Other: the engine's own work of choosing, keeping and reporting."
)


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Times of one phase of a round in seconds."""

    median: float | None
    p90: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "PhaseTimes":
        """Compute them from the time in each round."""
        return cls(median_of(values), percentile(values, _P90))

    def cell(self) -> str:
        """Return the cell of the table, in microseconds."""
        if self.median is None or self.p90 is None:
            return "–"
        return f"{1e6 * self.median:,.0f} / {1e6 * self.p90:,.0f}"


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """Times of the rounds that drafted `length` tokens, or of all; also as JSON."""

    length: str
    rounds: int
    phases: Mapping[str, PhaseTimes]

    @classmethod
    def of(cls, rounds: Sequence[Round], length: str) -> "ProfileRow":
        """Compute the times of these rounds."""
        names = (*PHASES, "total")
        return cls(length, len(rounds), {name: PhaseTimes.of(seconds(rounds, name)) for name in names})

    def fields(self) -> Mapping[str, object]:
        """Return JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """Return a row of the table."""
        return [self.length, str(self.rounds), *(phase.cell() for phase in self.phases.values())]


@dataclass(slots=True)
class RoundProfile(VariantMeasurement):
    """Times of one drafter's rounds, at the lengths that the engine chooses."""

    def variants(self) -> list[Variant]:
        """Return plain decoding, for comparison, and drafting."""
        return [PLAIN_VARIANT, drafted_variant(self.options.use)]

    def outcome(self) -> BenchResult:
        """Return one row for all rounds and one per length."""
        rounds = statistics.rounds_of(statistics.of_variant(self.samples, self.options.use))
        lengths = sorted({round_.drafted for round_ in rounds})
        rows = [ProfileRow.of(rounds, _ALL)] if rounds else []
        rows += [
            ProfileRow.of([round_ for round_ in rounds if round_.drafted == length], str(length)) for length in lengths
        ]
        return BenchResult(
            _PROFILE_COLUMNS,
            [row.cells() for row in rows],
            [row.fields() for row in rows],
            [f"{self.options.who} {_PROFILE_NOTE}", *self._notes()],
        )

    def _notes(self) -> list[str]:
        chosen = statistics.of_variant(self.samples, self.options.use)
        between, plain = (
            between_rounds(chosen),
            statistics.rate(statistics.of_variant(self.samples, PLAIN_VARIANT.name)),
        )
        if between is None or plain is None:
            return []
        return [
            f"Between two rounds: {number(1e6 * between, 0)} on average, to commit and report the tokens. "
            f"A plainly decoded token takes {number(1e6 / plain, 0)}."
        ]


def conditional(rounds: Iterable[Round]) -> list[float]:
    """Return each position's acceptance rate given all before it; ends where those never were accepted."""
    chances = []
    for chance in statistics.summary_of(rounds).together.conditional:
        if chance is None:
            break
        chances.append(chance)
    return chances


def seconds(rounds: Iterable[Round], phase: str) -> list[float]:
    """Return the seconds of a phase in each round; "total" for the whole."""
    if phase == "other":
        return [round_.total_s - round_.draft_s - round_.verify_s - round_.sample_s for round_ in rounds]
    return [getattr(round_, f"{phase}_s") for round_ in rounds]


def between_rounds(samples: Iterable[AnswerSample]) -> float | None:
    """Return the mean seconds between two rounds, in which tokens are committed and reported."""
    chosen = [sample for sample in samples if sample.rounds]
    count = sum(len(sample.rounds) for sample in chosen)
    spent = sum(sample.seconds - sum(seconds(sample.rounds, "total")) for sample in chosen)
    return spent / count if count else None


def median_of(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value that `share` of them do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None
