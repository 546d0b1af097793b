"""Generates the README's screenshots from the real app: `python packaging/screenshot.py`, after `make run`.

The bundled models really answer and really draft; only the key presses are scripted. In the picture of a command a
scripted model stands in for one that can run commands: its tools, approvals and sandbox are real.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.base.settings import Settings
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.session.session import Session
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.models.setup_screen import SetupScreen
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.tui_settings import TuiSettings

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP))
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
        ("rename find_symbols to symbols_called in laguna_tui/repo/search/symbol_search.py",),
        (),
        (100, 28),
        Settings(),
    ),
    # Shows the machine that the picture is taken on.
    Picture("setup.svg", (), ("f8",), (100, 28), Settings()),
)


# The tests wait, so that the picture can be taken while they run.
SHOP = {
    "shop/__init__.py": "",
    "shop/prices.py": """\
def total(prices: list[float], discount: float = 0.0) -> float:
    \"\"\"Sum of the prices, less the discount.\"\"\"
    return sum(prices) + discount


def with_tax(price: float, rate: float) -> float:
    \"\"\"The price with its tax.\"\"\"
    return price * (1 + rate)
""",
    "test_prices.py": """\
import time
import unittest

from shop.prices import total, with_tax


class Prices(unittest.TestCase):
    def setUp(self):
        time.sleep(0.5)

    def test_nothing(self):
        self.assertEqual(total([]), 0.0)

    def test_sum(self):
        self.assertEqual(total([3.0, 4.0]), 7.0)

    def test_discount(self):
        self.assertEqual(total([3.0, 4.0], 2.0), 5.0)

    def test_tax(self):
        time.sleep(60)
        self.assertEqual(with_tax(100.0, 0.25), 125.0)
""",
}
COMMAND = "python3 -m unittest -v test_prices"


async def take_the_agent(folder: Path) -> None:
    """Have a bug fixed: approve the change, allow the command, and save the screen while it runs."""
    from tests.scripted_model import call, say, scripted_session, think
    from tests.tui.pilot import screen

    for name, text in SHOP.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    old = "    return sum(prices) + discount"
    script = [
        say(think("I look at the function first."), call("read", path="shop/prices.py")),
        say(
            "`total` adds the discount. I correct that and run its tests.",
            call("edit", path="shop/prices.py", old=old, new=old.replace("+", "-")),
        ),
        say(call("shell", cmd=COMMAND)),
        "It was stopped.",
    ]
    session = scripted_session(folder, script, context=32_768)
    app = LagunaApp(session, TuiSettings(theme="laguna-dark"), ModelSetup(Settings()))
    async with app.run_test(size=(100, 32)) as pilot:
        await free(app)
        await pilot.press(*"a discount makes an order dearer, fix it", "enter")
        for _ in ("the change", "the command"):
            await asyncio.sleep(POLL_S)
            await free(app)
            # Longer than the panel takes no answer.
            await asyncio.sleep(1.0)
            await pilot.press("y")
        while screen(app).count("... ok") < 3:
            await asyncio.sleep(POLL_S)
        await pilot.pause(POLL_S)
        save(app, "agent.svg")
        await pilot.press("escape")
        await free(app)


def save(app: LagunaApp, name: str) -> None:
    """Save the screen as a picture."""
    TARGET.mkdir(exist_ok=True)
    (TARGET / name).write_text(app.export_screenshot(title="laguna-tui"), encoding="utf-8")


async def take(picture: Picture, folder: Path) -> None:
    """Ask the questions about a folder, press the keys and save the screen."""
    session = Session(picture.settings, folder)
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
        if isinstance(app.screen, SetupScreen):
            # It measures the machine first.
            await app.workers.wait_for_complete()
        await pilot.pause(POLL_S)
        save(app, picture.name)
        if app.approval_panel.has_focus:
            # A question that is open keeps the process from ending.
            await pilot.press("escape")
            await free(app)


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
        asyncio.run(take_the_agent(Path(home) / "shop"))
