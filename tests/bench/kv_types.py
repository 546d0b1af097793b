"""KV cache types side by side, each plain and drafted: `python -m tests.bench.speculation kv`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import KV_TYPES
from laguna_tui.bench import statistics
from laguna_tui.bench.answer_runs import PLAIN_VARIANT, AnswerSample, Variant, drafted_variant
from laguna_tui.bench.measurement import BenchResult, Measurement, number, percent
from laguna_tui.bench.parity import compare
from laguna_tui.bench.workload import uses

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
class KvComparison(Measurement):
    """Comparison of every KV cache type."""

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
        return BenchResult(_KV_COLUMNS, [row.cells() for row in rows], [row.fields() for row in rows], [_KV_NOTE])

    def _variants(self, kind: str) -> list[Variant]:
        use = uses(self.options.drafter)[-1]
        return [replace(way, name=f"{kind} {way.name}") for way in (PLAIN_VARIANT, drafted_variant(use))]
