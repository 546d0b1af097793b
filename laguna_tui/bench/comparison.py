"""`bench ab`: plain decoding beside each drafter, their speed and whether their answers are the same."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench import statistics
from laguna_tui.bench.answer_runs import PLAIN_VARIANT, AnswerSample, Runner, Variant, drafted_variant
from laguna_tui.bench.measurement import BenchResult, Measurement, number, percent
from laguna_tui.bench.parity import NEAR_TIE, Parity, compare, pieces, replayer
from laguna_tui.bench.workload import label_of, uses

_DRAFTER_COLUMNS = (
    "",
    "tok/s",
    "x plain, median",
    "x plain, best",
    "tokens/round",
    "drafted/round",
    "accepted",
    "same answers",
)

_NO_DRAFTER = "There is no drafter for this model here; to add dflash and both: --drafter FILE.gguf"

_NEAR_TIES = (
    f"Answers that differ do so from the named token on; a margin below {NEAR_TIE} logits is a near-tie, decided by"
    " rounding."
)


@dataclass(frozen=True, slots=True)
class DrafterRow:
    """Figures of one variant, also as JSON.

    Attributes:
        way: Name of the variant.
        tokens_per_second: Decoding rate.
        ratio_median: Median speed-up over plain decoding.
        ratio_best: Speed-up over plain decoding between the fastest answers.
        tokens_per_round: Mean.
        drafted_per_round: Mean.
        acceptance: Accepted share of the drafted tokens.
        parity: Comparison of its answers with the plain ones.
    """

    way: str
    tokens_per_second: float | None
    ratio_median: float | None
    ratio_best: float | None
    tokens_per_round: float | None
    drafted_per_round: float | None
    acceptance: float | None
    parity: Parity | None

    @classmethod
    def of(cls, samples: list[AnswerSample], way: str, parity: Parity | None) -> "DrafterRow":
        """Compute the figures of one variant."""
        chosen = statistics.of_variant(samples, way)
        summary = statistics.summary_of(statistics.rounds_of(chosen))
        return cls(
            way,
            statistics.rate(chosen),
            statistics.ratio_median(samples, way, PLAIN_VARIANT.name),
            statistics.ratio_best(samples, way, PLAIN_VARIANT.name),
            summary.tokens_per_round,
            statistics.drafted_per_round(summary),
            summary.together.acceptance,
            parity,
        )

    def fields(self) -> Mapping[str, object]:
        """Return JSON-able values."""
        return {**asdict(self), "parity": self.parity.fields() if self.parity else None}

    def cells(self) -> list[str]:
        """Return a row of the table."""
        same = "–" if self.parity is None else f"{self.parity.same} of {self.parity.prompts}"
        ratios = [number(self.ratio_median), number(self.ratio_best)]
        rounds = [number(self.tokens_per_round), number(self.drafted_per_round), percent(self.acceptance)]
        return [label_of(self.way), number(self.tokens_per_second, 1), *ratios, *rounds, same]


@dataclass(slots=True)
class DrafterComparison(Measurement):
    """Comparison of the available drafters."""

    parities: dict[str, Parity] = field(default_factory=dict)

    def measure(self, progress: ProgressLine) -> None:
        """Answer every prompt plainly and with each drafter; then examine the answers that differ."""
        with self.engine.stage(self.options, progress) as stage:
            try:
                stage.run(self._variants(), self.samples)
            finally:
                self._compare(stage)
            progress.show("examining the answers that differ")
            self._examine(stage)

    def outcome(self) -> BenchResult:
        """Return one row per variant."""
        names = [way.name for way in self._variants() if statistics.of_variant(self.samples, way.name)]
        rows = [DrafterRow.of(self.samples, name, self.parities.get(name)) for name in names]
        cells = [row.cells() for row in rows]
        return BenchResult(_DRAFTER_COLUMNS, cells, [row.fields() for row in rows], self._notes())

    def _variants(self) -> list[Variant]:
        return [PLAIN_VARIANT, *map(drafted_variant, uses(self.options.drafter))]

    def _compare(self, stage: Runner) -> None:
        """Count the equal answers, which takes no time."""
        for way in self._variants()[1:]:
            self.parities[way.name] = compare(self.samples, way.name, PLAIN_VARIANT.name, pieces(stage.engine))

    def _examine(self, stage: Runner) -> None:
        """Measure the margins of the others, which takes one more answer each."""
        replay = replayer(stage.engine, stage.prompts, self.options.sampling)
        for way, parity in self.parities.items():
            if parity.differences:
                self.parities[way] = compare(self.samples, way, PLAIN_VARIANT.name, pieces(stage.engine), replay)

    def _notes(self) -> list[str]:
        notes = [] if self.options.drafter else [_NO_DRAFTER]
        differences = [each.line() for parity in self.parities.values() for each in parity.differences]
        return [*notes, *([_NEAR_TIES, *differences] if differences else [])]
