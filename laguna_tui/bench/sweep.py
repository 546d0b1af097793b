"""`bench sweep`: one drafter at every draft length, from none to all it can draft at once."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from laguna_engine.draft.drafter import MAX_DRAFT
from laguna_engine.gguf import drafter as drafter_file
from laguna_tui.bench import figures
from laguna_tui.bench.measurement import Outcome
from laguna_tui.bench.options import DFLASH, Options
from laguna_tui.bench.runs import PLAINLY, Sample, Way, drafted
from laguna_tui.bench.table import Table, number
from laguna_tui.bench.turns import Turns

_COLUMNS = (
    "draft",
    "tok/s",
    "x plain, median",
    "x plain, best",
    "tokens/round",
    "draft ms",
    "verify ms",
    "stood, by position",
)

_NOTE = (
    "Costs are medians over the rounds that drafted so many tokens. By position: of the drafts that had a token there,"
    " the percentage in which it stood."
)


@dataclass(frozen=True, slots=True)
class Row:
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
    def of(cls, samples: list[Sample], way: str) -> "Row":
        """The figures of one length."""
        chosen = figures.of_way(samples, way)
        summary = figures.summed(figures.rounds_of(chosen))
        full = figures.rounds_of(chosen, int(way)) if way.isdecimal() else []
        return cls(
            way,
            figures.rate(chosen),
            figures.ratio_median(samples, way, PLAINLY.name),
            figures.ratio_best(samples, way, PLAINLY.name),
            summary.tokens_per_round,
            figures.middle(figures.seconds(full, "draft")),
            figures.middle(figures.seconds(full, "verify")),
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
class Sweep(Turns):
    """Every length of one drafter."""

    def ways(self) -> list[Way]:
        """Plainly and at every length."""
        return lengths_of(self.options)

    def outcome(self) -> Outcome:
        """One row a length."""
        names = [way.name for way in self.ways() if figures.of_way(self.samples, way.name)]
        rows = [Row.of(self.samples, name) for name in names]
        table = Table(_COLUMNS, [row.cells() for row in rows])
        return Outcome(table, [row.fields() for row in rows], [f"Who drafts: {self.options.use}. {_NOTE}"])


def lengths_of(options: Options) -> list[Way]:
    """Plain decoding, and every length there is."""
    return [PLAINLY, *(drafted(options.use, length) for length in range(longest(options) + 1))]


def longest(options: Options) -> int:
    """The most tokens drafted at once; ModelFileError when the drafter's file cannot be read."""
    if options.use == DFLASH and options.drafter is not None:
        return min(MAX_DRAFT, drafter_file.read(options.drafter).longest)
    return MAX_DRAFT
