"""`bench model`: the speed-up that acceptance and costs predict, beside the one that was measured.

Acceptance by position comes from the longest drafts, costs from each length's own rounds; the arithmetic is the
engine's own (`laguna_engine.speculate.economics`). A large difference means that something costs time that no round
shows, or that what was measured does not hold for long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from laguna_engine.speculate.economics import constant_acceptance_tokens, expected_tokens, speedup
from laguna_tui.bench import figures
from laguna_tui.bench.measurement import Outcome
from laguna_tui.bench.runs import PLAINLY, Sample, Way
from laguna_tui.bench.sweep import lengths_of
from laguna_tui.bench.table import Table, number, percent
from laguna_tui.bench.turns import Turns

_COLUMNS = ("draft", "tokens/round", "expected", "round, in tokens", "predicted", "by one a", "measured", "off by")


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured of a drafter.

    chances: for each position, that it stands if those before it do. constant: one acceptance for all positions that
    brings as many tokens at the longest draft. plain_s: of a plainly decoded token.
    """

    chances: tuple[float, ...]
    constant: float
    plain_s: float

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> "Costs | None":
        """From the longest drafts and the plain answers; None before there are both."""
        plain = figures.rate(figures.of_way(samples, PLAINLY.name))
        lengths = [int(sample.way) for sample in samples if sample.way.isdecimal()]
        if not plain or not lengths:
            return None
        rounds = figures.rounds_of(figures.of_way(samples, str(max(lengths))))
        chances = tuple(figures.conditional(rounds))
        return cls(chances, constant_for(expected_tokens(chances)[-1], len(chances)), 1 / plain)


@dataclass(frozen=True, slots=True)
class Row:
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
    def of(cls, samples: list[Sample], length: int, costs: Costs) -> "Row | None":
        """The figures of one length; None when no round drafted so many tokens."""
        rounds = figures.rounds_of(figures.of_way(samples, str(length)))
        full = [spun for spun in rounds if spun.drafted == length]
        times = [figures.middle(figures.seconds(full, phase)) for phase in ("draft", "verify", "sample")]
        if not full or None in times:
            return None
        round_s = sum(time for time in times if time is not None)
        committed = expected_tokens(costs.chances)
        expected = committed[min(length, len(committed) - 1)]
        predicted = speedup(expected, round_s, costs.plain_s)
        constant = speedup(constant_acceptance_tokens(costs.constant, length), round_s, costs.plain_s)
        measured = figures.ratio_median(samples, str(length), PLAINLY.name)
        return cls(
            length,
            figures.summed(rounds).tokens_per_round,
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
class Model(Turns):
    """The economics of one drafter."""

    def ways(self) -> list[Way]:
        """Plainly and at every length."""
        return lengths_of(self.options)

    def outcome(self) -> Outcome:
        """One row a length that was drafted."""
        costs = Costs.of(self.samples)
        if costs is None:
            return Outcome(Table(_COLUMNS), [])
        lengths = sorted({int(sample.way) for sample in self.samples if sample.way.isdecimal()})
        found = (Row.of(self.samples, length, costs) for length in lengths if length)
        rows = [row for row in found if row is not None]
        return Outcome(
            Table(_COLUMNS, [row.cells() for row in rows]), [row.fields() for row in rows], self._notes(costs, rows)
        )

    def _notes(self, costs: Costs, rows: Sequence[Row]) -> list[str]:
        positions = " ".join(percent(chance) for chance in costs.chances) or "none"
        notes = [
            f"Who drafts: {self.options.use}. Acceptance by position, if all before stood: {positions}; one a for all: "
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
