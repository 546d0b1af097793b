"""While files are shortened for a message the user sees how far that is, how long it may take, and how to skip it."""

import threading

from textual.pilot import Pilot

from laguna_tui.base.events import Attached, Choosing, TextDelta, TurnEnd, TurnFinished, TurnStarted
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.transcript.entries import SKIP_SCORING
from tests.tui.pilot import ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession

PARSING, SCORING = Choosing(40, "parsing", 0.5), Choosing(40, "scoring", 0.25, 20.0)
RANKING = Choosing(40, "ranking")
ANSWER = (
    Attached(("a.py (shortened)",), ()),
    TurnStarted(900, 100, 1),
    TextDelta("Yes."),
    TurnFinished(TurnEnd.ANSWERED),
)


async def send(app: LagunaApp, pilot: Pilot[None], text: str) -> None:
    await ready(app, pilot)
    app.prompt.replace_text(text)
    await pilot.press("enter")


async def test_the_phase_the_share_and_the_limit_are_shown_and_then_the_answer() -> None:
    parsed, scored, ranked = threading.Event(), threading.Event(), threading.Event()
    async with running(PlayedSession([PARSING, parsed, SCORING, scored, RANKING, ranked, *ANSWER])) as (app, pilot):
        await send(app, pilot, "what does @src/ do?")
        await until(pilot, lambda: "choosing what to keep of 40 files: parsing 50%" in transcript(app))
        assert "choosing" in screen(app).split("\n")[-2]
        # There is nothing to skip yet.
        assert SKIP_SCORING not in transcript(app)
        parsed.set()
        await until(pilot, lambda: "scoring 25%, at most 20 s" in transcript(app))
        assert SKIP_SCORING in transcript(app)
        assert "25 %" in screen(app).split("\n")[-2]
        scored.set()
        await until(pilot, lambda: "choosing what to keep of 40 files: ranking" in transcript(app))
        ranked.set()
        await ready(app, pilot)
        assert "Yes." in transcript(app)
        assert "choosing" not in screen(app)


async def test_without_a_scorer_there_is_no_limit_and_nothing_to_skip() -> None:
    parsed = threading.Event()
    async with running(PlayedSession([Choosing(1, "parsing", 0.5), parsed, *ANSWER])) as (app, pilot):
        await send(app, pilot, "what does @long.py do?")
        await until(pilot, lambda: "choosing what to keep of a file" in transcript(app))
        assert "at most" not in transcript(app)
        assert SKIP_SCORING not in transcript(app)
        parsed.set()
        await ready(app, pilot)


async def test_enter_in_the_empty_input_skips_the_scorer_and_the_answer_comes() -> None:
    skipped = threading.Event()
    session = PlayedSession([SCORING, skipped, *ANSWER])
    session.chat.skip_scoring = skipped.set
    async with running(session) as (app, pilot):
        await send(app, pilot, "what does @src/ do?")
        await until(pilot, lambda: SKIP_SCORING in transcript(app))
        await pilot.press("enter")
        await ready(app, pilot)
        assert "Yes." in transcript(app)


async def test_enter_in_the_empty_input_of_a_free_session_asks_nothing() -> None:
    session, skipped = PlayedSession(), threading.Event()
    session.chat.skip_scoring = skipped.set
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert (session.chat.asked, skipped.is_set()) == ([], False)
