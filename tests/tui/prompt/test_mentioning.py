"""Typing an @ opens the mention list, which never gets in the way (on a scripted session)."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from laguna_tui.context.blocks import Completion, Cost
from laguna_tui.tui.controllers import prompt_controller
from laguna_tui.tui.prompt.completion_list import MIN_ROWS
from tests.tui.contexts import FILES, names, prompting
from tests.tui.pilot import ready, running, screen, until
from tests.tui.scripted import PlayedSession
from tests.tui.test_screen_safety import BRACKETS, HOSTILE, assert_harmless


def session(**more) -> PlayedSession:
    return prompting(PlayedSession(), **{"names": names, **more})


async def typed(app, pilot, text: str) -> None:
    """Type it and wait for the list."""
    await ready(app, pilot)
    await pilot.press(*("space" if letter == " " else letter for letter in text))
    await until(pilot, lambda: app.prompt.completions.is_open)


async def test_an_at_sign_opens_it_and_letters_narrow_it() -> None:
    async with running(session()) as (app, pilot):
        await typed(app, pilot, "see @")
        assert len(app.prompt.completions.found) == len(FILES)
        assert "❯ laguna_tui/cli.py" in screen(app)
        assert "file, 1,830 tokens" in screen(app)
        await pilot.press(*"read")
        await until(pilot, lambda: len(app.prompt.completions.found) == 1)


@pytest.mark.parametrize("key", ["tab", "enter"])
async def test_it_is_chosen_with_the_rest_of_the_text_kept(key: str) -> None:
    scripted = session()
    async with running(scripted) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("see  and\nsay why")
        app.prompt.move_cursor((0, 4))
        await typed(app, pilot, "@pre")
        await pilot.press("down", "down", key)
        assert app.prompt.text == "see @PrefixCache.keep and\nsay why"
        assert app.prompt.cursor_location == (0, len("see @PrefixCache.keep"))
        await pilot.pause(0.1)
        assert not app.prompt.completions.is_open
        assert not scripted.chat.asked


async def test_in_a_later_line_it_replaces_what_was_typed_there() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("first line\nsecond ")
        await typed(app, pilot, "@readme")
        await pilot.press("tab")
        assert app.prompt.text == "first line\nsecond @README.md"


async def test_the_arrows_go_around_and_stay_out_of_the_history(tmp_path: Path) -> None:
    async with running(session(), state_dir=tmp_path) as (app, pilot):
        app.prompt.past.add("older")
        await typed(app, pilot, "@")
        await pilot.press("up")
        assert app.prompt.completions.chosen.label == FILES[-1][0]
        assert FILES[-1][0] in screen(app)
        await pilot.press("down")
        assert app.prompt.completions.chosen.label == FILES[0][0]
        assert app.prompt.text == "@"


async def test_escape_closes_it_and_only_it() -> None:
    async with running(session()) as (app, pilot):
        await typed(app, pilot, "see @pre")
        await pilot.press("escape")
        assert not app.prompt.completions.is_open
        assert app.prompt.text == "see @pre"
        await pilot.press("f")
        await until(pilot, lambda: app.prompt.completions.is_open)


async def test_what_is_there_already_word_for_word_is_sent_by_enter() -> None:
    scripted = session()
    async with running(scripted) as (app, pilot):
        await typed(app, pilot, "what is @README.md")
        await pilot.press("enter")
        await until(pilot, lambda: scripted.chat.asked == ["what is @README.md"])
        assert not app.prompt.completions.is_open


async def test_a_folder_that_is_there_is_sent_by_enter_and_gone_into_by_tab() -> None:
    scripted = session()
    async with running(scripted) as (app, pilot):
        await typed(app, pilot, "what is in @laguna_tui/")
        await pilot.press("enter")
        await until(pilot, lambda: scripted.chat.asked == ["what is in @laguna_tui/"])
        await ready(app, pilot)
        await typed(app, pilot, "and @laguna_tui/")
        first = app.prompt.completions.found[0].insert
        await pilot.press("tab")
        assert app.prompt.text == f"and {first}"


async def test_what_was_looked_at_in_a_folder_is_chosen_by_enter() -> None:
    scripted = session()
    async with running(scripted) as (app, pilot):
        await typed(app, pilot, "what is in @laguna_tui/")
        second = app.prompt.completions.found[1].insert
        await pilot.press("down", "enter")
        assert app.prompt.text == f"what is in {second}"
        assert not scripted.chat.asked


async def test_behind_the_mention_keys_mean_what_they_always_mean() -> None:
    scripted = session()
    async with running(scripted) as (app, pilot):
        await typed(app, pilot, "what is @read")
        await pilot.press("space", "x", "enter")
        await until(pilot, lambda: scripted.chat.asked == ["what is @read x"])


async def test_a_folder_is_gone_into() -> None:
    async with running(session()) as (app, pilot):
        await typed(app, pilot, "@laguna_tui/t")
        await until(pilot, lambda: app.prompt.completions.chosen.label == "laguna_tui/tui/")
        await pilot.press("tab")
        assert app.prompt.text == "@laguna_tui/tui/"
        await until(pilot, lambda: len(app.prompt.completions.found) == 2)


async def test_recalling_an_earlier_message_does_not_open_it(tmp_path: Path) -> None:
    async with running(session(), state_dir=tmp_path) as (app, pilot):
        await ready(app, pilot)
        app.prompt.past.add("what is in @read")
        app.prompt.past.add("what is in @pre")
        await pilot.press("up")
        await pilot.pause(0.1)
        assert not app.prompt.completions.is_open
        await pilot.press("up")
        assert app.prompt.text == "what is in @read"


async def test_leaving_the_input_closes_it() -> None:
    async with running(session()) as (app, pilot):
        await typed(app, pilot, "@pre")
        await pilot.press("ctrl+up")
        assert not app.prompt.completions.is_open


async def test_a_click_chooses() -> None:
    async with running(session()) as (app, pilot):
        await typed(app, pilot, "@")
        await pilot.click(app.prompt.completions, offset=(8, 1))
        await pilot.pause()
        assert app.prompt.text == "@laguna_tui/compose.py"
        assert app.focused is app.prompt


async def test_a_slow_search_neither_holds_up_typing_nor_shows_what_is_overtaken() -> None:
    gate = threading.Event()
    asked: list[str] = []

    def slow(text: str, cursor: int) -> list[Completion]:
        asked.append(text)
        gate.wait(10)
        return [Completion(0, "@found ", f"for {text}")]

    async with running(session(names=slow)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("@")
        await until(pilot, lambda: asked == ["@"])
        await pilot.press(*"abc")
        assert app.prompt.text == "@abc"
        gate.set()
        await until(pilot, lambda: app.prompt.completions.is_open)
        assert app.prompt.completions.chosen.label == "for @abc"
        assert asked == ["@", "@abc"]


async def test_a_search_that_finds_nothing_yet_is_made_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_controller, "RETRY_S", 0.02)
    asked: list[str] = []

    def late(text: str, cursor: int) -> Sequence[Completion]:
        asked.append(text)
        return names(text, cursor) if len(asked) == 2 and text == "@" else ()

    async with running(session(names=late)) as (app, pilot):
        await typed(app, pilot, "@")
        app.prompt.insert("~")
        await until(pilot, lambda: asked == ["@", "@", "@~", "@~"])
        # Ten times as long as the second search took to come: there is no third.
        await pilot.pause(0.2)
        assert asked == ["@", "@", "@~", "@~"]


async def test_text_without_an_at_sign_is_never_searched_for() -> None:
    asked: list[str] = []
    async with running(session(names=lambda text, cursor: asked.append(text) or ())) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"hello")
        await pilot.pause(0.1)
        assert not asked


async def test_hostile_names_are_only_text_and_are_not_typed() -> None:
    found = [Completion(0, f"@{HOSTILE}.py", f"{HOSTILE} {BRACKETS}", f"{HOSTILE} {BRACKETS}")]
    async with running(session(names=lambda text, cursor: found), size=(120, 24)) as (app, pilot):
        await typed(app, pilot, "@")
        assert BRACKETS.split()[0] in screen(app)
        assert_harmless(screen(app))
        await pilot.press("tab")
        await until(pilot, lambda: "cannot be mentioned" in screen(app))
        assert app.prompt.text == "@"
        assert_harmless(screen(app))


@pytest.mark.parametrize(("size", "rows"), [((80, 24), 8), ((40, 12), MIN_ROWS)])
async def test_it_is_small_and_shows_the_end_of_long_paths(size: tuple[int, int], rows: int) -> None:
    long = [Completion(0, f"@{n}", f"a/very/long/way/to/a/folder/of/files/file_{n}.py", "file") for n in range(20)]
    async with running(session(names=lambda text, cursor: long), size=size) as (app, pilot):
        await typed(app, pilot, "@")
        assert app.prompt.completions.size.height == rows
        assert "file_0.py" in screen(app)
        for _ in range(12):
            await pilot.press("down")
        assert "❯" in screen(app)
        assert "file_12.py" in screen(app)
        assert all(len(row) == size[0] for row in screen(app).split("\n"))


async def test_notes_keep_quiet_while_it_says_better_what_there_is() -> None:
    noted = Cost(1, 0, 0, None, fits=True, notes=("no file matches @",))
    async with running(session(costs=lambda message: noted)) as (app, pilot):
        await typed(app, pilot, "@")
        await until(pilot, lambda: app.hint_bar.notes)
        assert "no file matches" not in screen(app)
        await pilot.press("escape")
        await until(pilot, lambda: "no file matches" in screen(app))
