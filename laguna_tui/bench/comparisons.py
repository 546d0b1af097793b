"""`bench ab` compares plain decoding with each drafter; `bench kv` compares KV cache types, each plain and drafted."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import KV_TYPES
from laguna_tui.bench import statistics
from laguna_tui.bench.answer_runs import PLAIN_VARIANT, AnswerSample, BenchEngine, Runner, Variant, drafted_variant
from laguna_tui.bench.measurement import BenchResult, MarkdownTable, number, percent
from laguna_tui.bench.parity import NEAR_TIE, Parity, compare, pieces, replayer
from laguna_tui.bench.workload import BenchOptions, label_of, uses

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
class DrafterComparison:
    """Comparison of the available drafters."""

    options: BenchOptions
    samples: list[AnswerSample] = field(default_factory=list)
    engine: BenchEngine = field(default_factory=BenchEngine)
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
        table = MarkdownTable(_DRAFTER_COLUMNS, [row.cells() for row in rows])
        return BenchResult(table, [row.fields() for row in rows], self._notes())

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


_KV_COLUMNS = (
    "KV cache",
    "tok/s",
    "x plain here",
    "x plain f16",
    "tokens/round",
    "accepted",
    "same as plain",
    "same as f16",
)

_KV_NOTE = (
    "Types were measured one after the other, so compare across them with care; plain and drafted decoding alternated."
    " Same: prompts whose answers equal the plain ones of this type, and of f16."
)


@dataclass(frozen=True, slots=True)
class KvRow:
    """Figures of one KV cache type, plain or drafted, also as JSON.

    Attributes:
        way: Name of the variant, with the type.
        tokens_per_second: Decoding rate.
        ratio: Speed-up over plain decoding with the same type.
        ratio_f16: Speed-up over plain decoding with f16.
        tokens_per_round: Mean.
        acceptance: Accepted share of the drafted tokens.
        prompts: Prompts answered.
        same_as_plain: Prompts with the plain answers of this type.
        same_as_f16: Prompts with the plain answers of f16; None before they are known.
    """

    way: str
    tokens_per_second: float | None
    ratio: float | None
    ratio_f16: float | None
    tokens_per_round: float | None
    acceptance: float | None
    prompts: int
    same_as_plain: int
    same_as_f16: int | None

    @classmethod
    def of(cls, samples: list[AnswerSample], way: str, here: str, first: str) -> "KvRow":
        """Compute the figures of one variant; `here` and `first` name the plain variants of its type and of f16."""
        chosen = statistics.of_variant(samples, way)
        summary = statistics.summary_of(statistics.rounds_of(chosen))
        same, same_f16 = compare(samples, way, here, str), compare(samples, way, first, str)
        return cls(
            way,
            statistics.rate(chosen),
            statistics.ratio_median(samples, way, here),
            statistics.ratio_median(samples, way, first),
            summary.tokens_per_round,
            summary.together.acceptance,
            same.prompts,
            same.same,
            same_f16.same if same_f16.prompts else None,
        )

    def fields(self) -> Mapping[str, object]:
        """Return JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """Return a row of the table."""
        f16 = "–" if self.same_as_f16 is None else f"{self.same_as_f16} of {self.prompts}"
        speed = [number(self.tokens_per_second, 1), number(self.ratio), number(self.ratio_f16)]
        rounds = [number(self.tokens_per_round), percent(self.acceptance)]
        return [self.way, *speed, *rounds, f"{self.same_as_plain} of {self.prompts}", f16]


@dataclass(slots=True)
class KvComparison:
    """Comparison of every KV cache type."""

    options: BenchOptions
    samples: list[AnswerSample] = field(default_factory=list)
    engine: BenchEngine = field(default_factory=BenchEngine)

    def measure(self, progress: ProgressLine) -> None:
        """Open the model with each type, and answer every prompt plainly and with drafts."""
        for kind in KV_TYPES:
            with self.engine.stage(self.options, progress, kv=kind) as stage:
                stage.run(self._variants(kind), self.samples)

    def outcome(self) -> BenchResult:
        """Return two rows per type."""
        first, rows = f"{KV_TYPES[0]} {PLAIN_VARIANT.name}", []
        for kind in KV_TYPES:
            here, *others = (way.name for way in self._variants(kind))
            names = [name for name in (here, *others) if statistics.of_variant(self.samples, name)]
            rows += [KvRow.of(self.samples, name, here, first) for name in names]
        table = MarkdownTable(_KV_COLUMNS, [row.cells() for row in rows])
        return BenchResult(table, [row.fields() for row in rows], [_KV_NOTE])

    def _variants(self, kind: str) -> list[Variant]:
        use = uses(self.options.drafter)[-1]
        return [replace(way, name=f"{kind} {way.name}") for way in (PLAIN_VARIANT, drafted_variant(use))]
