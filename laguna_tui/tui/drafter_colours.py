"""The colours of the drafters, and the legend that explains them."""

from dataclasses import dataclass

from laguna_engine.events import Source
from laguna_tui.tui.text_lines import GAP, MUTED, StyledText, cells, fitted, width_of

TEXT, STRONG = "$foreground", "bold $foreground"
COLOURS = {"teal": "underline", "amber": "bold", "violet": "reverse", "rose": "italic"}
"""What stands in for each colour that a drafter can have where there are no colours; the theme knows the same keys."""

_OTHER = "rose"
"""For a key that is none of these."""


def colour_of(source: Source) -> str:
    """Return the key of a drafter's colour in the theme; empty for the target, which has none."""
    if source == Source.TARGET:
        return ""
    return source.colour if source.colour in COLOURS else _OTHER


def text_style(source: Source, *, mono: bool = False) -> str:
    """Return the style of the words that it proposed; `mono` where there are no colours."""
    colour = colour_of(source)
    if mono:
        return COLOURS[colour] if colour else "none"
    return f"$foreground on $tint-{colour}" if colour else "$foreground"


def bar_style(source: Source) -> str:
    """Return the colour of its bars."""
    colour = colour_of(source)
    return f"$ink-{colour}" if colour else "$foreground 60%"


POSITION_BARS = "$ink-teal"
"""The colour of bars that are about all drafters."""


def percent(share: float) -> str:
    """0.614 -> "61 %"."""
    return f"{round(100 * share)} %"


@dataclass(frozen=True, slots=True)
class Legend:
    """What the tints of a text mean, with the share of the tokens of those that have one; `mono`: without colours."""

    shares: tuple[tuple[Source, float], ...]
    mono: bool

    def parts(self, width: int) -> list[StyledText]:
        """In one row. The shares go first where there is no room."""
        ordered = sorted(self.shares, key=lambda pair: pair[0] == Source.TARGET)
        names = [[(f" {source.label} ", text_style(source, mono=self.mono))] for source, _ in ordered]
        full = [
            [*name, (f" {percent(share)}", MUTED)] if share else name
            for name, (_, share) in zip(names, ordered, strict=True)
        ]
        room = any(share for _, share in ordered) and (
            sum(width_of(each) + cells(GAP[0]) for each in full) - cells(GAP[0]) <= width
        )
        return fitted(full if room else names, width)
