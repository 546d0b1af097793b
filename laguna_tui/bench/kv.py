"""`bench kv`: the types of the KV cache, each plainly and with drafts. The model is opened again for each."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench import figures
from laguna_tui.bench.measurement import Outcome
from laguna_tui.bench.options import BOTH, COPY, Options
from laguna_tui.bench.parity import compare
from laguna_tui.bench.runs import PLAINLY, Opened, Sample, Way, drafted
from laguna_tui.bench.table import Table, number, percent
from laguna_tui.settings import KV_TYPES

_COLUMNS = ("KV cache", "tok/s", "x plain here", "x plain f16", "tokens/round", "stood", "same as plain", "same as f16")

_NOTE = (
    "Types were measured one after the other, so compare across them with care; plain and drafted took turns. Same:"
    " prompts whose answers are the plain ones of this type, and of f16."
)


@dataclass(frozen=True, slots=True)
class Row:
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
    def of(cls, samples: list[Sample], way: str, here: str, first: str) -> "Row":
        """The figures of one way; `here` and `first` are the plain ways of its type and of f16."""
        chosen = figures.of_way(samples, way)
        summary = figures.summed(figures.rounds_of(chosen))
        same, same_f16 = compare(samples, way, here, str), compare(samples, way, first, str)
        return cls(
            way,
            figures.rate(chosen),
            figures.ratio_median(samples, way, here),
            figures.ratio_median(samples, way, first),
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
class Kv:
    """Every type of the KV cache."""

    options: Options
    samples: list[Sample] = field(default_factory=list)
    opened: Opened = field(default_factory=Opened)

    def measure(self, progress: ProgressLine) -> None:
        """Open the model with each type, and answer everything plainly and with drafts."""
        for kind in KV_TYPES:
            with self.opened.stage(self.options, progress, kv=kind) as stage:
                stage.run(self._ways(kind), self.samples)

    def outcome(self) -> Outcome:
        """Two rows a type."""
        first, rows = f"{KV_TYPES[0]} {PLAINLY.name}", []
        for kind in KV_TYPES:
            here, *others = (way.name for way in self._ways(kind))
            names = [name for name in (here, *others) if figures.of_way(self.samples, name)]
            rows += [Row.of(self.samples, name, here, first) for name in names]
        table = Table(_COLUMNS, [row.cells() for row in rows])
        return Outcome(table, [row.fields() for row in rows], [_NOTE])

    def _ways(self, kind: str) -> list[Way]:
        use = COPY if self.options.drafter is None else BOTH
        return [replace(way, name=f"{kind} {way.name}") for way in (PLAINLY, drafted(use))]
