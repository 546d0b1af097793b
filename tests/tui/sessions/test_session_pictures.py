"""Pictures of the picker, its questions, and a session that is gone on with."""

from pathlib import Path

import pytest
from textual.widgets import Input

from laguna_tui.tui.sessions import session_picker
from laguna_tui.tui.sessions.session_picker import SessionPicker
from laguna_tui.tui.sessions.session_questions import DeleteQuestion, TitleQuestion
from tests.tui.pilot import ready, screen, transcript, until
from tests.tui.scripted import PlayedSession
from tests.tui.sessions.played_sessions import PlayedSessions, saving
from tests.tui.sessions.test_sessions import TURNS, kept
from tests.tui.test_snapshots import still

SIZES = pytest.mark.parametrize("size", [(80, 24), (40, 24), (200, 50)])
NOW = 1_795_000_000.0
HOUR = 3600.0
LISTED = (
    kept(1, "fix the discount", updated=NOW - 30, turns=1, size=48_000),
    kept(2, "why is the prefill of a long conversation so slow, and what would make it faster?", turns=14,
         updated=NOW - 3 * HOUR, size=1_350_000_000, model="Laguna XS 2.1", ended="killed"),
    kept(3, "übersetze die README ins 日本語", updated=NOW - 50 * HOUR, turns=112, size=3_600_000, locked=True),
    kept(4, "write a parser", updated=NOW - 900 * HOUR, folder=Path("/home/someone/projects/parser-of-many-things")),
    kept(5, "rename total to amount", updated=NOW - 9000 * HOUR, size=920),
)  # fmt: skip


def session() -> PlayedSession:
    found = PlayedSessions(*LISTED)
    found.events[LISTED[0].id] = TURNS
    found.contents = {LISTED[1].id: "… reading 38,100 tokens took nine seconds, because the sliding window …"}
    found.left_out, found.restored = 12, 38_100
    found.notices = ("It continues with Laguna Nano: Laguna XS 2.1 is not here. To download it: /setup",)
    return saving(found, title="Laguna Nano", folder=Path("/src/project"))


async def picked(pilot, *keys: str, shown: str = "fix the discount") -> None:
    await ready(pilot.app, pilot)
    await pilot.press("ctrl+s", *keys)
    await until(pilot, lambda: isinstance(pilot.app.screen, SessionPicker) and shown in screen(pilot.app))
    pilot.app.screen.query_one("Input").cursor_blink = False


@pytest.fixture(autouse=True)
def a_still_clock(monkeypatch):
    monkeypatch.setattr(session_picker.time, "time", lambda: NOW)


@SIZES
def test_the_picker(snap_compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(session()), terminal_size=size, run_before=picked)


@SIZES
def test_the_picker_with_all_folders(snap_compare, size: tuple[int, int]) -> None:
    async def everywhere(pilot) -> None:
        await picked(pilot, "tab", shown="write a parser")

    assert snap_compare(still(session()), terminal_size=size, run_before=everywhere)


@SIZES
def test_what_a_search_finds(snap_compare, size: tuple[int, int]) -> None:
    async def searched(pilot) -> None:
        await picked(pilot, *"sliding", shown="“… reading")

    assert snap_compare(still(session()), terminal_size=size, run_before=searched)


@SIZES
@pytest.mark.parametrize(("key", "question"), [("ctrl+r", TitleQuestion), ("ctrl+d", DeleteQuestion)])
def test_a_question(snap_compare, key: str, question: type, size: tuple[int, int]) -> None:
    async def asked(pilot) -> None:
        await picked(pilot)
        await pilot.press("down", key)
        await until(pilot, lambda: isinstance(pilot.app.screen, question))
        shown = pilot.app.screen
        for line in shown.query(Input):
            line.cursor_blink = False
        await until(pilot, lambda: all(len(line.value) == line.cursor_position for line in shown.query(Input)))
        await pilot.pause()

    assert snap_compare(still(session()), terminal_size=size, run_before=asked)


@SIZES
def test_a_session_that_is_gone_on_with(snap_compare, size: tuple[int, int]) -> None:
    async def resumed(pilot) -> None:
        await picked(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "Resumed" in transcript(pilot.app))
        await ready(pilot.app, pilot)

    assert snap_compare(still(session()), terminal_size=size, run_before=resumed)
