"""`bench profile`: where the time of a round goes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from laguna_engine.events import Round
from laguna_tui.bench import figures
from laguna_tui.bench.measurement import Outcome
from laguna_tui.bench.runs import PLAINLY, Way, drafted
from laguna_tui.bench.table import Table, number
from laguna_tui.bench.turns import Turns

_COLUMNS = ("tokens drafted", "rounds", "draft", "verify", "sample", "other", "whole round")

_P90 = 0.9
_ALL = "all"

_NOTE = "Microseconds: median / 90th percentile. Other is the engine's own: choosing, keeping, telling."


@dataclass(frozen=True, slots=True)
class Phase:
    """Seconds of one phase of a round."""

    median: float | None
    p90: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Phase":
        """From what it took in each round."""
        return cls(figures.middle(values), figures.percentile(values, _P90))

    def cell(self) -> str:
        """In microseconds."""
        if self.median is None or self.p90 is None:
            return "–"
        return f"{1e6 * self.median:,.0f} / {1e6 * self.p90:,.0f}"


@dataclass(frozen=True, slots=True)
class Row:
    """The rounds that drafted so many tokens, or all."""

    length: str
    rounds: int
    phases: Mapping[str, Phase]

    @classmethod
    def of(cls, rounds: Sequence[Round], length: str) -> "Row":
        """Times of these rounds."""
        names = (*figures.PHASES, "total")
        return cls(length, len(rounds), {name: Phase.of(figures.seconds(rounds, name)) for name in names})

    def fields(self) -> Mapping[str, object]:
        """As JSON-able values."""
        return asdict(self)

    def cells(self) -> list[str]:
        """As a row of the table."""
        return [self.length, str(self.rounds), *(phase.cell() for phase in self.phases.values())]


@dataclass(slots=True)
class Profile(Turns):
    """Rounds of one drafter, at the lengths that the engine chooses."""

    def ways(self) -> list[Way]:
        """Plainly, for the comparison, and with drafts."""
        return [PLAINLY, drafted(self.options.use)]

    def outcome(self) -> Outcome:
        """One row for all rounds and one for every length."""
        rounds = figures.rounds_of(figures.of_way(self.samples, self.options.use))
        lengths = sorted({spun.drafted for spun in rounds})
        rows = [Row.of(rounds, _ALL)] if rounds else []
        rows += [Row.of([spun for spun in rounds if spun.drafted == length], str(length)) for length in lengths]
        table = Table(_COLUMNS, [row.cells() for row in rows])
        return Outcome(
            table, [row.fields() for row in rows], [f"Who drafts: {self.options.use}. {_NOTE}", *self._notes()]
        )

    def _notes(self) -> list[str]:
        chosen = figures.of_way(self.samples, self.options.use)
        between, plain = figures.between_rounds(chosen), figures.rate(figures.of_way(self.samples, PLAINLY.name))
        if between is None or plain is None:
            return []
        return [
            f"Between two rounds: {number(1e6 * between, 0)} on average, to commit the tokens and tell of them. "
            f"A plainly decoded token takes {number(1e6 / plain, 0)}."
        ]
