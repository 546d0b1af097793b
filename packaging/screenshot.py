"""Make the README's picture from the real app: `python packaging/screenshot.py`, after `make run` has worked once.

The bundled model really answers; only the key presses are scripted.
"""

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path

from laguna_tui.compose import LocalSession
from laguna_tui.settings import Settings
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.session import TuiSettings
from laguna_tui.tui.turns import State

TOP = Path(__file__).resolve().parent.parent
TARGET = TOP / "assets" / "screenshots" / "answer.svg"
QUESTIONS = ("where is StreamParser defined?", "what does run_supervised take?")
SIZE = (100, 28)
POLL_S = 0.1


async def take(folder: Path) -> None:
    """Ask the questions about a folder and save the screen."""
    app = LagunaApp(LocalSession.prepare(Settings(), folder), TuiSettings(theme="laguna-dark"))
    async with app.run_test(size=SIZE) as pilot:
        for question in QUESTIONS:
            while app.state is not State.READY:
                await asyncio.sleep(POLL_S)
            await pilot.press(*question, "enter")
            await asyncio.sleep(POLL_S)
        while app.state is not State.READY:
            await asyncio.sleep(POLL_S)
        await pilot.pause(POLL_S)
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(app.export_screenshot(title="laguna-tui"), encoding="utf-8")


if __name__ == "__main__":
    # A clone in a home of its own, so that the picture shows no path of the machine it was taken on.
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        clone = Path(home) / "laguna-tui"
        subprocess.run(["git", "clone", "--quiet", TOP, clone], check=True)
        asyncio.run(take(clone))
