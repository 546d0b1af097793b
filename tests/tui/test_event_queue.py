"""The event queue is bounded, keeps events in order, and blocks no thread once the app exits."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from laguna_tui.base.events import AgentEvent, TextDelta
from laguna_tui.tui import session_controller
from laguna_tui.tui.event_queue import EventQueue
from tests.tui.pilot import ask, ready, running, transcript, until
from tests.tui.scripted import PlayedChat, PlayedSession


def putting(feed: EventQueue, count: int) -> threading.Thread:
    """A thread that puts so many numbers."""
    thread = threading.Thread(target=lambda: [feed.put(number) for number in range(count)], daemon=True)
    thread.start()
    return thread


@pytest.mark.timeout(60)
def test_whoever_puts_waits_for_room_and_nothing_is_lost() -> None:
    feed, taken = EventQueue(10), []
    thread = putting(feed, 1000)
    while len(taken) < 1000:
        items = feed.drain()
        assert len(items) <= 10
        taken += items
    thread.join()
    assert taken == list(range(1000))


@pytest.mark.timeout(60)
def test_a_feed_that_is_closed_lets_those_go_on_who_wait() -> None:
    feed = EventQueue(10)
    thread = putting(feed, 1000)
    feed.close()
    thread.join()
    feed.put("late")
    assert "late" not in feed.drain()


class Flooding(PlayedChat):
    """An answer with more events than the queue holds, which ignores a cancel."""

    def ask(self, message: str) -> Iterator[AgentEvent]:
        for number in range(500):
            yield TextDelta(f"{number} ")
        yield from super().ask(message)
        self.ended.set()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_controller, "EventQueue", partial(EventQueue, 8))


async def test_an_answer_of_more_events_than_the_feed_holds_comes_whole() -> None:
    async with running(PlayedSession(chat=Flooding)) as (app, pilot):
        await ask(app, pilot, "hello")
        # What follows has the turn's figures.
        said = transcript(app).partition("Hello.")[0].split()
        assert [str(number) for number in range(500)] == [word for word in said if word.isdigit()]


async def test_an_app_that_is_left_in_the_middle_of_an_answer_holds_its_thread_up_no_longer() -> None:
    session = PlayedSession(chat=Flooding)
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("hello")
        await pilot.press("enter")
        await until(pilot, lambda: session.chat.asked or "1 2" in transcript(app))
        await pilot.press("ctrl+q")
    assert session.chat.ended.wait(60)
