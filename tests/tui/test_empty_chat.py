"""The empty chat: what the model can do, example questions about the folder, and the row of keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Static

from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from laguna_tui.tui.controllers.start_controller import EXAMPLES, NO_CODE
from laguna_tui.tui.help_screen import NOTHING, HelpScreen
from laguna_tui.tui.transcript.entries import OfferEntry
from tests.tui.pilot import ask, questions, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession
from tests.tui.scripted_model_setup import LARGER, ScriptedModelSetup

SHOP = {
    "shop/cart.py": "class ShoppingCart:\n    def add_item(self, price):\n        return price\n",
    "shop/order.py": "from shop.cart import ShoppingCart\n\n\ndef place_order(cart: ShoppingCart):\n    return cart\n",
    "shop/main.py": "from shop.order import place_order\n\n\ndef run_shop():\n    return place_order(None)\n",
    "tests/test_cart.py": "from shop.cart import ShoppingCart\n\n\ndef test_empty():\n    assert ShoppingCart()\n",
}


@pytest.fixture
def nano(tmp_path: Path) -> Iterator[Session]:
    """The bundled model on an empty folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    session = Session(Settings(model="nano", threads=1), folder)
    yield session
    session.close()


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def offers(app) -> list[str]:
    return [entry.text for entry in app.document.entries if isinstance(entry, OfferEntry)]


async def test_the_examples_are_taken_from_the_folder_and_the_bundled_model_answers_them(nano):
    write(nano.folder.path, SHOP)
    async with running(nano) as (app, pilot):
        await until(pilot, lambda: EXAMPLES in transcript(app))
        assert "Laguna Nano looks up code and makes small edits; it declines the rest." in transcript(app)
        examples = offers(app)
        assert examples == [
            "Where is ShoppingCart defined?",
            "Where is place_order used?",
            "Where is run_shop defined?",
        ]
        for question, place in zip(examples, ("shop/cart.py:1", "shop/main.py:5", "shop/main.py:4"), strict=True):
            await ask(app, pilot, question)
            assert place in transcript(app).partition(question)[2]
            assert offers(app) == []
            await pilot.press("ctrl+n")
            await until(pilot, lambda: len(offers(app)) == 3)


async def test_arrow_keys_and_enter_take_an_example(nano):
    write(nano.folder.path, SHOP)
    async with running(nano) as (app, pilot):
        await until(pilot, lambda: EXAMPLES in transcript(app))
        await pilot.press("down", "down")
        assert "Enter ask this" in screen(app)
        await pilot.press("enter")
        await until(pilot, lambda: questions(app) == ["Where is place_order used?"])
        await ready(app, pilot)
        assert app.prompt.has_focus
        assert app.prompt.past.entries[-1] == "Where is place_order used?"


async def test_a_click_takes_an_example_and_the_last_arrow_down_leads_back_to_the_input(nano):
    write(nano.folder.path, SHOP)
    async with running(nano) as (app, pilot):
        await until(pilot, lambda: EXAMPLES in transcript(app))
        await pilot.press("up")
        assert app.transcript.has_focus
        await pilot.press("down")
        assert app.prompt.has_focus
        row = next(at for at, line in enumerate(screen(app).splitlines()) if "Where is ShoppingCart defined?" in line)
        await pilot.click(app.transcript, offset=(10, row))
        await until(pilot, lambda: questions(app) == ["Where is ShoppingCart defined?"])
        await ready(app, pilot)


async def test_a_folder_without_code_says_so(nano):
    async with running(nano) as (app, pilot):
        await until(pilot, lambda: NO_CODE in transcript(app).replace("\n", " "))
        assert offers(app) == []


def test_code_whose_names_are_plain_words_is_code_without_examples(nano):
    write(nano.folder.path, {"calc.py": "def add(a, b):\n    return a + b\n"})
    nano.open(lambda progress: None)
    assert nano.prompt.examples(lambda: False) is None


async def test_a_folder_with_one_file_has_only_the_questions_that_it_can_answer(nano):
    write(nano.folder.path, {"only.py": "def first_one():\n    return 1\n"})
    async with running(nano) as (app, pilot):
        await until(pilot, lambda: offers(app) == ["Where is first_one defined?"])


async def test_the_line_about_a_larger_model_opens_the_setup():
    async with running(PlayedSession(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await until(pilot, lambda: offers(app) == [LARGER])
        await pilot.press("down")
        assert "Enter set up" in screen(app)
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)


async def test_the_row_of_keys_follows_the_focus_and_the_text():
    async with running(PlayedSession()) as (app, pilot):
        await ready(app, pilot)

        def keys() -> str:
            return screen(app).splitlines()[-1].strip()

        assert keys() == "@ file  / commands  ! shell  Tab transcript  F1 help"
        await pilot.press("h")
        assert keys() == "Enter send  Ctrl+J new line  F1 help"
        await pilot.press("enter")
        await ready(app, pilot)
        assert keys() == "↑ earlier  @ file  / commands  ! shell  Tab transcript  F1 help"
        await pilot.press("tab")
        assert keys() == "y copy  n N paths  ↑ ↓ move  i input  F1 help"


async def test_a_low_terminal_has_no_row_of_keys():
    async with running(PlayedSession(), size=(80, 12)) as (app, pilot):
        await ready(app, pilot)
        assert "ready" in screen(app).splitlines()[-1]


async def test_the_help_begins_with_what_can_be_asked_and_is_filtered(chat):
    session = chat()
    write(session.folder.path, SHOP)
    async with running(session) as (app, pilot):
        await until(pilot, lambda: app.start.examples)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        keys = app.screen.query_one("#keys", Static)
        first, able, question, *_ = keys.content.plain.split("\n")
        assert (first, able) == ("What you can ask", app.start.abilities[: len(able)])
        assert question
        await pilot.press(*"panel speed")
        assert keys.content.plain == (
            "Everywhere\nF2                Show or hide the speed panel\n"
            "\nCommands\n/speed            Show or hide the speed panel\n"
        )
        await pilot.press(*" xyz")
        assert keys.content.plain == NOTHING
