"""The light and the dark theme, and the colours of drafters and diffs in any theme."""

import os
from collections.abc import Mapping

from textual.color import Color, ColorParseError
from textual.theme import Theme

LIGHT_BACKGROUNDS = ("7", "15")  # white and bright white in COLORFGBG


def _scrollbars(track: str, bar: str, grabbed: str) -> dict[str, str]:
    tracks = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")
    return {
        **dict.fromkeys((*tracks, "scrollbar-corner-color"), track),
        "scrollbar": bar,
        "scrollbar-hover": grabbed,
        "scrollbar-active": grabbed,
    }


DARK = Theme(
    name="laguna-dark",
    primary="#6cc5c9",
    secondary="#86aedb",
    accent="#e8b873",
    warning="#e5c07b",
    error="#ec8080",
    success="#98c68a",
    foreground="#d7dee3",
    background="#0f1519",
    surface="#161e24",
    panel="#1d272e",
    dark=True,
    variables={
        "border": "#6cc5c9",
        "border-blurred": "#34434c",
        "input-selection-background": "#6cc5c9 30%",
        "screen-selection-background": "#2f5558",
        "block-cursor-background": "#6cc5c9",
        **_scrollbars("#0f1519", "#34434c", "#6cc5c9"),
        "block-cursor-foreground": "#0f1519",
    },
)

LIGHT = Theme(
    name="laguna-light",
    primary="#0b6e77",
    secondary="#2c5a96",
    accent="#96520c",
    warning="#865400",
    error="#b02a37",
    success="#2d6a2f",
    foreground="#22303a",
    background="#fbfaf7",
    surface="#f1efe9",
    panel="#e8e5dc",
    dark=False,
    variables={
        "border": "#0b6e77",
        "border-blurred": "#c3beb1",
        "input-selection-background": "#0b6e77 25%",
        "screen-selection-background": "#bcdcdc",
        "block-cursor-background": "#0b6e77",
        **_scrollbars("#fbfaf7", "#c3beb1", "#0b6e77"),
        "block-cursor-foreground": "#fbfaf7",
    },
)


# Each drafter has a colour in every theme: `tint-…` as a background of text, `ink-…` for bars.
_INKS = {"teal": "#1f9aa5", "amber": "#cf8a1f", "violet": "#8a63d2", "rose": "#c8577c"}
_TINT_STRENGTH = 0.38
# Background colours of a diff; pale, because highlighted code is drawn on them.
_DIFF_COLOURS = {"added": "#3d9a50", "dropped": "#cf4f5a"}
_DIFF_STRENGTHS = {"": 0.2, "-part": 0.42}


def tint_variables(theme: Theme) -> dict[str, str]:
    """These colours as CSS variables. Backgrounds are blended here, because text styles have no transparency."""
    inks = {f"ink-{name}": colour for name, colour in _INKS.items()}
    try:
        background = Color.parse(theme.background or ("#121212" if theme.dark else "#e0e0e0"))
    except ColorParseError:  # a theme of the terminal's own colours, which are unknown
        background = Color.parse("#121212" if theme.dark else "#e0e0e0")
    tints = {f"tint-{name}": background.blend(Color.parse(ink), _TINT_STRENGTH).hex for name, ink in _INKS.items()}
    diff = {
        f"tint-{name}{part}": background.blend(Color.parse(ink), strength).hex
        for name, ink in _DIFF_COLOURS.items()
        for part, strength in _DIFF_STRENGTHS.items()
    }
    return inks | tints | diff


def automatic(environment: Mapping[str, str] = os.environ) -> str:
    """The theme for the terminal's background by `COLORFGBG` ("foreground;background"); dark if that is not set."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in LIGHT_BACKGROUNDS else DARK.name
