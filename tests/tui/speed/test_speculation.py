"""The speculation views: numbers, tints, rejected drafts, modes, the replay check."""

import threading
from dataclasses import replace

import pytest

from laguna_engine.config import Speculation
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.errors import EngineError
from laguna_engine.events import CONSTRAINED, Cause, DrafterFailed, Round, Source
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import DraftRound, Rate, ReplayCheck, ReplayDifference, TextDelta, TurnStarted
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.speed.drafts_screen import DraftsScreen
from laguna_tui.tui.speed.speed_panel import speed_column, speed_rows
from laguna_tui.tui.speed.speed_stats import Speed, SpeedTracker
from laguna_tui.tui.text_lines import cells
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import IDENTICAL, PlayedSession, answer
from tests.tui.story import ANSWER
from tests.tui.test_screen_safety import BRACKETS, HOSTILE, assert_harmless

DRAFTED = answer(ANSWER, draft=True)
FULL = Speed(
    Speculation.FAST,
    "dflash",
    decode=41234.5,
    prefill=99999.0,
    gain=2.06,
    rounds=123456,
    tokens_per_round=16.25,
    acceptance=1.0,
    positions=(1.0,) * 16,
    lengths=(0, 4, 16) * 80,
    shares=dict.fromkeys((DFlash.source, SuffixDrafter.source, FileDrafter.source, Source.TARGET), 0.25),
    reason="copying 16 tokens from a file: 10.5x expected",
)
SIZES = [(80, 24), (40, 24), (200, 50)]


def drafting(*scripts, **options) -> PlayedSession:
    return PlayedSession(*(scripts or (DRAFTED,)), mode=Speculation.FAST, drafter="dflash, 2 M parameters", **options)


def proving(proof: ReplayCheck | Exception = IDENTICAL, gate: threading.Event | None = None) -> PlayedSession:
    session = drafting()
    session.chat.proof, session.chat.proof_gate = proof, gate
    return session


def tones(app) -> set[str]:
    document = app.document
    lines = (document.line(*document.at(row)) for row in range(document.height))
    return {word for line in lines for run in line.runs for word in run.tone.split() if word.startswith("by-")}


@pytest.mark.parametrize("size", SIZES)
async def test_the_speed_panel_opens_and_closes(size: tuple[int, int]) -> None:
    async with running(drafting(), size=size) as (app, pilot):
        await ask(app, pilot, "q")
        assert "dflash, 2 M" not in screen(app)
        await pilot.press("f2")
        await pilot.pause()
        shown = screen(app)
        for words in ("speed · fast · dflash, 2 M", "40 tok/s", "dflash", "1.6x expected"):
            assert words in shown
        await pilot.press("f2")
        await pilot.pause()
        assert "1.6x expected" not in screen(app)


async def test_a_hidden_panel_is_given_nothing() -> None:
    async with running(drafting()) as (app, pilot):
        before = app.speed_panel.speed
        await ask(app, pilot, "q")
        assert app.speed_panel.speed is before


async def test_the_panel_says_why_nothing_is_drafted() -> None:
    off = DraftRound(Round(None, 0, 0, 0.0, 0.01, 0.0, 0.01, "", "off: would cost 12 % here"), "", "word")
    async with running(drafting([TextDelta("word"), off])) as (app, pilot):
        await pilot.press("f2")
        await ask(app, pilot, "q")
        assert "off: would cost 12 % here" in screen(app)
        await pilot.press("f6")
        await until(pilot, lambda: app.speed.tracker.mode is Speculation.OFF)
        assert "Speculation is off: one token at a time. /speculation turns it on." in screen(app)


@pytest.mark.parametrize("speed", [Speed(), FULL], ids=["nothing yet", "everything"])
def test_no_row_is_wider_than_its_panel(speed: Speed) -> None:
    told = DraftRound(Round(FileDrafter.source, 6, 1, 0, 0, 0, 0, "日本語" * 9, "r"), "stood " * 9, "instead " * 9)
    for width in range(20, 200):
        column = speed_column(speed, [told] * 9, width, 50) if width >= 40 else []
        for row in (*speed_rows(speed, width), *column):
            assert sum(cells(text) for text, _ in row) <= width


def test_a_column_is_cut_at_its_height() -> None:
    assert len(speed_column(FULL, [], 44, 12)) == 12


def test_the_gain_is_against_the_rounds_that_drafted_nothing() -> None:
    tracker = SpeedTracker()
    tracker.update(TurnStarted(10, 0))
    tracker.update(Rate(5, 300.0, 15))
    assert tracker.speed().gain is None
    for drafter, drafted, accepted, seconds in ((None, 0, 0, 0.010), (DFlash.source, 4, 4, 0.015)):
        tracker.update(DraftRound(Round(drafter, drafted, accepted, 0, 0, 0, seconds, "", ""), "", ""))
    # Six tokens in 25 ms are 240 a second, and plainly there would be 100.
    assert tracker.speed().gain == pytest.approx(2.4)
    assert tracker.speed().plain == pytest.approx(125.0)


async def test_another_answer_begins_with_fresh_numbers() -> None:
    async with running(drafting(DRAFTED, answer("short"))) as (app, pilot):
        await ask(app, pilot, "q")
        assert app.speed.tracker.speed().rounds > 20
        await ask(app, pilot, "again")
        assert app.speed.tracker.speed().rounds == 0
        assert not app.speed.tracker.rounds


async def test_the_answer_is_tinted_and_a_legend_says_what_the_tints_mean() -> None:
    async with running(drafting(), size=(80, 40)) as (app, pilot):
        await ask(app, pilot, "q")
        before = transcript(app)
        assert not tones(app)
        await pilot.press("f3")
        await until(pilot, lambda: tones(app) == {"by-teal", "by-amber", "by-violet"})
        assert transcript(app) == before
        for words in (" dflash  45 %", " suffix  19 %", " file  12 %", " target  25 %"):
            assert words in screen(app)
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: app.size.width == 60 and tones(app) == {"by-teal", "by-amber", "by-violet"})
        await pilot.press("f3")
        await until(pilot, lambda: not tones(app))
        await until(pilot, lambda: " dflash " not in screen(app))


async def test_what_a_constraint_left_is_tinted_and_named_although_nothing_was_drafted() -> None:
    gate = threading.Event()
    held = [TextDelta("The list has "), TextDelta("total cart.py:1", CONSTRAINED), gate]
    async with running(drafting(held)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f3", *"go", "enter")
        await until(pilot, lambda: tones(app) == {"by-rose"})
        await until(pilot, lambda: " constraint " in screen(app))
        assert " constraint  0 %" not in screen(app)
        gate.set()


async def test_tints_come_while_the_answer_does() -> None:
    gate = threading.Event()
    async with running(drafting([TextDelta("one "), TextDelta("two", DFlash.source), gate])) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f3", *"go", "enter")
        await until(pilot, lambda: "two" in transcript(app))
        assert tones(app) == {"by-teal"}
        gate.set()
        await ready(app, pilot)


async def test_without_colours_the_tints_are_ways_of_writing(monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(drafting()) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("f3")
        await pilot.pause()
        styles = [app.transcript.palette(f"text by-{name}") for name in ("teal", "amber", "violet", "rose")]
        assert [(style.underline, style.bold, style.reverse, style.italic) for style in styles] == [
            (True, None, None, None),
            (None, True, None, None),
            (None, None, True, None),
            (None, None, None, True),
        ]
        assert " suffix " in screen(app)


async def test_what_did_not_stand_is_shown_on_demand() -> None:
    spun = Round(DFlash.source, 4, 2, 0.001, 0.01, 0.0, 0.012, "wrong words", "dflash, 4 tokens: 1.3x expected")
    script = [TextDelta("right one", DFlash.source), DraftRound(spun, "right one", "instead")]
    async with running(drafting(answer("", before=script))) as (app, pilot):
        await ask(app, pilot, "q")
        assert "wrong words" not in screen(app)
        await pilot.press("f4")
        await pilot.pause()
        shown = screen(app)
        for words in ("dflash 2 of 4", "1.3x expected", "right one", "wrong words → instead"):
            assert words in shown
        await pilot.press("escape")
        assert not isinstance(app.screen, DraftsScreen)


async def test_drafts_go_on_while_they_are_looked_at() -> None:
    gate = threading.Event()
    first, second = (
        DraftRound(Round(None, 0, 0, 0, 0, 0, 0, "", why), "", "x") for why in ("reason one", "reason two")
    )
    async with running(drafting([first, gate, second])) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f4")
        await pilot.pause()
        assert "No round of speculative decoding yet" in screen(app)
        await pilot.press("escape", *"go", "enter")
        await until(pilot, lambda: app.speed.tracker.rounds)
        await pilot.press("f4")
        await pilot.pause()
        assert "reason one" in screen(app)
        gate.set()
        await until(pilot, lambda: "reason two" in screen(app))


async def test_rejected_drafts_are_only_text() -> None:
    text = f"{HOSTILE} {BRACKETS}"
    spun = Round(FileDrafter.source, 4, 2, 0.001, 0.01, 0.0, 0.012, text, text)
    session = drafting(answer("", before=[TextDelta(text), DraftRound(spun, text, text)]))
    session.about = replace(session.about, drafter=text)
    async with running(session, size=(120, 30)) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("f2")
        await pilot.pause()
        assert_harmless(screen(app))
        await pilot.press("f4")
        await pilot.pause()
        assert_harmless(screen(app))
        assert "[bold]" in screen(app)


async def test_speculation_is_switched_off_and_on_and_the_bar_says_so() -> None:
    session = drafting()
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        assert "fast · " in screen(app)
        await pilot.press("f6")
        await until(pilot, lambda: session.about.mode is Speculation.OFF and app.state is SessionState.READY)
        assert "spec off · " in screen(app)
        await pilot.press("f6")
        await until(pilot, lambda: session.about.mode is Speculation.FAST and app.state is SessionState.READY)
        assert "fast · " in screen(app)


async def test_strict_and_back_and_off_remembers_strict() -> None:
    session = drafting()
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        for key, mode in (("strict", "STRICT"), ("f6", "OFF"), ("f6", "STRICT"), ("strict", "FAST")):
            await pilot.press(*(["f6"] if key == "f6" else [*"/strict", "enter"]))
            wanted = Speculation[mode]
            await until(
                pilot,
                lambda wanted=wanted: session.about.mode is wanted and app.speed.tracker.mode is wanted,
            )
            await ready(app, pilot)


async def test_where_strict_cannot_be_had_it_is_said_at_once_and_nothing_else_happens() -> None:
    gate = threading.Event()
    session = drafting([TextDelta("one "), gate, TextDelta("two")])
    session.about = replace(session.about, no_strict="Start again with: laguna-tui --speculation strict")
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await pilot.press(*"/strict", "enter")
        await until(pilot, lambda: "Start again with: laguna-tui --speculation strict" in transcript(app))
        assert app.state is SessionState.BUSY
        gate.set()
        await ready(app, pilot)
        assert session.about.mode is Speculation.FAST


async def test_a_mode_that_is_not_possible_says_why_and_everything_stays() -> None:
    session = drafting()
    session.models.error = EngineError("strict is not possible here; start again with --speculation strict")
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"/strict", "enter")
        await until(pilot, lambda: "start again with --speculation strict" in transcript(app))
        await ready(app, pilot)
        assert "fast · " in screen(app)
        await ask(app, pilot, "q")
        assert session.chat.asked == ["q"]


async def test_a_mode_that_is_wished_in_the_middle_of_an_answer_comes_after_it() -> None:
    gate = threading.Event()
    session = drafting([TextDelta("one "), gate, TextDelta("two")], answer("three"))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await pilot.press(*"next", "enter", "f6")
        await pilot.pause(0.1)
        assert session.about.mode is Speculation.FAST
        gate.set()
        await until(pilot, lambda: session.chat.asked == ["go", "next"])
        await ready(app, pilot)
        assert session.about.mode is Speculation.OFF
        assert "two" in transcript(app)
        assert "three" in transcript(app)


async def test_the_last_answer_is_proved_identical() -> None:
    gate = threading.Event()
    session = proving(gate=gate)
    async with running(session) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("f5")
        await until(pilot, lambda: "of 412 tokens" in transcript(app))
        assert "replaying" in screen(app).splitlines()[-2]
        gate.set()
        await ready(app, pilot)
        assert "identical, 412 tokens" in transcript(app)
        assert "of 412 tokens" not in transcript(app)


@pytest.mark.parametrize(
    ("margin", "drawn", "cause", "why"),
    [
        (0.0031, False, None, "a near tie"),
        (0.0031, False, Cause.VERIFIED, "verified several tokens at once"),
        (0.0031, False, Cause.READ, "the prompt was read in other pieces"),
        (2.5, False, Cause.READ, "more than rounding explains"),
        (0.0031, True, None, "logits for plain, with the noise of the draw: a near tie, rounding decides"),
        (
            0.4,
            True,
            None,
            "unless top-k, top-p or min-p left one of them out, more than rounding explains, please report",
        ),
    ],
)
async def test_a_difference_is_shown_with_both_candidates_their_margin_and_its_cause(
    margin: float, drawn: bool, cause: Cause | None, why: str
) -> None:
    found = ReplayDifference(37, "def total(items):\n    return", f" sum{HOSTILE}", " len", margin, drawn, cause)
    async with running(proving(ReplayCheck(37, 412, found, 1.0))) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press(*"/prove", "enter")
        await until(pilot, lambda: "then different" in transcript(app))
        shown = " ".join(transcript(app).split())
        for words in (
            "the same for 37 tokens",
            "def total(items):⏎ return",
            "“ sum",
            "“ len”",
            f"{margin:+.4f}",
            why,
        ):
            assert words in shown
        assert_harmless(shown)


async def test_a_proof_can_be_stopped() -> None:
    session = proving(gate=threading.Event())
    async with running(session) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("f5")
        await until(pilot, lambda: "of 412 tokens" in transcript(app))
        await pilot.press("escape")
        await ready(app, pilot)
        assert "stopped after" in transcript(app)
        await ask(app, pilot, "again")
        assert session.chat.asked == ["q", "again"]


async def test_without_an_answer_there_is_nothing_to_prove() -> None:
    session = proving(UserError("There is no answer to verify yet. Ask something first."))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f5")
        await until(pilot, lambda: "no answer to verify yet" in transcript(app))
        await ready(app, pilot)
        assert "replaying" not in transcript(app)


async def test_nothing_is_proved_while_an_answer_comes() -> None:
    gate = threading.Event()
    session = drafting([TextDelta("one "), gate])
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await pilot.press("f5")
        await pilot.pause()
        assert session.chat.replays == 0
        gate.set()
        await ready(app, pilot)


async def test_a_new_chat_forgets_a_proof_that_runs() -> None:
    session = proving(gate=threading.Event())
    async with running(session) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("f5")
        await until(pilot, lambda: "of 412 tokens" in transcript(app))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: session.chat.chats == 2 and app.state is SessionState.READY)
        assert "tokens" not in transcript(app)


async def test_a_drafters_name_is_never_markup() -> None:
    session = drafting()
    session.about = replace(session.about, drafter=f"{BRACKETS} \\[x] name")
    async with running(session, size=(130, 24)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f2")
        await pilot.pause()
        assert f"speed · fast · {BRACKETS} \\[x] name" in screen(app)


async def test_the_drafts_close_with_the_key_that_opened_them() -> None:
    async with running(drafting()) as (app, pilot):
        await ready(app, pilot)
        for shown in (True, False, True):
            await pilot.press("f4")
            await pilot.pause()
            assert isinstance(app.screen, DraftsScreen) is shown


async def test_a_drafter_that_failed_is_told_under_the_answer() -> None:
    failed = DrafterFailed(DFlash.source, f"GraphError - {HOSTILE}")
    session = drafting(answer("", before=[TextDelta("first half, "), failed, TextDelta("second half")]))
    async with running(session) as (app, pilot):
        await ask(app, pilot, "q")
        shown = transcript(app)
        assert "first half, second half" in shown
        assert "The drafter failed (GraphError" in shown.partition("second half")[2]
        assert "/model" in shown.partition("second half")[2]
        assert_harmless(shown)
