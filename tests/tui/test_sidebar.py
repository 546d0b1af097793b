"""The sidebar of wide screens: what it shows, how it is shortened, when it is there."""

from pathlib import Path

import pytest

from laguna_engine.events import Source
from laguna_tui.base.events import TodoItem, TodoState
from laguna_tui.session.session import Session
from laguna_tui.tui.sidebar import ChangedFile, SidebarState, sidebar_rows
from laguna_tui.tui.speed.speed_stats import Speed
from laguna_tui.tui.text_lines import cells, width_of
from tests.scripted_model import call, say
from tests.tui.pilot import ready, running, screen, until

STEPS = tuple(TodoItem(f"step {number}", TodoState.DONE if number < 8 else TodoState.OPEN) for number in range(20))
FILES = tuple(ChangedFile(f"shop/with/a/long/path/to/file_{number}.py", number, 1_000) for number in range(30))


def shown(state: SidebarState, width: int = 32, height: int = 24) -> list[str]:
    return ["".join(text for text, _ in row) for row in sidebar_rows(state, width, height)]


def test_all_parts_are_there() -> None:
    speed = Speed(decode=41.6, gain=1.83, acceptance=0.711, shares={Source.TARGET: 1.0})
    state = SidebarState(STEPS[7:9], (ChangedFile("a.py", 3, 1),), 1_234, 8_192, speed)
    assert shown(state) == [
        "Plan  1 of 2 done",
        "● step 7",
        "○ step 8",
        "",
        "Changed files  /diff shows them",
        "a.py                       +3 −1",
        "",
        "Context",
        "━━━━─────────────────────── 15 %",
        "1,234 of 8,192 tokens",
        "",
        "Speed",
        "42 tok/s  1.8× plain decoding",
        "71 % of drafts accepted",
    ]


def test_what_is_empty_is_left_out() -> None:
    assert shown(SidebarState()) == []


@pytest.mark.parametrize("height", [8, 12, 24, 60])
def test_a_long_plan_and_many_files_leave_room_for_the_rest(height: int) -> None:
    state = SidebarState(STEPS, FILES, 100, 8_192, Speed(decode=40.0))
    rows = shown(state, height=height)
    assert len(rows) <= height
    assert all(cells(row) <= 32 for row in rows)
    if height >= 12:
        assert "40 tok/s" in rows[-1]
        assert "● step 7" in rows or "○ step 8" in rows
        assert any("more" in row for row in rows) or height == 60
    assert all(width_of(row) <= 32 for row in sidebar_rows(state, 32, height))


async def test_it_shows_plan_and_changes_of_a_turn_and_an_undo_takes_them_out(chat, tmp_path: Path) -> None:
    (tmp_path / "project/a.py").write_text("a = 1\n")
    edit = call("edit", path="a.py", old="a = 1", new="a = 2\nb = 3")
    session: Session = chat(say(call("todo", items="[x] look\n[ ] change")), say(edit), "Done.", mode="accept-edits")
    async with running(session, size=(150, 40)) as (app, pilot):
        await ready(app, pilot)
        assert "Plan" not in screen(app)
        await pilot.press(*"do it", "enter")
        await until(pilot, lambda: "a.py                        +2 −1" in screen(app))
        await ready(app, pilot)
        assert "Plan  1 of 2 done" in screen(app)
        assert " of 8,192 tokens" in screen(app)
        app.prompt.replace_text("/undo")
        await pilot.press("enter")
        await until(pilot, lambda: "Changed files" not in screen(app))


async def test_a_key_and_a_narrow_screen_hide_it(chat) -> None:
    async with running(chat("Done."), size=(150, 40)) as (app, pilot):
        await ready(app, pilot)
        await until(pilot, lambda: app.sidebar_panel.display)
        await pilot.press("ctrl+b")
        await until(pilot, lambda: not app.sidebar_panel.display)
        await pilot.press("ctrl+b")
        await until(pilot, lambda: app.sidebar_panel.display)
        await pilot.press("f2")
        await until(pilot, lambda: not app.sidebar_panel.display)
        await pilot.press("f2")
        await until(pilot, lambda: app.sidebar_panel.display)
        await pilot.resize_terminal(139, 40)
        await until(pilot, lambda: not app.sidebar_panel.display)


async def test_a_setting_leaves_it_out(chat) -> None:
    async with running(chat("Done."), size=(150, 40), sidebar=False) as (app, pilot):
        await ready(app, pilot)
        await pilot.pause()
        assert not app.sidebar_panel.display
