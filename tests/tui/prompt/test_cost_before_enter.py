"""The cost of a message is shown while the user types and never blocks typing (on a scripted session)."""

import threading
import time
from dataclasses import replace

import pytest

from laguna_tui.base import units
from laguna_tui.base.events import TextDelta
from laguna_tui.context.blocks import Cost
from laguna_tui.tui.context.cost_text import LITTLE, cost_part
from laguna_tui.tui.controllers import prompt_controller
from laguna_tui.tui.text_lines import cells
from tests.tui.contexts import costs, prompting
from tests.tui.pilot import ready, running, screen, until
from tests.tui.scripted import PlayedSession, answer
from tests.tui.test_screen_safety import BRACKETS, HOSTILE, assert_harmless

CHEAP = Cost(412, 38_100, 0, 0.3, fits=True)
BREAKING = Cost(12_812, 25_700, 12_400, 4.1, fits=True)
REWRITING = replace(BREAKING, why="the chat template leaves out earlier thoughts")
TOO_MUCH = Cost(52_000, 0, 0, 61.0, fits=False)
UNKNOWN = Cost(412, 38_100, 0, None, fits=True)


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_controller, "COST_PAUSE_S", 0.01)


@pytest.mark.parametrize(
    ("cost", "room", "words"),
    [
        (CHEAP, 74, "412 new tokens, 38,100 cached, about 0.3 s"),
        (CHEAP, 37, "412 new tokens, 38,100 cached, 0.3 s"),
        (CHEAP, 20, "412 new, 0.3 s"),
        (UNKNOWN, 74, "412 new tokens, 38,100 cached"),
        (BREAKING, 74, "breaks the cache: 12,400 tokens again, about 4 s"),
        (BREAKING, 34, "12,400 tokens again, about 4 s"),
        (REWRITING, 90, "12,400 tokens again: the chat template leaves out earlier thoughts, about 4 s"),
        (REWRITING, 40, "12,400 tokens again, about 4 s"),
        (TOO_MUCH, 74, "does not fit: 52,000 tokens, the context has 8,192"),
        (TOO_MUCH, 34, "does not fit: 52,000 tokens"),
    ],
)
def test_it_is_said_in_as_many_words_as_there_is_room_for(cost: Cost, room: int, words: str) -> None:
    assert cost_part(cost, 8192, room)[0] == words


@pytest.mark.parametrize("cost", [CHEAP, BREAKING, TOO_MUCH, UNKNOWN])
def test_it_never_leaves_its_room(cost: Cost) -> None:
    for room in range(100):
        assert cells(cost_part(cost, 8192, room)[0]) <= room


def test_only_a_loss_that_can_be_felt_and_a_lack_of_room_are_warned_of() -> None:
    tones = [cost_part(cost, 8192, 80)[1] for cost in (CHEAP, BREAKING, TOO_MUCH)]
    assert len(set(tones)) == 3
    little = Cost(80, 500, LITTLE - 1, 0.1, fits=True)
    assert cost_part(little, 8192, 80)[1] == tones[0]


def test_times_are_said_as_they_are_waited_for() -> None:
    assert [units.duration(time) for time in (0.0, 0.31, 1.94, 4.4, 45, 200)] == [
        "0.1 s",
        "0.3 s",
        "1.9 s",
        "4 s",
        "45 s",
        "3 min",
    ]


async def test_it_stands_in_the_border_while_there_is_something_to_send() -> None:
    async with running(prompting(PlayedSession(), costs=costs)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"hello")
        await until(pilot, lambda: "4 new tokens, 38,100 cached, about 0.3 s" in screen(app))
        await pilot.press("ctrl+c")
        assert "cached" not in screen(app)


async def test_what_is_still_being_measured_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_controller, "COST_AGAIN_S", 0.01)
    asked: list[str] = []

    def measured_at_the_third(message: str) -> Cost:
        asked.append(message)
        return replace(CHEAP, measuring=True) if len(asked) < 3 else replace(CHEAP, seconds=16.0)

    async with running(prompting(PlayedSession(), costs=measured_at_the_third)) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("hello")
        await until(pilot, lambda: "about 16 s" in screen(app))
        assert asked == ["hello"] * 3


async def test_it_follows_the_width() -> None:
    async with running(prompting(PlayedSession(), costs=costs)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"edit")
        await until(pilot, lambda: "breaks the cache: 12,400 tokens again, about 4 s" in screen(app))
        await pilot.resize_terminal(40, 24)
        await until(pilot, lambda: "─ 12,400 tokens again, about 4 s ─" in screen(app))


async def test_a_command_and_a_closed_model_cost_nothing() -> None:
    opening = threading.Event()
    session = prompting(PlayedSession(opening=opening), costs=costs)
    async with running(session) as (app, pilot):
        await pilot.press(*"hello")
        await pilot.pause(0.1)
        assert "cached" not in screen(app)
        opening.set()
        await until(pilot, lambda: "38,100 cached" in screen(app))
        app.prompt.replace_text("/help")
        await until(pilot, lambda: "cached" not in screen(app))


async def test_while_it_answers_nothing_is_said_and_afterwards_it_is() -> None:
    gate = threading.Event()
    session = prompting(PlayedSession([TextDelta("one "), gate, *answer("")]), costs=costs)
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter", *"and then")
        await pilot.pause(0.2)
        assert "cached" not in screen(app)
        gate.set()
        await until(pilot, lambda: "38,100 cached" in screen(app))


class Thorough:
    """Takes as long as it is let, and notes how many ask at the same time."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked: list[str] = []
        self.at_once = self.most = 0

    def __call__(self, message: str) -> Cost:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.asked.append(message)
        self.gate.wait(10)
        self.at_once -= 1
        return Cost(len(message), 0, 0, None, fits=True)


async def test_a_slow_answer_neither_holds_up_typing_nor_is_told_when_it_is_overtaken() -> None:
    slow = Thorough()
    async with running(prompting(PlayedSession(), costs=slow)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("a")
        await until(pilot, lambda: slow.asked == ["a"])
        for letter in "bcdefgh":
            await pilot.press(letter)
            await pilot.pause(0.03)
        assert app.prompt.text == "abcdefgh"
        assert "new" not in app.prompt.border_subtitle if app.prompt.border_subtitle else True
        slow.gate.set()
        await until(pilot, lambda: "8 new" in screen(app))
        assert slow.asked == ["a", "abcdefgh"]
        assert slow.most == 1


async def test_notes_about_what_is_mentioned_stand_in_the_rail_as_text_only() -> None:
    notes = (f"no file matches @{HOSTILE} {BRACKETS}", "and another")
    session = prompting(PlayedSession(), costs=lambda message: Cost(1, 0, 0, None, fits=True, notes=notes))
    async with running(session, size=(120, 24)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("x")
        await until(pilot, lambda: "no file matches" in screen(app))
        assert "(+1)" in screen(app)
        assert BRACKETS.split()[0] in screen(app)
        assert_harmless(screen(app))
        await pilot.press("backspace")
        await until(pilot, lambda: "no file matches" not in screen(app))


async def test_a_cost_that_cannot_be_found_says_why() -> None:
    def broken(message: str) -> Cost:
        raise ValueError("no idea")

    async with running(prompting(PlayedSession(), costs=broken)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("x")
        await until(pilot, lambda: "no idea" in screen(app))
        assert app.is_running


async def test_an_answer_after_the_end_of_the_app_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    slow = Thorough()
    async with running(prompting(PlayedSession(), costs=slow)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("a")
        await until(pilot, lambda: slow.asked)
    slow.gate.set()
    deadline = time.monotonic() + 60
    while any(thread.name == "laguna-latest" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "Traceback" not in capfd.readouterr().err
