"""Helpers for tests that drive the whole app without a terminal."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.session.session import Session
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.keys import OwnKeys
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.text_lines import plain
from laguna_tui.tui.transcript.entries import QuestionEntry
from laguna_tui.tui.tui_settings import TuiSettings

PATIENCE_S = 60.0
STEP_S = 0.02


@asynccontextmanager
async def running(
    session: Session,
    *,
    size: tuple[int, int] = (80, 24),
    state_dir: Path | None = None,
    theme: str = "laguna-dark",
    model_setup: ModelSetup | None = None,
    keys: OwnKeys | None = None,
    vim: bool = False,
    sidebar: bool = True,
) -> AsyncIterator[tuple[LagunaApp, Pilot[None]]]:
    """The app on this session, as a context."""
    settings = TuiSettings(state_dir=state_dir, theme=theme, keys=keys, sidebar=sidebar, vim=vim)
    app = LagunaApp(session, settings, model_setup)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield app, pilot


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    waited = 0.0
    while not condition():
        assert waited < PATIENCE_S, f"it never happened; on the screen:\n{screen(pilot.app)}"
        await pilot.pause(STEP_S)
        waited += STEP_S
    await pilot.pause()


async def ready(app: LagunaApp, pilot: Pilot[None]) -> None:
    """Wait until the session is free and everything is drawn."""
    await until(pilot, lambda: app.state is SessionState.READY and not app.hint_bar.queued)


async def ask(app: LagunaApp, pilot: Pilot[None], text: str) -> None:
    """Type a message, send it, wait for the answer."""
    await ready(app, pilot)
    app.prompt.replace_text(text)
    await pilot.press("enter")
    await pilot.pause()
    await ready(app, pilot)


def questions(app: LagunaApp) -> list[str]:
    """The messages in the transcript."""
    return [entry.text for entry in app.document.entries if isinstance(entry, QuestionEntry)]


def transcript(app: LagunaApp) -> str:
    """All rows of the transcript."""
    document = app.document
    lines = (document.line(*document.at(row)) for row in range(document.height))
    return "\n".join(plain(line.runs).rstrip() for line in lines)


def screen(app: LagunaApp) -> str:
    """What the whole screen shows, as the terminal would get it."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())
