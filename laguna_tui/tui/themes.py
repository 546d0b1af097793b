"""The light and the dark theme, and the colours of drafters and diffs in any theme.

Colour systems are named as in Rich: "truecolor", "256" and "standard" for 16 colours.
"""

import os
from collections.abc import Mapping
from dataclasses import replace

from textual.color import Color
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


# Rich maps the tints of the backgrounds above to black, white and yellow in 256 colours, but grey to grey.
_DARK_GREYS = "#121212", "#1c1c1c", "#262626", "#d7d7d7"
_LIGHT_GREYS = "#ffffff", "#eeeeee", "#e4e4e4", "#262626"

# Each drafter has a colour in every theme: `tint-…` as a background of text, `ink-…` for bars.
_INKS = {"teal": "#1f9aa5", "amber": "#cf8a1f", "violet": "#8a63d2", "rose": "#c8577c"}
_TINT_STRENGTH = 0.38
# Background colours of a diff; pale, because highlighted code is drawn on them.
_DIFF_COLOURS = {"added": "#3d9a50", "dropped": "#cf4f5a"}
_DIFF_STRENGTHS = {"": 0.2, "-part": 0.42}

_DARK_256 = {
    "teal": "#005f5f", "amber": "#5f5f00", "violet": "#5f5f87", "rose": "#87005f",
    "added": "#005f00", "added-part": "#008700", "dropped": "#5f0000", "dropped-part": "#870000",
}  # fmt: skip
_LIGHT_256 = {
    "teal": "#afd7d7", "amber": "#ffd7af", "violet": "#d7d7ff", "rose": "#ffd7ff",
    "added": "#d7ffd7", "added-part": "#afffaf", "dropped": "#ffd7d7", "dropped-part": "#ffafaf",
}  # fmt: skip
"""Tints of the 256 colours: blended ones would be black or grey, or those of another drafter."""
_ANSI_INKS = {"teal": "ansi_cyan", "amber": "ansi_yellow", "violet": "ansi_blue", "rose": "ansi_magenta"}
"""Of the terminal's own 16 colours, none is pale enough for a background; ways of writing stand in for the tints."""


def tint_variables(theme: Theme, colour_system: str | None = None) -> dict[str, str]:
    """Return these colours as CSS variables. Backgrounds are blended here, because text styles have no transparency."""
    if theme.ansi:
        inks, tints = _ANSI_INKS, dict.fromkeys(_DARK_256, "ansi_default")
    elif colour_system == "256":
        inks, tints = _INKS, _DARK_256 if theme.dark else _LIGHT_256
    else:
        inks, tints = _INKS, _blended(Color.parse(theme.background or ("#121212" if theme.dark else "#e0e0e0")))
    named = {f"ink-{name}": colour for name, colour in inks.items()}
    return named | {f"tint-{name}": colour for name, colour in tints.items()}


def _blended(background: Color) -> dict[str, str]:
    tints = {name: background.blend(Color.parse(ink), _TINT_STRENGTH).hex for name, ink in _INKS.items()}
    return tints | {
        f"{name}{part}": background.blend(Color.parse(ink), strength).hex
        for name, ink in _DIFF_COLOURS.items()
        for part, strength in _DIFF_STRENGTHS.items()
    }


def own_themes(colour_system: str | None) -> tuple[Theme, Theme]:
    """Return the app's themes for this colour system."""
    if colour_system != "256":
        return DARK, LIGHT
    return _grey(DARK, *_DARK_GREYS), _grey(LIGHT, *_LIGHT_GREYS)


def _grey(theme: Theme, background: str, surface: str, panel: str, foreground: str) -> Theme:
    variables = {name: background if colour == theme.background else colour for name, colour in theme.variables.items()}
    return replace(
        theme, background=background, surface=surface, panel=panel, foreground=foreground, variables=variables
    )


def automatic(colour_system: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the theme for the terminal.

    It is light or dark by `COLORFGBG` ("foreground;background"), dark if that is not set. In 16 colours it is one of
    Textual's with the terminal's own colours, because the app's would all become grey.
    """
    light = environment.get("COLORFGBG", "").rpartition(";")[2] in LIGHT_BACKGROUNDS
    if colour_system == "standard":
        return "ansi-light" if light else "ansi-dark"
    return LIGHT.name if light else DARK.name
