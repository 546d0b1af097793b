"""The speed panel: a strip above the input on small screens, a column on wide ones.

Each row of the strip has segments in the order of importance; those that do not fit are left out.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from laguna_engine.config import Speculation
from laguna_engine.events import Source
from laguna_tui.base import units
from laguna_tui.base.events import DraftRound
from laguna_tui.tui.drafter_colours import POSITION_BARS, STRONG, TEXT, bar_style, percent, text_style
from laguna_tui.tui.speed.speed_stats import MODE_NAMES, Speed
from laguna_tui.tui.text_lines import (
    BAR_FULL,
    MUTED,
    StyledText,
    TextRun,
    cells,
    crop,
    fitted,
    fitting,
    plain,
    sparkline,
    wrap,
)

_HEADING = "bold $primary"
_LABEL_CELLS = 10
_SHARE_CELLS = 6
# Longer drafts are rare; their positions would push everything else off the screen.
_MAX_POSITIONS = 16
_NAMED_POSITIONS = 4
Rows = list[list[StyledText]]


def speed_column(speed: Speed, rounds: Sequence[DraftRound], width: int, height: int) -> Rows:
    """Return the rows of a column of `width` cells, at least 40; those below `height` are left out."""
    sections = (
        ("in short", _wrapped(advice(speed)[0], width)),
        ("tokens per second", _rate_rows(speed)),
        ("per round (a pass of the model)", _round_rows(speed)),
        ("accepted, by position in the draft", _position_rows(speed, width)),
        ("tokens drafted per round", _length_rows(speed, width)),
        ("the answer's tokens, by drafter", _share_rows(speed, width)),
        ("this round", _wrapped(speed.reason, width)),
        ("rounds: accepted/drafted, and their text", [round_row(each, width) for each in reversed(rounds[-height:])]),
    )
    rows: Rows = []
    for title, body in sections:
        if body:
            rows += [*([[]] if rows else []), [(title, _HEADING)], *(fitted([row], width) for row in body)]
    return rows[:height]


def _labelled(name: str, *parts: StyledText) -> list[StyledText]:
    return [(f"{name:<{_LABEL_CELLS}}", MUTED), *parts]


def _rate_rows(speed: Speed) -> Rows:
    def row(name: str, rate: float | None, mark: str = "") -> Rows:
        return [_labelled(name, (f"{mark}{units.rate(rate)}", TEXT))] if rate is not None else []

    rows = [*row("write", speed.decode), *row("undrafted", speed.plain, "≈ ")]
    if speed.gain is not None:
        rows.append(_labelled("gain", (f"{speed.gain:.2f}×", gain_style(speed.gain))))
    return [*rows, *row("read", speed.prefill)] or [[("–", MUTED)]]


def _round_rows(speed: Speed) -> Rows:
    if not speed.tokens_per_round:
        return []
    rows = [
        _labelled("tokens", (f"{speed.tokens_per_round:.2f}", TEXT), (f" in {units.count(speed.rounds)} rounds", MUTED))
    ]
    if speed.acceptance is not None:
        rows.append(_labelled("accepted", (percent(speed.acceptance), TEXT), (" of drafted tokens", MUTED)))
    return rows


def _position_rows(speed: Speed, width: int) -> Rows:
    places = enumerate(speed.positions[:_MAX_POSITIONS], 1)
    return [_barred(str(place), share, POSITION_BARS, 3, width) for place, share in places]


def _share_rows(speed: Speed, width: int) -> Rows:
    return [
        _barred(crop(source.label, _LABEL_CELLS - 1), share, bar_style(source), _LABEL_CELLS, width)
        for source, share in _by_share(speed.shares)
    ]


def _barred(name: str, share: float, style: str, label: int, width: int) -> list[StyledText]:
    room = max(1, width - label - _SHARE_CELLS)
    bar = BAR_FULL * round(share * room)
    return [(f"{name:<{label}}", MUTED), (f"{bar:<{room}}", style), (f"{percent(share):>{_SHARE_CELLS}}", TEXT)]


def _length_rows(speed: Speed, width: int) -> Rows:
    if not speed.lengths:
        return []
    shown = speed.lengths[-width:]
    top = max(*shown, 1)
    return [[(sparkline(shown, top), "$secondary")], [(f"now {shown[-1]}, at most {top}", MUTED)]]


def _wrapped(text: str, width: int) -> Rows:
    return [[(plain(line.runs), TEXT)] for line in wrap((TextRun(text),), width)] if text else []


def round_row(draft_round: DraftRound, width: int) -> list[StyledText]:
    """Return a round in one row: accepted/drafted tokens, then the accepted, the rejected and the target's text."""
    result = draft_round.round
    head = f"{result.accepted}/{result.drafted}" if result.drafted else "–"
    texts = (
        (draft_round.accepted_text, text_style(result.drafter) if result.drafter else TEXT),
        (result.rejected, "$error strike"),
        (draft_round.instead, TEXT),
    )
    row: list[StyledText] = [(f"{head:<6}", MUTED)]
    room = width - 6
    for text, style in texts:
        shown = crop(one_line(text), room)
        row += [(shown, style)] if shown else []
        room -= cells(shown)
    return row


def one_line(text: str) -> str:
    """Return the text in one line, with symbols for line breaks and tabs."""
    return text.replace("\n", "⏎").replace("\t", "→")


# Height of the strip; a higher panel is a column.
STRIP = 7


class SpeedPanel(Widget):
    """Shows the numbers of an answer. While hidden it is not updated and costs nothing."""

    BORDER_TITLE = "speed"
    DEFAULT_CSS = Path(__file__).with_name("speed_panel.tcss").read_text(encoding="utf-8")

    speed: reactive[Speed] = reactive(Speed())
    rounds: reactive[tuple[DraftRound, ...]] = reactive(())

    def watch_speed(self, before: Speed, speed: Speed) -> None:
        if panel_title(before) != panel_title(speed):
            # Brackets in a title would be markup; a title is text here.
            self.border_title = panel_title(speed).replace("[", "\\[")

    def render(self) -> Content:
        width, height = self.size
        column = height > STRIP
        rows = speed_column(self.speed, self.rounds, width, height) if column else speed_rows(self.speed, width)
        return Content.assemble(*_lines(rows))


def _lines(rows: list[list[StyledText]]) -> list[StyledText]:
    parts: list[StyledText] = []
    for row in rows:
        parts += [*([("\n", "")] if parts else []), *row]
    return parts


LABEL = 7
# A smaller gain is not noticed.
_NOTICED = 1.05


def advice(speed: Speed) -> tuple[str, str]:
    """Return what the numbers mean and what to do about them, in a sentence and a short form."""
    if speed.mode is Speculation.OFF:
        return "Speculation is off: one token at a time. /speculation turns it on.", "Off: /speculation."
    if not speed.rounds:
        nothing = speed.reason or "Nothing is measured yet: ask something."
        return nothing, nothing
    if speed.acceptance is None:
        return "Nothing is drafted, because drafts save no time here. Nothing to do.", "No drafts pay: nothing to do."
    if speed.gain is None:
        return "Drafts are being tried out. /drafts shows them.", "Drafts are tried out: /drafts."
    if speed.gain > _NOTICED:
        times = f"{speed.gain:.1f}×"
        return f"Drafts make this answer {times} as fast. Nothing to do; /drafts shows them.", f"{times} as fast: fine."
    return "Drafts do not save time now. If it stays so, /speculation turns them off.", "No gain: /speculation ends it."


def gain_style(gain: float) -> str:
    """Return the style of a gain, which may be a loss."""
    return "$success" if gain > 1 else TEXT


def speed_rows(speed: Speed, width: int) -> list[list[StyledText]]:
    """Return the rows of a panel of this width, at least 20 cells."""
    rows = [
        _rate_row(speed),
        _round_row(speed),
        _position_row(speed, width),
        _length_row(speed, width),
        _share_row(speed),
        _reason_row(speed),
        [[(fitting(width, *advice(speed)), TEXT)]],
    ]
    return [fitted(row, width) for row in rows]


def _label(text: str) -> StyledText:
    return (f"{text:<{LABEL}}", MUTED)


def _rate_row(speed: Speed) -> list[list[StyledText]]:
    decode = units.rate(speed.decode) if speed.decode is not None else "–"
    segments: list[list[StyledText]] = [[_label("write"), (decode, STRONG)]]
    if speed.gain is not None:
        segments.append([(f"{speed.gain:.2f}×", gain_style(speed.gain))])
    if speed.prefill is not None:
        segments.append([("read ", MUTED), (units.rate(speed.prefill), TEXT)])
    if speed.plain is not None:
        segments.append([("without drafts ", MUTED), (f"≈ {units.rate(speed.plain)}", TEXT)])
    return segments


def _round_row(speed: Speed) -> list[list[StyledText]]:
    if not speed.tokens_per_round:
        return [[_label("round"), ("–", TEXT)]]
    segments: list[list[StyledText]] = [[_label("round"), (f"{speed.tokens_per_round:.2f} tokens per pass", STRONG)]]
    if speed.acceptance is not None:
        segments.append([(percent(speed.acceptance), TEXT), (" of drafts accepted", MUTED)])
    return [*segments, [(f"{units.count(speed.rounds)} rounds", MUTED)]]


def _position_row(speed: Speed, width: int) -> list[list[StyledText]]:
    """Return a sparkline of the acceptance by position, and the first values."""
    if not speed.positions:
        return [[_label("accept"), ("–", TEXT)]]
    bars = sparkline(speed.positions[: max(1, width - LABEL)], 1.0)
    first = " ".join(map(percent, speed.positions[:_NAMED_POSITIONS]))
    return [[_label("accept"), (bars, POSITION_BARS)], [(first, TEXT), (" of the 1st, 2nd, … drafted token", MUTED)]]


def _length_row(speed: Speed, width: int) -> list[list[StyledText]]:
    if not speed.lengths:
        return [[_label("length"), ("–", TEXT)]]
    now = f" {speed.lengths[-1]} {units.plural(speed.lengths[-1], 'token')} drafted"
    room = max(1, width - LABEL - len(now))
    shown = speed.lengths[-room:]
    return [[_label("length"), (sparkline(shown, max(*shown, 1)), "$secondary"), (now, TEXT)]]


def _share_row(speed: Speed) -> list[list[StyledText]]:
    if not speed.shares:
        return [[_label("by"), ("–", TEXT)]]
    ordered = _by_share(speed.shares)
    segments = [
        [("▇ ", bar_style(source)), (f"{source.label} {percent(share)}", TEXT)] for source, share in ordered if share
    ]
    return [[_label("by"), *segments[0]], *segments[1:], [("of the tokens", MUTED)]]


def _by_share(shares: Mapping[Source, float]) -> list[tuple[Source, float]]:
    """Sorted by share, the target last."""
    return sorted(shares.items(), key=lambda pair: (pair[0] == Source.TARGET, -pair[1]))


def _reason_row(speed: Speed) -> list[list[StyledText]]:
    return [[_label("now"), (speed.reason or "–", TEXT)]]


def panel_title(speed: Speed) -> str:
    """Return the title of the panel."""
    parts = ["speed", *([MODE_NAMES[speed.mode]] if speed.mode else []), *([speed.drafter] if speed.drafter else [])]
    return " · ".join(parts)
