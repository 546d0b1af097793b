"""/compact makes room in the context, with the user's words about what to keep."""

import threading
from collections.abc import Iterator, Sequence

from laguna_tui.base.events import AgentEvent, Compacted, Compacting
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedChat, PlayedSession, Step


class CompactedChat(PlayedChat):
    """Compaction says what a test gives."""

    compaction: Sequence[Step] = ()
    guidance: str | None = None

    def compact(self, guidance: str = "") -> Iterator[AgentEvent]:
        self.guidance = guidance
        return self.play(self.compaction)


async def test_the_user_has_room_made_and_is_told_what_went() -> None:
    gate = threading.Event()
    session = PlayedSession(chat=CompactedChat)
    session.chat.compaction = (Compacting(7000, 8192), gate, Compacted(7000, 2500, 4, 0, 2400))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/compact")
        await pilot.press("enter")
        await until(pilot, lambda: "compacting the context: 7,000 of 8,192 tokens are used" in transcript(app))
        assert "compacting" in screen(app).split("\n")[-2]
        gate.set()
        await ready(app, pilot)
        assert "4 old blocks shortened, 7,000 tokens became 2,500." in " ".join(transcript(app).split())
        assert "2,500 of 8,192" in screen(app)
        assert session.chat.guidance == ""


async def test_what_to_keep_is_passed_on() -> None:
    session = PlayedSession(chat=CompactedChat)
    async with running(session) as (app, pilot):
        await ask(app, pilot, "/compact the plan for the shop")
        await until(pilot, lambda: session.chat.guidance == "the plan for the shop")


async def test_it_waits_for_nobody() -> None:
    gate = threading.Event()
    async with running(PlayedSession([gate])) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter", *"/compact", "enter")
        await until(pilot, lambda: "The session is busy." in screen(app))
        gate.set()


async def test_escape_stops_it() -> None:
    session = PlayedSession(chat=CompactedChat)
    session.chat.compaction = (Compacting(7000, 8192), threading.Event(), Compacted(7000, 2500, 4, 0, 2400))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/compact")
        await pilot.press("enter")
        await until(pilot, lambda: "compacting" in transcript(app))
        await pilot.press("escape")
        await ready(app, pilot)
        assert "stopped" in transcript(app)


async def test_shortening_that_took_no_time_is_shown_too() -> None:
    session = PlayedSession(chat=CompactedChat)
    session.chat.compaction = (Compacted(7000, 2500, 4, 0, 2400),)
    async with running(session) as (app, pilot):
        await ask(app, pilot, "/compact")
        await until(pilot, lambda: "4 old blocks shortened" in " ".join(transcript(app).split()))


async def test_the_user_hears_that_nothing_can_be_left_out() -> None:
    session = PlayedSession(chat=CompactedChat)
    session.chat.compaction = (Compacted(700, 700, 0, 0, 0),)
    async with running(session) as (app, pilot):
        await ask(app, pilot, "/compact the shop")
        await until(pilot, lambda: "Nothing in the context can be left out." in " ".join(transcript(app).split()))
