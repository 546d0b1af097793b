"""Generates the README's screenshots from the real app: `python packaging/screenshot.py`, after `make run`.

The bundled models really answer and really draft; only the key presses are scripted.
"""

import asyncio
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.base.settings import Settings
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.session.local import LocalSession
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.tui_settings import TuiSettings

TOP = Path(__file__).resolve().parent.parent
TARGET = TOP / "assets" / "screenshots"
POLL_S = 0.1


@dataclass(frozen=True)
class Picture:
    """A screenshot: the questions to ask, the keys to press after them, and the terminal's size."""

    name: str
    questions: tuple[str, ...]
    keys: tuple[str, ...]
    size: tuple[int, int]
    settings: Settings


PICTURES = (
    Picture(
        "answer.svg",
        ("what does sanitize_line take?", "who calls sanitize_line?"),
        (),
        (100, 28),
        Settings(),
    ),
    # The draft length is fixed: for a model as small as its drafter drafting does not pay, so the app would not draft.
    Picture(
        "speculation.svg",
        ("where is StreamParser defined?",),
        ("f2", "f3", "f5"),
        (100, 28),
        Settings(draft_length=4),
    ),
    Picture(
        "context.svg",
        ("where is StreamParser defined?", "who calls is_binary?"),
        ("f9", "down", "down", "down", "space"),
        (100, 28),
        Settings(),
    ),
    # The question about the edit is left open.
    Picture(
        "edit.svg",
        ("rename find_symbols to symbols_called in laguna_tui/repo/symbol_search.py",),
        (),
        (100, 28),
        Settings(),
    ),
    # Shows the machine that the picture is taken on.
    Picture("setup.svg", (), ("f8",), (100, 28), Settings()),
)


async def take(picture: Picture, folder: Path) -> None:
    """Ask the questions about a folder, press the keys and save the screen."""
    session = LocalSession.prepare(picture.settings, folder)
    app = LagunaApp(session, TuiSettings(theme="laguna-dark"), ModelSetup(picture.settings))
    async with app.run_test(size=picture.size) as pilot:
        for question in picture.questions:
            await free(app)
            await pilot.press(*question, "enter")
            await asyncio.sleep(POLL_S)
        for key in picture.keys:
            await free(app)
            await pilot.press(key)
            await asyncio.sleep(POLL_S)
        await free(app)
        await pilot.pause(POLL_S)
        TARGET.mkdir(exist_ok=True)
        (TARGET / picture.name).write_text(app.export_screenshot(title="laguna-tui"), encoding="utf-8")


async def free(app: LagunaApp) -> None:
    """Wait until the session is ready, or waits for a decision about an edit."""
    while app.state is not SessionState.READY and not app.approval_panel.has_focus:
        await asyncio.sleep(POLL_S)


if __name__ == "__main__":
    # A clone in a temporary home, so that the picture shows no path of this machine.
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        clone = Path(home) / "laguna-tui"
        subprocess.run(["git", "clone", "--quiet", TOP, clone], check=True)
        for each in PICTURES:
            asyncio.run(take(each, clone))
