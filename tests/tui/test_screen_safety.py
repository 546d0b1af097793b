"""Nothing from a model, file, tool, path or error reaches the terminal as a command, nor is it parsed as markup."""

import unicodedata
from pathlib import Path

import pytest

from laguna_engine.errors import EngineError
from laguna_engine.events import LoadProgress
from laguna_tui.base.events import (
    AnswerCorrected,
    Attached,
    CallRejected,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.tui import event_sanitizer
from laguna_tui.tui.modal import notify
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession, answer, thinking

HOSTILE = "\x1b]52;c;aGFoYQ==\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\x00\x08"
BRACKETS = "[/] [0] [/path] [bold] [@click=app.quit]x[/] [[ ]"


def assert_harmless(text: str) -> None:
    bad = [
        character for character in text if unicodedata.category(character) in ("Cc", "Cf", "Cs") and character != "\n"
    ]
    assert not bad, bad


EVERYWHERE = answer(
    f"Text {HOSTILE} {BRACKETS}\n\n```py{HOSTILE}\n{HOSTILE} {BRACKETS}\n```\n\n# {HOSTILE} {BRACKETS}\n\n"
    f"- [{BRACKETS}](http://x/{HOSTILE})\n\n| {BRACKETS} | {HOSTILE} |\n|---|---|\n| a | {HOSTILE} |\n\n"
    "&#x202e;&#27;[2J &#x9b;31m &zwnj;\n",
    before=[
        Attached((f"{HOSTILE} {BRACKETS}",), (f"{HOSTILE} {BRACKETS}",)),
        *thinking(f"{HOSTILE} {BRACKETS}"),
        ToolStarted(1, f"se{HOSTILE}arch", {f"k{HOSTILE}": f"{HOSTILE} {BRACKETS}", "n": [HOSTILE, {"x": BRACKETS}]}),
        ToolFinished(1, "search", f"{HOSTILE}\n{BRACKETS}", True, 0.1),
        ToolStarted(2, "search", {}),
        ToolFinished(2, "search", "error", False, 0.1, f"/tmp/{HOSTILE} {BRACKETS}"),
        CallRejected(HOSTILE, f"{HOSTILE} {BRACKETS}"),
        AnswerCorrected(f"{HOSTILE} {BRACKETS}"),
    ],
)


@pytest.mark.parametrize("size", [(120, 60), (40, 60)])
async def test_a_hostile_chat_is_only_text(size: tuple[int, int]) -> None:
    session = PlayedSession(
        EVERYWHERE,
        [EngineError(f"{HOSTILE} {BRACKETS}")],
        [TurnFinished(TurnEnd.CONTEXT_FULL, f"{HOSTILE} {BRACKETS}")],
        title=f"model {HOSTILE} {BRACKETS}",
        folder=Path(f"/tmp/{HOSTILE.replace(chr(0), '')} {BRACKETS}"),
        warnings=(f"{HOSTILE} {BRACKETS}",),
    )
    async with running(session, size=size) as (app, pilot):
        await ask(app, pilot, f"{HOSTILE} {BRACKETS}")
        await pilot.press("ctrl+t", "ctrl+o")
        await ask(app, pilot, "again")
        await ask(app, pilot, "and again")
        assert_harmless(transcript(app))
        for _ in range(8):
            assert_harmless(screen(app))
            await pilot.press("pageup")
        assert BRACKETS.split()[-2] in transcript(app)


async def test_notes_over_the_screen_are_only_text(chat) -> None:
    async with running(chat()) as (app, pilot):
        notify(app, f"{HOSTILE} {BRACKETS}")
        await until(pilot, lambda: "[bold]" in screen(app))
        assert_harmless(screen(app))


async def test_a_hostile_paste_and_history_are_only_text(chat, tmp_path: Path) -> None:
    async with running(chat(), state_dir=tmp_path) as (app, pilot):
        await ready(app, pilot)
        app.prompt.past.add(f"{HOSTILE} {BRACKETS}")
        await pilot.press("up")
        await pilot.press("ctrl+r")
        await pilot.pause(0.1)
        assert_harmless(screen(app))


async def test_pasting_many_lines_keeps_them(chat) -> None:
    from textual import events

    async with running(chat()) as (app, pilot):
        await ready(app, pilot)
        app.prompt.post_message(events.Paste("one\r\ntwo\x1b[2J\n\tthree"))
        await pilot.pause()
        assert app.prompt.text == "one\ntwo␛[2J\n\tthree"
        assert_harmless(screen(app).replace("\t", ""))


def test_an_escape_that_comes_in_two_deltas_is_still_harmless() -> None:
    first, second = event_sanitizer.safe_event(TextDelta("\x1b")), event_sanitizer.safe_event(TextDelta("[2J"))
    assert isinstance(first, TextDelta)
    assert isinstance(second, TextDelta)
    assert_harmless(first.text + second.text)


def test_load_stages_and_paths_are_one_line_of_text() -> None:
    assert_harmless(event_sanitizer.safe_progress(LoadProgress(f"a\n{HOSTILE}", 0.5)).stage)
    assert "\n" not in event_sanitizer.safe_path(Path("/a\nb"))
    assert event_sanitizer.safe_path(Path.home() / "x") == "~/x"


async def test_an_emoji_that_comes_in_pieces_is_whole_on_the_screen_and_in_what_is_copied() -> None:
    emoji = "👩🏽\u200d💻 and 🏳\ufe0f\u200d🌈"
    script = [*(TextDelta(letter) for letter in f"Hi {emoji} \u200dx"), TurnFinished(TurnEnd.ANSWERED)]
    async with running(PlayedSession(script)) as (app, pilot):
        await ask(app, pilot, f"what is {emoji}?")
        assert f"Hi {emoji} x" in transcript(app)
        assert f"what is {emoji}?" in transcript(app)
        await pilot.press("ctrl+y")
        assert app.clipboard == f"Hi {emoji} x"
