"""Colours are readable in both themes, and the app starts without importing model or engine."""

import subprocess
import sys

import pytest
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme
from textual.widgets import OptionList

from laguna_tui.tui import themes
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.drafter_colours import COLOURS
from laguna_tui.tui.history.rewind_screen import RewindScreen
from laguna_tui.tui.jobs_screen import JobsScreen
from laguna_tui.tui.transcript.transcript_view import TONES
from laguna_tui.tui.tui_settings import TuiSettings
from tests.tui.history.test_history_pictures import PLAN, POINTS
from tests.tui.pilot import ask, running, screen, until
from tests.tui.scripted import PlayedSession
from tests.tui.story import STORY
from tests.tui.test_jobs import session as jobs_session

# WCAG AA for text; what only decorates (rules, bars) may be fainter.
READABLE = 4.5
VISIBLE = 1.5
# WCAG's least for large text; the tints are looked at now and then, and the plain text is one key away.
TINTED = 3.0
DECORATION = {"rule", "quote-bar"}
HEAVY = ("llama_cpp", "numpy", "sqlite3", "laguna_engine.engine", "laguna_engine.native", "jinja2", "huggingface_hub")


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of WCAG 2.2."""

    def luminance(colour: Color) -> float:
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [themes.DARK.name, themes.LIGHT.name])
async def test_every_tone_can_be_read(theme: str) -> None:
    async with running(PlayedSession(), theme=theme) as (app, pilot):
        await pilot.pause()
        for tone in TONES:
            ground = tone.partition("-")[0] if tone.startswith(("code", "user")) else "text"
            style = app.transcript.palette(f"{ground} {tone}")
            seen = contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
            least = VISIBLE if tone in DECORATION else READABLE
            assert seen >= least, f"{tone} on {ground} in {theme}: {seen:.1f}"


@pytest.mark.parametrize("theme", [themes.DARK.name, themes.LIGHT.name])
async def test_tinted_text_can_be_read(theme: str) -> None:
    async with running(PlayedSession(), theme=theme) as (app, pilot):
        await pilot.pause()
        for tint in (f"by-{colour}" for colour in COLOURS):
            for tone in ("text", "code", "thinking-text", "code code-keyword", "code code-string", "inline-code"):
                style = app.transcript.palette(f"text {tone} {tint}")
                seen = contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
                assert seen >= TINTED, f"{tone} {tint} in {theme}: {seen:.1f}"


LISTS = {
    "rewind": lambda: RewindScreen(lambda: POINTS, lambda number: (PLAN, None)),
    "jobs": lambda: JobsScreen(jobs_session().commands),
}


@pytest.mark.parametrize("theme", [themes.DARK.name, themes.LIGHT.name])
@pytest.mark.parametrize("name", LISTS)
async def test_every_row_of_a_list_can_be_read_the_chosen_one_too(theme: str, name: str) -> None:
    async with running(PlayedSession(), theme=theme) as (app, pilot):
        shown = LISTS[name]()
        app.push_screen(shown)
        await until(pilot, lambda: shown.is_mounted and shown.query_one(OptionList).highlighted is not None)
        options = shown.query_one(OptionList)
        texts = [part for row in range(options.size.height) for part in options.render_line(row) if part.text.strip()]
        grounds = {part.style.bgcolor for part in texts}
        assert len(grounds) == 2, "the chosen row differs from the others"
        for part in texts:
            seen = contrast(Color.from_rich_color(part.style.color), Color.from_rich_color(part.style.bgcolor))
            assert seen >= READABLE, f"{part.text} in {theme}: {seen:.1f}"


def test_the_theme_follows_the_terminal_and_the_settings() -> None:
    assert themes.automatic("truecolor", {"COLORFGBG": "0;15"}) == themes.LIGHT.name
    assert themes.automatic("256", {"COLORFGBG": "15;default;0"}) == themes.DARK.name
    assert themes.automatic(None, {}) == themes.DARK.name
    assert themes.automatic("standard", {}) == "ansi-dark"
    assert themes.automatic("standard", {"COLORFGBG": "0;15"}) == "ansi-light"


def in_256(colour: str) -> Color:
    """The colour that a terminal with 256 colours shows."""
    return Color.from_rich_color(Color.parse(colour).rich_color.downgrade(ColorSystem.EIGHT_BIT))


@pytest.mark.parametrize("theme", themes.own_themes("256"), ids=lambda theme: theme.name)
def test_backgrounds_differ_and_text_on_them_can_be_read_in_256_colours(theme: Theme) -> None:
    tints = [value for name, value in themes.tint_variables(theme, "256").items() if name.startswith("tint-")]
    grounds = [in_256(colour) for colour in (theme.background, theme.surface, theme.panel, *tints)]
    assert len(set(grounds)) == len(grounds) == 11
    text = in_256(theme.foreground)
    assert [ground.hex for ground in grounds if contrast(text, ground) < TINTED] == []


@pytest.mark.parametrize(
    ("kind", "theme", "background"),
    [("xterm-16color", "ansi-dark", "ansi_default"), ("xterm-256color", themes.DARK.name, "#121212")],
)
async def test_the_colours_fit_the_terminal(kind: str, theme: str, background: str, monkeypatch) -> None:
    monkeypatch.delenv("COLORTERM")
    monkeypatch.setenv("TERM", kind)
    async with running(PlayedSession(), theme="auto") as (app, _):
        assert (app.theme, app.current_theme.background) == (theme, background)


async def test_of_16_colours_none_is_a_background_and_what_changed_is_underlined(monkeypatch) -> None:
    monkeypatch.delenv("COLORTERM")
    monkeypatch.setenv("TERM", "xterm-16color")
    async with running(PlayedSession(), theme="auto") as (app, pilot):
        await pilot.pause()
        for change in ("added", "dropped"):
            line, part = (app.transcript.palette(f"text code {change}{part}") for part in ("", f" {change}-part"))
            assert (line.bgcolor.is_default, part.bgcolor.is_default) == (True, True)
            assert (line.underline, part.underline) == (None, True)


@pytest.mark.parametrize("theme", ["textual-light", "nord", "ansi-dark", "ansi-light", "no-such-theme"])
async def test_any_theme_can_be_chosen(theme: str) -> None:
    async with running(PlayedSession(STORY), theme=theme) as (app, pilot):
        await ask(app, pilot, "q")
        assert app.theme == (theme if theme in app.available_themes else themes.DARK.name)
        assert "design notes" in screen(app)


async def test_no_color_means_none(monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = LagunaApp(PlayedSession(STORY), TuiSettings(theme="laguna-dark"))
    async with app.run_test(size=(80, 40)) as pilot:
        await ask(app, pilot, "q")
        strips = app.screen._compositor.render_strips()
        for line_filter in app._filters:
            strips = [strip.apply_filter(line_filter, Color(0, 0, 0)) for strip in strips]
    styles = [style for strip in strips for _, style, _ in strip if style and style.color]
    colours = {style.color.triplet for style in styles if style.color.triplet}
    assert colours
    assert all(red == green == blue for red, green, blue in colours)


def test_the_screen_imports_no_engine_and_no_model_library() -> None:
    imports = "import sys, laguna_tui.tui.app, laguna_tui.compose"
    code = f"{imports}; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


async def test_an_unknown_theme_is_reported_once() -> None:
    async with running(PlayedSession(), theme="no-such-theme") as (app, pilot):
        await pilot.pause()
        assert [note.message for note in app._notifications] == [
            "There is no theme “no-such-theme”. Choose one with /theme."
        ]
