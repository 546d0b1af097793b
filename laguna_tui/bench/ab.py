"""`bench ab`: plain decoding against each drafter, on the same prompts, in turns."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench import figures
from laguna_tui.bench.measurement import Outcome
from laguna_tui.bench.options import BOTH, COPY, DFLASH, Options
from laguna_tui.bench.parity import NEAR_TIE, Parity, compare, pieces, replayed
from laguna_tui.bench.runs import PLAINLY, Opened, Sample, Stage, Way, drafted
from laguna_tui.bench.table import Table, number, percent

_COLUMNS = ("", "tok/s", "x plain, median", "x plain, best", "tokens/round", "drafted/round", "stood", "same answers")

_NO_DRAFTER = "There is no drafter for this model here; --drafter FILE.gguf adds dflash and both."

_NEAR_TIES = (
    f"Answers that differ do so from the token named on; a margin below {NEAR_TIE} logits is a near-tie, which rounding"
    " decides."
)


@dataclass(frozen=True, slots=True)
class Row:
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
    def of(cls, samples: list[Sample], way: str, parity: Parity | None) -> "Row":
        """The figures of one way."""
        chosen = figures.of_way(samples, way)
        summary = figures.summed(figures.rounds_of(chosen))
        return cls(
            way,
            figures.rate(chosen),
            figures.ratio_median(samples, way, PLAINLY.name),
            figures.ratio_best(samples, way, PLAINLY.name),
            summary.tokens_per_round,
            figures.drafted_per_round(summary),
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
        return [self.way, number(self.tokens_per_second, 1), *ratios, *rounds, same]


@dataclass(slots=True)
class Ab:
    """The comparison of the drafters that are there."""

    options: Options
    samples: list[Sample] = field(default_factory=list)
    opened: Opened = field(default_factory=Opened)
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

    def outcome(self) -> Outcome:
        """One row a way."""
        names = [way.name for way in self._ways() if figures.of_way(self.samples, way.name)]
        rows = [Row.of(self.samples, name, self.parities.get(name)) for name in names]
        table = Table(_COLUMNS, [row.cells() for row in rows])
        return Outcome(table, [row.fields() for row in rows], self._notes())

    def _ways(self) -> list[Way]:
        uses = (COPY,) if self.options.drafter is None else (DFLASH, COPY, BOTH)
        return [PLAINLY, *map(drafted, uses)]

    def _compare(self, stage: Stage) -> None:
        """Count the answers that are the same, which takes no time."""
        for way in self._ways()[1:]:
            self.parities[way.name] = compare(self.samples, way.name, PLAINLY.name, pieces(stage.engine))

    def _look(self, stage: Stage) -> None:
        """Find out how narrowly the others differ, which takes an answer each."""
        look = replayed(stage.engine, stage.prompts, self.options.sampling)
        for way, parity in self.parities.items():
            if parity.differences:
                self.parities[way] = compare(self.samples, way, PLAINLY.name, pieces(stage.engine), look)

    def _notes(self) -> list[str]:
        notes = [] if self.options.drafter else [_NO_DRAFTER]
        differences = [each.line() for parity in self.parities.values() for each in parity.differences]
        return [*notes, *([_NEAR_TIES, *differences] if differences else [])]
