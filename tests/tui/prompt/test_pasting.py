"""A long paste is a label in the input, and the whole text is sent."""

import pytest
from textual import events

from tests.tui.pilot import questions, ready, running, screen, until

LOG = "\n".join(f"line {n}" for n in range(120))
LABEL = "[pasted 120 lines]"


async def paste(app, pilot, text: str) -> None:
    app.prompt.post_message(events.Paste(text))
    await pilot.pause()


async def test_a_long_paste_is_a_label_and_sent_whole(chat) -> None:
    async with running(chat("I see.")) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"why? ")
        await paste(app, pilot, LOG)
        assert app.prompt.text == f"why? {LABEL}"
        assert LABEL in screen(app)
        assert "Enter send  Tab show the text  Backspace remove it" in screen(app)
        await pilot.press("enter")
        await until(pilot, lambda: questions(app) == [f"why? {LOG}"])
        await pilot.press("up")
        assert app.prompt.text == f"why? {LABEL}", "the history brings the label back"
        assert app.prompt.past.entries[-1] == f"why? {LOG}"


@pytest.mark.parametrize("text", ["one\n" * 7 + "two", "word " * 1000])
async def test_a_short_paste_is_text(chat, text: str) -> None:
    async with running(chat()) as (app, pilot):
        await paste(app, pilot, text)
        assert app.prompt.text == app.prompt.message == text


async def test_a_label_is_expanded_and_removed_as_a_whole(chat) -> None:
    async with running(chat()) as (app, pilot):
        await pilot.press("a")
        await paste(app, pilot, LOG)
        await pilot.press("b", "left", "left", "c")
        assert app.prompt.text == f"ac{LABEL}b", "the cursor jumps over it"
        await pilot.press("right", "backspace")
        assert app.prompt.text == "acb"
        await pilot.press("ctrl+underscore")
        assert app.prompt.message == f"ac{LOG}b"
        await pilot.press("tab")
        assert app.prompt.text == f"ac{LOG}b"


async def test_different_texts_of_one_size_have_different_labels(chat) -> None:
    other = LOG.replace("line", "row")
    async with running(chat()) as (app, pilot):
        for text in (LOG, other, LOG):
            await paste(app, pilot, text)
        assert app.prompt.text == f"{LABEL}[pasted 120 lines #2]{LABEL}"
        assert app.prompt.message == LOG + other + LOG
        app.prompt.replace_text("")
        await paste(app, pilot, "x" * 10_001)
        assert app.prompt.text == "[pasted 10,001 characters]"


async def test_what_is_typed_into_a_label_by_a_click_comes_after_it(chat) -> None:
    async with running(chat()) as (app, pilot):
        await paste(app, pilot, LOG)
        await pilot.click(app.prompt, offset=(8, 1))
        await pilot.press("z")
        assert app.prompt.message in (f"z{LOG}", f"{LOG}z")
