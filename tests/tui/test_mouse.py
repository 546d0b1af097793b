"""The mouse: what dragging and clicking select and copy, and which click means nothing."""

import os
from pathlib import Path

import pytest
from textual import events

from laguna_tui.tui import clipboard
from laguna_tui.tui.clipboard import OSC52_BYTES, clipboard_tool
from tests.tui.pilot import ask, ready, running, screen, until
from tests.tui.scripted import PlayedSession
from tests.tui.story import STORY

ANSWER = (
    "First " + "word " * 30 + "end.\n\n> quoted\n\n| a | b |\n|---|---|\n| c | d |\n\n```py\ntotal = 1\n```\n\nLast."
)


@pytest.fixture(autouse=True)
def no_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the tests run in, there is no clipboard but the terminal's."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TMUX", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)


async def drag(app, pilot, first: tuple[int, int], last: tuple[int, int]) -> None:
    """Press the button at one cell of the transcript, and release it at another."""
    await pilot.mouse_down("#transcript", offset=first)
    await pilot.hover("#transcript", offset=last)
    await pilot.mouse_up("#transcript", offset=last)


def notes(app) -> set[str]:
    """The notifications that are shown."""
    return {note.message for note in app._notifications}


async def click(app, pilot, x: int, y: int) -> None:
    """Click as a terminal reports it."""
    for kind in (events.MouseDown, events.MouseUp):
        app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))
    await pilot.pause()


def row_of(app, text: str) -> int:
    """The row of the screen with this text, which the transcript begins at the top of."""
    return next(number for number, row in enumerate(screen(app).split("\n")) if text in row)


async def test_dragging_copies_across_blocks_without_borders_and_soft_breaks(chat) -> None:
    async with running(chat(ANSWER), size=(60, 40)) as (app, pilot):
        await ask(app, pilot, "q")
        await drag(app, pilot, (0, row_of(app, "First")), (59, row_of(app, "Last.")))
        assert app.clipboard == ("First " + "word " * 30 + "end.\n\nquoted\n\na   b\nc   d\n\ntotal = 1\n\nLast.")
        assert app.prompt.has_focus
        await until(pilot, lambda: "Copied 10 lines through the terminal (OSC 52)." in notes(app))
        assert len(app._notifications) == 1


async def test_a_double_click_copies_a_word_and_a_third_click_the_line(chat) -> None:
    async with running(chat("Look at src/cart.py:12 first, " + "and on " * 20)) as (app, pilot):
        await ask(app, pilot, "q")
        at = (15, row_of(app, "Look at"))
        await pilot.click("#transcript", offset=at, times=2)
        assert app.clipboard == "src/cart.py:12"
        await pilot.click("#transcript", offset=at)
        assert app.clipboard == ("Look at src/cart.py:12 first, " + "and on " * 20).strip()


async def test_dragging_to_an_edge_scrolls(chat) -> None:
    text = "\n\n".join(f"paragraph {number}" for number in range(60))
    async with running(chat(text)) as (app, pilot):
        await ask(app, pilot, "q")
        end = (30, row_of(app, "paragraph 59"))
        await pilot.mouse_down("#transcript", offset=end)
        await pilot.hover("#transcript", offset=(0, 0))
        await until(pilot, lambda: app.transcript.scroll_offset.y == 0)
        await pilot.mouse_up("#transcript", offset=(0, 0))
        assert app.clipboard.split("\n\n")[-60:] == text.split("\n\n")


async def test_a_selection_stays_in_the_transcript(chat) -> None:
    async with running(chat("One.\n\nTwo."), size=(60, 20)) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.mouse_down("#transcript", offset=(3, row_of(app, "One.")))
        await pilot.hover("#status", offset=(50, 0))
        await pilot.mouse_up("#status", offset=(50, 0))
        assert app.clipboard.startswith("One.\n\nTwo.")
        assert "ready" not in app.clipboard


async def test_a_click_takes_the_block_under_it(chat) -> None:
    async with running(chat("One.\n\n```\ncode\n```\n\nTwo."), size=(60, 20)) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.click("#transcript", offset=(8, row_of(app, "code")))
        assert app.clipboard == ""
        assert app.focused is app.transcript
        await pilot.press("y")
        assert app.clipboard == "code"


@pytest.mark.parametrize("reported", [True, False], ids=["focus reported before", "focus never reported"])
async def test_a_click_that_brings_the_terminal_to_the_front_means_nothing(reported: bool) -> None:
    async with running(PlayedSession(STORY)) as (app, pilot):
        await ready(app, pilot)
        app.post_message(events.AppBlur())
        await until(pilot, lambda: not app.app_focus)
        if reported:
            app.post_message(events.AppFocus())
        await click(app, pilot, 10, 1)
        await until(pilot, lambda: app.prompt.has_focus)
        assert app.app_focus
        app._raised_at -= 1
        await click(app, pilot, 10, 1)
        await until(pilot, lambda: app.transcript.has_focus)


async def test_what_terminals_do_not_take_is_not_copied_and_a_sentence_says_so(chat) -> None:
    async with running(chat("Hi.")) as (app, pilot):
        app._copy("x" * (OSC52_BYTES + 1))
        refused = (
            "Not copied: it has 75 kB, and terminals take at most 75 kB. Select less, or write a file with /export."
        )
        await until(pilot, lambda: refused in notes(app))
        assert app.clipboard == ""


TOOLS = ("wl-copy", "xclip", "xsel", "pbcopy", "clip.exe", "tmux")


@pytest.mark.parametrize(
    ("environment", "platform", "tool"),
    [
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux", "wl-copy"),
        ({"DISPLAY": ":0"}, "linux", "xclip -selection clipboard"),
        ({"DISPLAY": ":0", "TMUX": "/tmp/tmux"}, "linux", "xclip -selection clipboard"),
        ({"WSL_DISTRO_NAME": "Ubuntu", "WAYLAND_DISPLAY": "wayland-0"}, "linux", "clip.exe"),
        ({}, "darwin", "pbcopy"),
        ({"SSH_CONNECTION": "a"}, "darwin", None),
        ({"SSH_TTY": "/dev/pts/1", "DISPLAY": ":0", "TMUX": "/tmp/tmux"}, "linux", "tmux load-buffer -w -"),
        ({}, "linux", None),
    ],
)
def test_the_clipboard_tool_is_that_of_the_users_own_desktop(
    environment: dict[str, str], platform: str, tool: str | None, tmp_path: Path
) -> None:
    for name in TOOLS:
        (tmp_path / name).touch(mode=0o755)
    found = clipboard_tool({**environment, "PATH": f".{os.pathsep}{tmp_path}"}, platform)
    assert found == (None if tool is None else (f"{tmp_path}/{tool.split()[0]}", *tool.split()[1:]))


def test_a_tool_gets_the_text_and_one_that_fails_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    xclip = tmp_path / "xclip"
    xclip.write_text(f"#!/bin/sh\ncat > {tmp_path}/copied\n")
    xclip.chmod(0o755)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    assert clipboard.copy_with_tool("größe\n") == "xclip"
    assert (tmp_path / "copied").read_text() == "größe\n"
    xclip.write_text("#!/bin/sh\nexit 1\n")
    assert clipboard.copy_with_tool("x") == ""
