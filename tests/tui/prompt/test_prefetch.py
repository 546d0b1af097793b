"""A message being typed is prefetched, and any other job comes first (on a scripted session)."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_engine.config import Speculation
from laguna_tui.base.events import AgentEvent, TextDelta, TurnEnd, TurnFinished
from laguna_tui.base.messages import Place
from laguna_tui.tui.controllers import prompt_controller
from laguna_tui.tui.session_controller import Flow, SessionBusyError, SessionController, SessionState
from tests.tui.contexts import prompting
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedChat, PlayedSession, answer


class ReadingChat(PlayedChat):
    """Notes what is read ahead.

    Attributes:
        prefetch_gate: waited for in a prefetch.
        prefetched, prefetched_whole: the messages that were begun, and those that were read to the end.
    """

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.prefetch_gate: threading.Event | None = None
        self.prefetched: list[str] = []
        self.prefetched_whole: list[str] = []

    def prefetch(self, message: str) -> None:
        self.cancelled.clear()
        self.prefetched.append(message)
        while self.prefetch_gate is not None and not self.prefetch_gate.wait(0.01):
            if self.cancelled.is_set():
                return
        self.prefetched_whole.append(message)


def held() -> PlayedSession:
    session = PlayedSession(chat=ReadingChat)
    session.chat.prefetch_gate = threading.Event()
    return session


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_controller, "COST_PAUSE_S", 0.01)
    monkeypatch.setattr(prompt_controller, "PREFETCH_PAUSE_S", 0.03)


async def reading(app, pilot, session: PlayedSession, message: str) -> None:
    """Type the message and wait until it is being read, which does not end by itself."""
    await until(pilot, lambda: session.chat.prefetched_whole and not app.controller.busy)
    session.chat.prefetch_gate = threading.Event()
    app.prompt.replace_text(message)
    await until(pilot, lambda: session.chat.prefetched[-1:] == [message] and app.status_bar.status.prefetching)


async def test_an_empty_prompt_has_the_system_prompt_read_after_opening() -> None:
    session = PlayedSession(chat=ReadingChat)
    async with running(session) as (_, pilot):
        await until(pilot, lambda: session.chat.prefetched_whole == [""])


async def test_a_pause_in_typing_has_the_message_read_once() -> None:
    session = PlayedSession(chat=ReadingChat)
    async with running(session) as (app, pilot):
        await until(pilot, lambda: session.chat.prefetched_whole == [""])
        app.prompt.insert("why is")
        await until(pilot, lambda: session.chat.prefetched_whole == ["", "why is"])
        await pilot.pause(0.2)
        app.prompt.insert(" it")
        await until(pilot, lambda: session.chat.prefetched_whole == ["", "why is", "why is it"])
        await until(pilot, lambda: not app.controller.busy)


async def test_a_slash_command_is_not_read() -> None:
    session = PlayedSession(chat=ReadingChat)
    async with running(session) as (_, pilot):
        await until(pilot, lambda: session.chat.prefetched == [""])
        await pilot.press(*"/he")
        await pilot.pause(0.2)
        assert session.chat.prefetched == [""]


async def test_the_state_stays_ready_and_the_bar_says_so_quietly() -> None:
    session = held()
    async with running(session, size=(100, 24)) as (app, pilot):
        await until(pilot, lambda: "reading ahead" in screen(app))
        assert app.state is SessionState.READY
        assert "● ready" in screen(app)
        session.chat.prefetch_gate.set()
        await until(pilot, lambda: "reading ahead" not in screen(app))
        assert not app._poller._active.is_set()


async def test_a_message_that_is_sent_meanwhile_is_answered_at_once() -> None:
    session = PlayedSession(answer("Here."), chat=ReadingChat)
    async with running(session) as (app, pilot):
        await reading(app, pilot, session, "where")
        await pilot.press("enter")
        await until(pilot, lambda: "Here." in transcript(app))
        await ready(app, pilot)
        assert session.chat.asked == ["where"]
        assert "where" not in session.chat.prefetched_whole
        assert "stopped" not in transcript(app)


class HardOfHearing(ReadingChat):
    """A cancel before it has begun to read is not heard, as between a job's start and its first token."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.prefetch_gate = threading.Event()
        self.entered, self.begin = threading.Event(), threading.Event()

    def prefetch(self, message: str) -> None:
        self.entered.set()
        self.begin.wait(10)
        super().prefetch(message)


async def test_a_cancel_that_came_too_early_is_sent_again() -> None:
    session = PlayedSession(answer("Here."), chat=HardOfHearing)
    async with running(session) as (app, pilot):
        await until(pilot, session.chat.entered.is_set)
        app.prompt.replace_text("where")
        await pilot.press("enter")
        await until(pilot, session.chat.cancelled.is_set)
        session.chat.begin.set()
        await until(pilot, lambda: "Here." in transcript(app))
        assert session.chat.prefetched_whole == []


class SlowToBegin(ReadingChat):
    """Has something to do before it answers, and hears no cancel meanwhile."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.entered, self.begin = threading.Event(), threading.Event()

    def ask(self, message: str) -> Iterator[AgentEvent]:
        self.entered.set()
        self.begin.wait(10)
        yield from super().ask(message)


async def test_a_stop_that_came_before_the_answer_began_is_sent_again() -> None:
    endless = threading.Event()
    session = PlayedSession(answer("Never said.", before=[endless]), chat=SlowToBegin)
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("where")
        await pilot.press("enter")
        await until(pilot, session.chat.entered.is_set)
        await pilot.press("escape")
        await until(pilot, session.chat.cancelled.is_set)
        session.chat.begin.set()
        await ready(app, pilot)
        assert session.chat.asked == ["where"]
        assert "Never said." not in transcript(app)


class Watchful(ReadingChat):
    """Notes whether a cancel ever met an answer."""

    hit = False
    answering = False

    def ask(self, message: str) -> Iterator[AgentEvent]:
        self.answering = True
        yield from super().ask(message)
        self.answering = False

    def cancel(self) -> None:
        self.hit = self.hit or self.answering
        super().cancel()


async def test_dropping_what_is_read_never_stops_the_answer() -> None:
    gate = threading.Event()
    session = PlayedSession([TextDelta("one "), gate, *answer("two")], chat=Watchful)
    async with running(session) as (app, pilot):
        await reading(app, pilot, session, "where")
        await pilot.press("enter")
        await until(pilot, lambda: "one" in transcript(app))
        await pilot.pause(0.2)
        gate.set()
        await until(pilot, lambda: "two" in transcript(app))
        assert not session.chat.hit


async def test_once_it_has_ended_it_cancels_nothing() -> None:
    chat = await Chat.opened(PlayedSession(chat=ReadingChat))
    chat.controller.prefetch("why", lambda: None)
    await chat.finish()
    chat.controller.drop_prefetch()
    assert chat.session.chat.prefetched_whole == ["why"]
    assert not chat.session.chat.cancelled.is_set()


async def test_dropped_before_it_began_it_never_begins() -> None:
    chat = await Chat.opened(PlayedSession(chat=ReadingChat))
    chat.controller.prefetch("why", lambda: None)
    chat.controller.drop_prefetch()
    await chat.finish()
    assert chat.session.chat.prefetched == []


async def test_typing_on_lets_it_read_and_then_reads_the_rest() -> None:
    session = PlayedSession(chat=ReadingChat)
    async with running(session) as (app, pilot):
        await reading(app, pilot, session, "where")
        await pilot.press("space", *"is it")
        await pilot.pause(0.2)
        assert not session.chat.cancelled.is_set()
        session.chat.prefetch_gate.set()
        await until(pilot, lambda: session.chat.prefetched_whole == ["", "where", "where is it"])


async def test_typing_something_else_drops_what_is_read() -> None:
    session = PlayedSession(chat=ReadingChat)
    async with running(session) as (app, pilot):
        await reading(app, pilot, session, "where is it")
        app.prompt.replace_text("why")
        await until(pilot, lambda: session.chat.prefetched[-1] == "why")
        assert "where is it" not in session.chat.prefetched_whole


async def test_a_new_chat_does_not_wait_for_it_and_is_read_anew() -> None:
    session = PlayedSession(chat=ReadingChat)
    async with running(session) as (app, pilot):
        await reading(app, pilot, session, "where")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: session.chat.chats == 2)
        await until(pilot, lambda: session.chat.prefetched.count("where") == 2)


async def test_another_model_does_not_wait_for_it() -> None:
    session = PlayedSession(chat=ReadingChat)
    async with running(session) as (app, pilot):
        await reading(app, pilot, session, "where")
        app.models.change("other")
        await until(pilot, lambda: session.models.switched == ["other"])
        await until(pilot, lambda: session.chat.prefetched.count("where") == 2)
        assert "answers from now on" in transcript(app)


async def test_another_mode_and_a_proof_do_not_wait_for_it() -> None:
    session = PlayedSession(answer("Here."), mode=Speculation.FAST, chat=ReadingChat)
    async with running(session) as (app, pilot):
        await ask(app, pilot, "where")
        await reading(app, pilot, session, "why")
        await pilot.press("f6")
        await until(pilot, lambda: session.about.mode is Speculation.OFF)
        await until(pilot, lambda: session.chat.prefetched.count("why") == 2)
        await pilot.press("f5")
        await until(pilot, lambda: session.chat.replays == 1)


class Ordered(PlayedChat):
    """Notes what was asked and read, in order."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.order: list[str] = []

    def ask(self, message: str) -> Iterator[AgentEvent]:
        self.order.append(f"asked {message}")
        return super().ask(message)

    def prefetch(self, message: str) -> None:
        self.order.append(f"read {message}")


async def test_messages_that_wait_come_first() -> None:
    opening = threading.Event()
    session = PlayedSession(answer("Here."), opening=opening, chat=Ordered)
    async with running(session) as (app, pilot):
        await pilot.press(*"one", "enter", *"two", "enter")
        await until(pilot, lambda: len(app.hint_bar.queued) == 2)
        opening.set()
        await until(pilot, lambda: "read " in session.chat.order)
        assert session.chat.order[:2] == ["asked one", "asked two"]


async def test_quitting_does_not_wait_for_it() -> None:
    session = PlayedSession(chat=ReadingChat)
    async with running(session) as (app, pilot):
        await reading(app, pilot, session, "where")
        await pilot.press("ctrl+q")
        await until(pilot, session.chat.cancelled.is_set)
    assert app.return_code == 0


class Restless(Watchful):
    """Reads until it is cancelled, and does not hear a cancel that comes at its very beginning."""

    def prefetch(self, message: str) -> None:
        time.sleep(0.001)
        self.cancelled.clear()
        self.prefetched.append(message)
        self.cancelled.wait(20)


class Chat:
    """A session as the app drives it: whatever is done, it is polled afterwards."""

    def __init__(self, session: PlayedSession) -> None:
        self.session = session
        self.received: list[object] = []
        self.sent: list[str] = []
        self.jobs: set[asyncio.Task[object]] = set()
        self.controller = SessionController(session, self.start)
        self.controller.on_end = lambda: self.received.extend(self.controller.poll())
        self.steps = {
            "read": lambda: self.controller.prefetch("typed so far", lambda: None),
            "send": self.send,
            "drop": self.controller.drop_prefetch,
            "arrange": lambda: self.controller.change("context", self.arrange),
            "prove": lambda: self.start(self.prove()),
            "wait": lambda: time.sleep(0.003),
        }

    @classmethod
    async def opened(cls, session: PlayedSession) -> "Chat":
        chat = cls(session)
        await chat.controller.load(session.open)
        return chat

    def start(self, flow: Flow) -> None:
        task = asyncio.ensure_future(flow)
        self.jobs.add(task)
        task.add_done_callback(self.jobs.discard)

    def send(self) -> None:
        self.sent.append(f"message {len(self.sent)}")
        self.controller.send(self.sent[-1])

    async def arrange(self) -> None:
        with suppress(SessionBusyError):
            await self.controller.run(lambda: self.session.prompt.change({0: Place.DROPPED}), "/context")

    async def prove(self) -> None:
        with suppress(SessionBusyError):
            await self.controller.run(lambda: self.session.chat.check_replay(self.controller.put), "press F5")

    def poll(self) -> None:
        self.received.extend(self.controller.poll())
        if not self.controller.start_change() and (queued := self.controller.next_queued()) is not None:
            self.controller.send(queued)

    async def finish(self) -> None:
        deadline = time.monotonic() + 10
        if self.controller.prefetching and isinstance(self.session.chat, Restless):
            self.controller.drop_prefetch()
        while self.controller.busy or self.jobs:
            assert time.monotonic() < deadline, "it never became free"
            await asyncio.sleep(0.0005)
            self.poll()


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["read", "wait", "send", "drop", "arrange", "prove"]), max_size=24))
def test_in_whatever_order_it_comes_every_message_is_answered_once_and_whole(steps: list[str]) -> None:
    async def take(steps: list[str]) -> None:
        session = prompting(PlayedSession(answer("one two three"), chat=Restless))
        chat = await Chat.opened(session)
        for step in steps:
            chat.steps[step]()
            await asyncio.sleep(0)
            chat.poll()
        await chat.finish()
        assert session.chat.asked == chat.sent
        assert not session.chat.hit
        ends = [item.end for item in chat.received if isinstance(item, TurnFinished)]
        assert ends == [TurnEnd.ANSWERED] * len(chat.sent)

    asyncio.run(take(steps))


class Broken(ReadingChat):
    """Cannot read ahead."""

    def prefetch(self, message: str) -> None:
        super().prefetch(message)
        raise RuntimeError("out of luck")


async def test_what_cannot_be_read_is_not_told_and_is_tried_again_after_the_next_answer() -> None:
    session = PlayedSession(answer("Here."), chat=Broken)
    async with running(session) as (app, pilot):
        await until(pilot, lambda: session.chat.prefetched == [""])
        await pilot.press(*"why")
        await pilot.pause(0.2)
        assert session.chat.prefetched == [""]
        await pilot.press("enter")
        await until(pilot, lambda: "Here." in transcript(app))
        await until(pilot, lambda: len(session.chat.prefetched) == 2)
        assert "luck" not in transcript(app)
