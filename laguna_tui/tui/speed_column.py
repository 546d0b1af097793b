"""The same numbers as in `speed`, one below the other, for a tall and narrow column beside the transcript."""

from collections.abc import Sequence

from laguna_engine.events import Source
from laguna_tui.base import units
from laguna_tui.events import DraftRound
from laguna_tui.tui import meter
from laguna_tui.tui.markdown.flow import Run, plain
from laguna_tui.tui.markdown.wrap import cells, crop, wrap
from laguna_tui.tui.speed import BARS, SWITCHED_OFF, TEXT, Speed, by_worth, fitted, gain_style, percent
from laguna_tui.tui.status import MUTED, Part

HEAD = "bold $primary"
_NAME = 9
_SHARE = 6
# Drafts longer than this are rare; their places would push everything else off the screen.
_PLACES = 16
Rows = list[list[Part]]


def speed_column(speed: Speed, rounds: Sequence[DraftRound], width: int, height: int) -> Rows:
    """Rows for a column of `width` cells, at least 40; what is below `height` is left out, the last rounds first."""
    sections = (
        ("tokens per second", _rates(speed)),
        ("a round", _rounds(speed)),
        ("drafts stand up to place", _places(speed, width)),
        ("draft length over time", _lengths(speed, width)),
        ("who proposed it", _shares(speed, width)),
        ("now", _now(speed, width)),
        ("last rounds", _last(rounds, width, height)),
    )
    rows: Rows = []
    for title, body in sections:
        if body:
            rows += [*([[]] if rows else []), [(title, HEAD)], *(fitted([row], width) for row in body)]
    return rows[:height]


def _named(name: str, *parts: Part) -> list[Part]:
    return [(f"{name:<{_NAME}}", MUTED), *parts]


def _rates(speed: Speed) -> Rows:
    def row(name: str, rate: float | None, mark: str = "") -> Rows:
        return [_named(name, (f"{mark}{units.rate(rate)}", TEXT))] if rate is not None else []

    rows = [*row("decode", speed.decode), *row("plain", speed.plain, "≈ ")]
    if speed.gain is not None:
        rows.append(_named("gain", (f"{speed.gain:.2f}×", gain_style(speed.gain))))
    return [*rows, *row("prefill", speed.prefill)] or [[("–", MUTED)]]


def _rounds(speed: Speed) -> Rows:
    if not speed.tokens_per_round:
        return []
    rows = [
        _named("tokens", (f"{speed.tokens_per_round:.2f}", TEXT), (f" in {units.count(speed.rounds)} rounds", MUTED))
    ]
    if speed.acceptance is not None:
        rows.append(_named("stand", (percent(speed.acceptance), TEXT), (" of what was drafted", MUTED)))
    return rows


def _places(speed: Speed, width: int) -> Rows:
    places = enumerate(speed.positions[:_PLACES], 1)
    return [_barred(str(place), share, BARS[Source.DFLASH], 3, width) for place, share in places]


def _shares(speed: Speed, width: int) -> Rows:
    return [_barred(source.value, share, BARS[source], _NAME, width) for source, share in by_worth(speed.shares)]


def _barred(name: str, share: float, style: str, label: int, width: int) -> list[Part]:
    room = max(1, width - label - _SHARE)
    bar = meter.FULL * round(share * room)
    return [(f"{name:<{label}}", MUTED), (f"{bar:<{room}}", style), (f"{percent(share):>{_SHARE}}", TEXT)]


def _lengths(speed: Speed, width: int) -> Rows:
    if not speed.lengths:
        return []
    shown = speed.lengths[-width:]
    top = max(*shown, 1)
    return [[(meter.columns(shown, top), "$secondary")], [(f"now {shown[-1]}, at most {top}", MUTED)]]


def _now(speed: Speed, width: int) -> Rows:
    reason = SWITCHED_OFF if speed.mode is not None and speed.mode.value == "off" else speed.reason
    return [[(plain(line.runs), TEXT)] for line in wrap((Run(reason),), width)] if reason else []


def _last(rounds: Sequence[DraftRound], width: int, height: int) -> Rows:
    return [round_row(told, width) for told in reversed(rounds[-height:])]


def round_row(told: DraftRound, width: int) -> list[Part]:
    """A round in one row: how many of how many stood, then what stood, what did not, and what came instead."""
    spun = told.round
    head = f"{spun.accepted}/{spun.drafted}" if spun.drafted else "–"
    texts = (
        (told.stood, f"$foreground on $tint-{spun.drafter.value}" if spun.drafter else TEXT),
        (spun.rejected, "$error strike"),
        (told.instead, TEXT),
    )
    row: list[Part] = [(f"{head:<6}", MUTED)]
    room = width - 6
    for text, style in texts:
        shown = crop(one_line(text), room)
        row += [(shown, style)] if shown else []
        room -= cells(shown)
    return row


def one_line(text: str) -> str:
    """Text with its line breaks as signs, for a row."""
    return text.replace("\n", "⏎").replace("\t", "→")
