"""The terminal notifies of what the user waits for only while it is not looked at."""

import threading
from pathlib import Path

import pytest
from textual import events

from laguna_tui.base.permission_request import CommandProposal, PermissionRequest
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.controllers import notification
from laguna_tui.tui.tui_settings import TuiSettings
from tests.tui.pilot import ready, until
from tests.tui.scripted import PlayedSession, answer

QUESTION = PermissionRequest("shell", CommandProposal("make \x1b]9;x\x07", Path("/src"), 60.0))


class Written:
    """An app's terminal: the notifications that it got."""

    def __init__(self, app: LagunaApp, monkeypatch) -> None:
        self.notes: list[str] = []
        self.bells = 0
        write = app._driver.write

        def keep(data: str) -> None:
            if "\x1b]9;" in data:
                self.notes.append(data)
            write(data)

        def ring() -> None:
            self.bells += 1

        monkeypatch.setattr(app._driver, "write", keep)
        monkeypatch.setattr(app, "bell", ring)


async def heard(monkeypatch, chat: PlayedSession, *, blurred: bool, enabled: bool = True) -> Written:
    """What the terminal got of one message and its answer, or question."""
    app = LagunaApp(chat, TuiSettings(notify=enabled))
    async with app.run_test() as pilot:
        written = Written(app, monkeypatch)
        await ready(app, pilot)
        app.prompt.replace_text("go")
        await pilot.press("enter")
        if blurred:
            app.post_message(events.AppBlur())
            await until(pilot, lambda: not app.app_focus)
        chat.gate_open.set()
        await until(pilot, lambda: app.approval_panel.display or app.state.value == "ready")
        await pilot.pause()
        app.approvals.leave()
        await until(pilot, lambda: app.state.value == "ready")
        return written


def waiting(*steps) -> PlayedSession:
    gate = threading.Event()
    chat = PlayedSession(answer("Done.", before=[gate, *steps]))
    chat.gate_open = gate
    return chat


async def test_a_question_rings_while_nobody_looks_and_says_only_text(monkeypatch) -> None:
    written = await heard(monkeypatch, waiting(QUESTION), blurred=True)
    assert written.notes == ["\x1b]9;laguna-tui asks: Run this command?\x07"]
    assert written.bells == 1


async def test_whoever_looks_is_not_notified(monkeypatch) -> None:
    written = await heard(monkeypatch, waiting(QUESTION), blurred=False)
    assert (written.notes, written.bells) == ([], 0)


async def test_the_setting_turns_it_off(monkeypatch) -> None:
    written = await heard(monkeypatch, waiting(QUESTION), blurred=True, enabled=False)
    assert (written.notes, written.bells) == ([], 0)


@pytest.mark.parametrize(("long_s", "count"), [(0.0, 1), (1000.0, 0)])
async def test_only_an_answer_that_took_long_is_worth_it(monkeypatch, long_s: float, count: int) -> None:
    monkeypatch.setattr(notification, "LONG_S", long_s)
    written = await heard(monkeypatch, waiting(), blurred=True)
    assert len(written.notes) == written.bells == count
