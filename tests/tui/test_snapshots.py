"""Snapshots of the app: fixed sizes, a fixed folder, no clock, no cursor, no animation."""

from pathlib import Path

import pytest
from textual.widgets import Input

from laguna_engine.config import Speculation
from laguna_engine.errors import ModelFileError
from laguna_tui.base.events import ReplayCheck, ReplayDifference
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter
from laguna_tui.tui.tui_settings import TuiSettings
from tests.tui.pilot import ready, until
from tests.tui.scripted import IDENTICAL, PlayedSession
from tests.tui.story import DRAFTED, QUESTION, STORY


class StillApp(LagunaApp):
    """The app with a stopped clock."""

    def __init__(self, session: PlayedSession, theme: str, model_setup: ModelSetup | None = None) -> None:
        super().__init__(session, TuiSettings(theme=theme), model_setup)
        self.animation_level = "none"
        self.writer = TranscriptWriter(self.document, clock=lambda: 0.0)
        # The status bar says so for a moment, whenever that comes.
        self.controller.prefetch = lambda message, done: False


def still(session: PlayedSession, theme: str = "laguna-dark") -> StillApp:
    return StillApp(session, theme)


def story() -> PlayedSession:
    return PlayedSession(STORY, title="Laguna Nano", folder=Path("/src/project"))


async def answered(pilot) -> None:
    await ready(pilot.app, pilot)
    pilot.app.prompt.replace_text(QUESTION)
    await pilot.press("enter")
    await pilot.pause()
    await ready(pilot.app, pilot)


@pytest.mark.parametrize("theme", ["laguna-dark", "laguna-light"])
@pytest.mark.parametrize("size", [(80, 24), (40, 20), (120, 48)])
def test_an_answer(snap_compare, size: tuple[int, int], theme: str) -> None:
    assert snap_compare(still(story(), theme), terminal_size=size, run_before=answered)


def test_the_first_screen(snap_compare) -> None:
    async def loaded(pilot) -> None:
        await ready(pilot.app, pilot)

    assert snap_compare(still(story()), terminal_size=(80, 24), run_before=loaded)


def test_everything_open_with_the_block_cursor(snap_compare) -> None:
    async def opened(pilot) -> None:
        await answered(pilot)
        await pilot.press("ctrl+t", "ctrl+o", "ctrl+up", "up", "up")

    assert snap_compare(still(story()), terminal_size=(80, 40), run_before=opened)


def test_help(snap_compare) -> None:
    async def helped(pilot) -> None:
        await ready(pilot.app, pilot)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        pilot.app.focused.cursor_blink = False
        await pilot.pause()

    assert snap_compare(still(story()), terminal_size=(100, 60), run_before=helped)


def drafted(proof: ReplayCheck = IDENTICAL) -> PlayedSession:
    session = PlayedSession(
        DRAFTED,
        title="Laguna Nano",
        folder=Path("/src/project"),
        mode=Speculation.FAST,
        drafter="dflash, 2 M parameters",
    )
    session.chat.proof = proof
    return session


def after(*keys: str):
    async def pressed(pilot) -> None:
        await answered(pilot)
        for key in keys:
            await pilot.press(key)
            await ready(pilot.app, pilot)

    return pressed


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (200, 50)])
def test_the_speed_panel(snap_compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(drafted()), terminal_size=size, run_before=after("f2"))


@pytest.mark.parametrize("theme", ["laguna-dark", "laguna-light"])
def test_the_tinted_answer(snap_compare, theme: str) -> None:
    assert snap_compare(still(drafted(), theme), terminal_size=(80, 24), run_before=after("f3"))


def test_drafts_that_did_not_stand(snap_compare) -> None:
    assert snap_compare(still(drafted()), terminal_size=(80, 24), run_before=after("f4"))


@pytest.mark.parametrize(
    "difference",
    [None, ReplayDifference(37, "The prefix cache compares the **new tokens** with", " what", " the", 0.0031)],
    ids=["identical", "different"],
)
def test_what_a_proof_says(snap_compare, difference: ReplayDifference | None) -> None:
    proof = ReplayCheck(37 if difference else 412, 412, difference, 3.2)
    assert snap_compare(still(drafted(proof)), terminal_size=(80, 24), run_before=after("f5"))


def test_a_model_that_is_missing(snap_compare) -> None:
    async def failed(pilot) -> None:
        await until(pilot, lambda: pilot.app.state.value == "failed")

    problem = ModelFileError("There is no model “nano” yet. Run 'laguna-tui models get nano' and start again.")
    session = PlayedSession(opening=problem, title="Laguna Nano", folder=Path("/src/project"))
    assert snap_compare(still(session), terminal_size=(80, 24), run_before=failed)
