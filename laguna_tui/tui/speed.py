"""How fast it is and why, as rows of text for a given width. Values and text only, no widget.

Rows are made from segments in the order of their worth; what does not fit is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from laguna_engine.events import Source
from laguna_engine.options import Speculation
from laguna_tui.base import units
from laguna_tui.tui import meter
from laguna_tui.tui.markdown.wrap import cells, crop
from laguna_tui.tui.status import MUTED, Part

TEXT, STRONG = "$foreground", "bold $foreground"
LABEL = 7
GAP: Part = ("  ", MUTED)
TINTED = {
    Source.DFLASH: "$foreground on $tint-dflash",
    Source.SUFFIX: "$foreground on $tint-suffix",
    Source.FILE: "$foreground on $tint-file",
    Source.TARGET: "$foreground",
}
MONO = {Source.DFLASH: "underline", Source.SUFFIX: "bold", Source.FILE: "reverse", Source.TARGET: "none"}
"""How a drafter's words look in the heat-map, with colours and without."""

BARS = {
    Source.DFLASH: "$ink-dflash",
    Source.SUFFIX: "$ink-suffix",
    Source.FILE: "$ink-file",
    Source.TARGET: "$foreground 60%",
}
"""The colour of a drafter's bars."""

MODE_NAMES = {Speculation.FAST: "fast", Speculation.STRICT: "strict", Speculation.OFF: "spec off"}
SWITCHED_OFF = "switched off; F6 switches it on"


@dataclass(frozen=True, slots=True)
class Speed:
    """The numbers of one answer. Rates in tokens per second, None where nothing was measured.

    gain: how many times as fast as plain decoding it is, by the rounds in which nobody drafted. positions: for each
    place in a draft, the share of drafts that long which stood up to there. lengths: tokens drafted in each round,
    newest last. shares: of the answer's tokens, by who proposed them. reason: why this drafter and length, or why none.
    """

    mode: Speculation | None = None
    drafter: str = ""
    decode: float | None = None
    prefill: float | None = None
    gain: float | None = None
    rounds: int = 0
    tokens_per_round: float | None = None
    acceptance: float | None = None
    positions: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    shares: Mapping[Source, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def plain(self) -> float | None:
        """What the rate would be without speculation."""
        return self.decode / self.gain if self.decode and self.gain else None


def gain_style(gain: float) -> str:
    """The colour of a gain, which may be a loss."""
    return "$success" if gain > 1 else TEXT


def speed_rows(speed: Speed, width: int) -> list[list[Part]]:
    """The rows of a panel of this width, at least 20 cells."""
    rows = [
        _rates(speed),
        _rounds(speed),
        _positions(speed, width),
        _lengths(speed, width),
        _shares(speed),
        _now(speed),
    ]
    return [fitted(row, width) for row in rows]


def fitted(segments: Sequence[list[Part]], width: int) -> list[Part]:
    """The first segments that fit, with gaps between them; the first one is cropped if even that is too wide."""
    row: list[Part] = []
    used = 0
    for segment in segments:
        more = _width(segment) + (cells(GAP[0]) if row else 0)
        if used + more > width:
            break
        row += [*([GAP] if row else []), *segment]
        used += more
    if not row and segments:
        *before, (text, style) = segments[0]
        return [*before, (crop(text, width - _width(before)), style)]
    return row


def _label(text: str) -> Part:
    return (f"{text:<{LABEL}}", MUTED)


def _rates(speed: Speed) -> list[list[Part]]:
    decode = units.rate(speed.decode) if speed.decode is not None else "–"
    segments: list[list[Part]] = [[_label("decode"), (decode, STRONG)]]
    if speed.gain is not None:
        segments.append([(f"{speed.gain:.2f}×", gain_style(speed.gain))])
    if speed.plain is not None:
        segments.append([("plain ", MUTED), (f"≈ {units.rate(speed.plain)}", TEXT)])
    if speed.prefill is not None:
        segments.append([("prefill ", MUTED), (units.rate(speed.prefill), TEXT)])
    return segments


def _rounds(speed: Speed) -> list[list[Part]]:
    if not speed.tokens_per_round:
        return [[_label("round"), ("–", TEXT)]]
    segments: list[list[Part]] = [[_label("round"), (f"{speed.tokens_per_round:.2f} tokens", STRONG)]]
    if speed.acceptance is not None:
        segments.append([(percent(speed.acceptance), TEXT), (" of drafts stand", MUTED)])
    return [*segments, [(f"{units.count(speed.rounds)} rounds", MUTED)]]


def _positions(speed: Speed, width: int) -> list[list[Part]]:
    """Small bars, and the numbers of the first places."""
    if not speed.positions:
        return [[_label("stands"), ("–", TEXT)]]
    bars = meter.columns(speed.positions[: max(1, width - LABEL)], 1.0)
    numbers = [[(percent(share), MUTED)] for share in speed.positions]
    return [[_label("stands"), (bars, BARS[Source.DFLASH])], *numbers]


def _lengths(speed: Speed, width: int) -> list[list[Part]]:
    if not speed.lengths:
        return [[_label("length"), ("–", TEXT)]]
    now = f" {speed.lengths[-1]}"
    room = max(1, width - LABEL - len(now))
    shown = speed.lengths[-room:]
    return [[_label("length"), (meter.columns(shown, max(*shown, 1)), "$secondary"), (now, TEXT)]]


def _shares(speed: Speed) -> list[list[Part]]:
    if not speed.shares:
        return [[_label("by"), ("–", TEXT)]]
    ordered = by_worth(speed.shares)
    segments = [
        [("▇ ", BARS[source]), (f"{source.value} {percent(share)}", TEXT)] for source, share in ordered if share
    ]
    return [[_label("by"), *segments[0]], *segments[1:]]


def by_worth(shares: Mapping[Source, float]) -> list[tuple[Source, float]]:
    """Who drafted most first, the target last."""
    return sorted(shares.items(), key=lambda pair: (pair[0] is Source.TARGET, -pair[1]))


def _now(speed: Speed) -> list[list[Part]]:
    reason = SWITCHED_OFF if speed.mode is Speculation.OFF else speed.reason or "–"
    return [[_label("now"), (reason, TEXT)]]


def title(speed: Speed) -> str:
    """The panel's headline."""
    parts = ["speed", *([MODE_NAMES[speed.mode]] if speed.mode else []), *([speed.drafter] if speed.drafter else [])]
    return " · ".join(parts)


def percent(share: float) -> str:
    """0.614 -> "61 %"."""
    return f"{round(100 * share)} %"


@dataclass(frozen=True, slots=True)
class Legend:
    """What the heat-map's tints mean, with each drafter's share; `mono` where there are no colours."""

    shares: tuple[tuple[Source, float], ...]
    mono: bool

    def parts(self, width: int) -> list[Part]:
        """In one row. The shares go first where there is no room."""
        styles, shares = MONO if self.mono else TINTED, dict(self.shares)
        names: list[list[Part]] = [[(f" {source.value} ", style)] for source, style in styles.items()]
        full = [
            [*name, (f" {percent(shares.get(source, 0.0))}", MUTED)] for name, source in zip(names, styles, strict=True)
        ]
        room = bool(shares) and sum(_width(each) + cells(GAP[0]) for each in full) - cells(GAP[0]) <= width
        return fitted(full if room else names, width)


def _width(segment: Sequence[Part]) -> int:
    return sum(cells(text) for text, _ in segment)
