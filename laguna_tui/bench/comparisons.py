"""`bench ab` compares plain decoding with each drafter, `bench kv` types of the KV cache, each plain and drafted."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import KV_TYPES
from laguna_tui.bench import statistics
from laguna_tui.bench.measurement import BenchResult, MarkdownTable, number, percent
from laguna_tui.bench.parity import NEAR_TIE, Parity, compare, pieces, replayer
from laguna_tui.bench.runner import PLAIN_VARIANT, BenchEngine, Runner, Sample, Variant, drafted_variant
from laguna_tui.bench.workload import BenchOptions, label_of, uses

_DRAFTER_COLUMNS = (
    "",
    "tok/s",
    "x plain, median",
    "x plain, best",
    "tokens/round",
    "drafted/round",
    "stood",
    "same answers",
)

_NO_DRAFTER = "There is no drafter for this model here; --drafter FILE.gguf adds dflash and both."

_NEAR_TIES = (
    f"Answers that differ do so from the token named on; a margin below {NEAR_TIE} logits is a near-tie, which rounding"
    " decides."
)


@dataclass(frozen=True, slots=True)
class DrafterRow:
    """One way. Ratios are to plain decoding; tokens_per_round and drafted_per_round are means."""

    way: str
    tokens_per_second: float | None
    ratio_median: float | None
    ratio_best: float | None
    tokens_per_round: float | None
    drafted_per_round: float | None
    acceptance: float | None
    parity: Parity | None

    @classmethod
    def of(cls, samples: list[Sample], way: str, parity: Parity | None) -> "DrafterRow":
        """The figures of one way."""
        chosen = statistics.of_way(samples, way)
        summary = statistics.summed(statistics.rounds_of(chosen))
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
        """As JSON-able values."""
        return {**asdict(self), "parity": self.parity.fields() if self.parity else None}

    def cells(self) -> list[str]:
        """As a row of the table."""
        same = "–" if self.parity is None else f"{self.parity.same} of {self.parity.prompts}"
        ratios = [number(self.ratio_median), number(self.ratio_best)]
        rounds = [number(self.tokens_per_round), number(self.drafted_per_round), percent(self.acceptance)]
        return [label_of(self.way), number(self.tokens_per_second, 1), *ratios, *rounds, same]


@dataclass(slots=True)
class DrafterComparison:
    """The comparison of the drafters that are there."""

    options: BenchOptions
    samples: list[Sample] = field(default_factory=list)
    opened: BenchEngine = field(default_factory=BenchEngine)
    parities: dict[str, Parity] = field(default_factory=dict)

    def measure(self, progress: ProgressLine) -> None:
        """Answer everything plainly and with each drafter; then look closely at what differs."""
        with self.opened.stage(self.options, progress) as stage:
            try:
                stage.run(self._ways(), self.samples)
            finally:
                self._compare(stage)
            progress.show("looking at the answers that differ")
            self._look(stage)

    def outcome(self) -> BenchResult:
        """One row a way."""
        names = [way.name for way in self._ways() if statistics.of_way(self.samples, way.name)]
        rows = [DrafterRow.of(self.samples, name, self.parities.get(name)) for name in names]
        table = MarkdownTable(_DRAFTER_COLUMNS, [row.cells() for row in rows])
        return BenchResult(table, [row.fields() for row in rows], self._notes())

    def _ways(self) -> list[Variant]:
        return [PLAIN_VARIANT, *map(drafted_variant, uses(self.options.drafter))]

    def _compare(self, stage: Runner) -> None:
        """Count the answers that are the same, which takes no time."""
        for way in self._ways()[1:]:
            self.parities[way.name] = compare(self.samples, way.name, PLAIN_VARIANT.name, pieces(stage.engine))

    def _look(self, stage: Runner) -> None:
        """Find out how narrowly the others differ, which takes an answer each."""
        look = replayer(stage.engine, stage.prompts, self.options.sampling)
        for way, parity in self.parities.items():
            if parity.differences:
                self.parities[way] = compare(self.samples, way, PLAIN_VARIANT.name, pieces(stage.engine), look)

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
    "stood",
    "same as plain",
    "same as f16",
)

_KV_NOTE = (
    "Types were measured one after the other, so compare across them with care; plain and drafted took turns. Same:"
    " prompts whose answers are the plain ones of this type, and of f16."
)


@dataclass(frozen=True, slots=True)
class KvRow:
    """One type, plainly or drafted. ratio: to plain decoding with the same type; ratio_f16: with f16."""

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
    def of(cls, samples: list[Sample], way: str, here: str, first: str) -> "KvRow":
        """The figures of one way; `here` and `first` are the plain ways of its type and of f16."""
        chosen = statistics.of_way(samples, way)
        summary = statistics.summed(statistics.rounds_of(chosen))
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
        """As JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """As a row of the table."""
        f16 = "–" if self.same_as_f16 is None else f"{self.same_as_f16} of {self.prompts}"
        speed = [number(self.tokens_per_second, 1), number(self.ratio), number(self.ratio_f16)]
        rounds = [number(self.tokens_per_round), percent(self.acceptance)]
        return [self.way, *speed, *rounds, f"{self.same_as_plain} of {self.prompts}", f16]


@dataclass(slots=True)
class KvComparison:
    """Every type of the KV cache."""

    options: BenchOptions
    samples: list[Sample] = field(default_factory=list)
    opened: BenchEngine = field(default_factory=BenchEngine)

    def measure(self, progress: ProgressLine) -> None:
        """Open the model with each type, and answer everything plainly and with drafts."""
        for kind in KV_TYPES:
            with self.opened.stage(self.options, progress, kv=kind) as stage:
                stage.run(self._ways(kind), self.samples)

    def outcome(self) -> BenchResult:
        """Two rows a type."""
        first, rows = f"{KV_TYPES[0]} {PLAIN_VARIANT.name}", []
        for kind in KV_TYPES:
            here, *others = (way.name for way in self._ways(kind))
            names = [name for name in (here, *others) if statistics.of_way(self.samples, name)]
            rows += [KvRow.of(self.samples, name, here, first) for name in names]
        table = MarkdownTable(_KV_COLUMNS, [row.cells() for row in rows])
        return BenchResult(table, [row.fields() for row in rows], [_KV_NOTE])

    def _ways(self, kind: str) -> list[Variant]:
        use = uses(self.options.drafter)[-1]
        return [replace(way, name=f"{kind} {way.name}") for way in (PLAIN_VARIANT, drafted_variant(use))]
