"""Kept sessions on the screen: the picker, resuming, titles, copies, deleting, and what the parent is told."""

from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event

import pytest
from textual.widgets import Input

from laguna_tui.base.app_report import AppReport, Start
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import Asked, ReasoningDelta, TextDelta, TurnEnd, TurnFinished, TurnStarted
from laguna_tui.session.values import NotSaved
from laguna_tui.store.session_journal import SessionLockedError
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.sessions.session_picker import MAX_SHOWN, SessionPicker
from laguna_tui.tui.sessions.session_questions import DeleteQuestion, FolderQuestion, TitleQuestion
from laguna_tui.tui.tui_settings import TuiSettings
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import answer, call
from tests.tui.sessions.played_sessions import FOLDER, PlayedSessions, saving

OTHER = Path("/other/place")


def kept(number: int, title: str, **about) -> SessionSummary:
    values = {"folder": FOLDER, "model": "Laguna Nano", "created": 0.0, "updated": 0.0, "turns": 3, "size": 120_000}
    return SessionSummary(id=f"20261101-10000{number}-aaaa", title=title, **{**values, **about})


FIX, SPEED, ELSEWHERE = (
    kept(1, "fix the discount"),
    kept(2, "why is it slow", ended="killed"),
    kept(3, "write a parser", folder=OTHER),
)
TURNS = (
    Asked("fix the discount", 0.0),
    TurnStarted(1200, 700, 1),
    ReasoningDelta("I look at it."),
    *call(1, "read", "total", path="shop/cart.py"),
    TextDelta("It is **fixed** now."),
    TurnFinished(TurnEnd.ANSWERED),
    Asked("and the tax?", 0.0),
    TurnStarted(1500, 1300, 2),
    TextDelta("Not yet, half of"),
    TurnFinished(TurnEnd.CANCELLED),
)


def sessions(*listed: SessionSummary, **options) -> PlayedSessions:
    made = PlayedSessions(*(listed or (FIX, SPEED, ELSEWHERE)), **options)
    made.events[FIX.id] = TURNS
    return made


@asynccontextmanager
async def chatting(found: PlayedSessions, *, resume=None, report=None, size=(80, 24), state=None):
    session = saving(found, answer("Hello."))
    app = LagunaApp(session, TuiSettings(state, theme="laguna-dark"), None, "", report, resume=resume)
    async with app.run_test(size=size, notifications=True) as pilot:
        if resume is None:
            await ready(app, pilot)
        yield app, pilot


async def picking(app, pilot, shown: str = "fix the discount") -> None:
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(app.screen, SessionPicker) and shown in screen(app))


# -- the picker


async def test_the_picker_lists_the_sessions_of_this_folder_and_tab_those_of_all():
    async with chatting(sessions()) as (app, pilot):
        await picking(app, pilot)
        assert "why is it slow" in screen(app)
        assert "ended: killed" in screen(app)
        assert "write a parser" not in screen(app)
        await pilot.press("tab")
        await until(pilot, lambda: "write a parser" in screen(app))
        assert "/other/place" in screen(app)
        await pilot.press("tab")
        await until(pilot, lambda: "write a parser" not in screen(app))


async def test_titles_are_searched_fuzzily_and_contents_by_their_words():
    found = sessions()
    found.contents[SPEED.id] = "… the prefill took nine seconds …"
    async with chatting(found) as (app, pilot):
        await picking(app, pilot)
        await pilot.press(*"fxdsc")
        await until(pilot, lambda: "why is it slow" not in screen(app))
        assert "fix the discount" in screen(app)
        app.screen.query_one(Input).value = "nine seconds"
        await until(pilot, lambda: "the prefill took nine seconds" in screen(app))
        assert "fix the discount" not in screen(app)
        app.screen.query_one(Input).value = "xyzzy"
        await until(pilot, lambda: "No session has these words." in screen(app))
        await pilot.press("enter", "ctrl+d", "ctrl+f")
        assert isinstance(app.screen, SessionPicker)


async def test_enter_right_behind_the_words_means_what_they_find():
    found = sessions()
    async with chatting(found) as (app, pilot):
        await picking(app, pilot)
        await pilot.press(*"slow", "enter")
        await until(pilot, lambda: found.resumed == [SPEED.id])


async def test_there_is_a_sentence_where_nothing_is_kept():
    async with chatting(sessions(ELSEWHERE)) as (app, pilot):
        await picking(app, pilot, "No saved sessions in this folder yet.")
        await pilot.press("tab")
        await until(pilot, lambda: "write a parser" in screen(app))


async def test_of_many_sessions_the_newest_show_and_the_others_are_counted():
    many = [kept(0, f"number {number}", updated=float(-number)) for number in range(MAX_SHOWN + 7)]
    async with chatting(sessions(*many)) as (app, pilot):
        await picking(app, pilot, "number 0")
        assert "7 more; type to search" in screen(app)
        app.screen.query_one(Input).value = f"number {MAX_SHOWN + 6}"
        await until(pilot, lambda: f"❯ number {MAX_SHOWN + 6}" in screen(app))


async def test_a_session_is_renamed_in_the_picker():
    found = sessions()
    async with chatting(found) as (app, pilot):
        await picking(app, pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, TitleQuestion))
        await pilot.press(*"tax", "enter")
        await until(pilot, lambda: isinstance(app.screen, SessionPicker) and "❯ tax" in screen(app))
        assert found.listed[0].title == "tax"


async def test_a_session_is_deleted_after_a_question_that_names_its_size():
    found = sessions()
    async with chatting(found) as (app, pilot):
        await picking(app, pilot)
        await pilot.press("ctrl+d")
        await until(pilot, lambda: isinstance(app.screen, DeleteQuestion))
        assert "120 kB" in screen(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SessionPicker))
        assert FIX in found.listed
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, DeleteQuestion))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, SessionPicker) and "❯ why is it slow" in screen(app))
        assert FIX not in found.listed
        assert "Deleted: 120 kB." in screen(app)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("enter", "Open in another window: continue there, or fork it with Ctrl+F."),
        ("ctrl+d", "This session is open in another window. Close it there first."),
    ],
)
async def test_a_session_that_another_window_has_open_is_not_taken(key, said):
    async with chatting(sessions(kept(1, "fix the discount", locked=True))) as (app, pilot):
        await picking(app, pilot)
        assert "open in another window" in screen(app)
        await pilot.press(key)
        await until(pilot, lambda: said in [note.message for note in app._notifications])
        assert isinstance(app.screen, SessionPicker)


async def test_a_session_is_written_to_a_file_from_the_picker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with chatting(sessions(), state=tmp_path / "state") as (app, pilot):
        await picking(app, pilot)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: list(tmp_path.glob("state/exports/laguna-chat-*.md")))
        await until(pilot, lambda: "Wrote" in screen(app))
        assert next(tmp_path.glob("state/exports/*.md")).read_text() == "# fix the discount as markdown\n"


async def test_titles_and_finds_reach_the_screen_sanitised():
    hostile = "\x1b]52;c;aGFoYQ==\x07\x9b2J\u202eabc\n[/] [0]"
    found = sessions(kept(1, hostile, model=hostile, ended=hostile, folder=Path("/\x1b[31m")))
    found.listed[0] = kept(1, hostile, model=hostile, ended=hostile)
    found.contents[found.listed[0].id] = hostile
    async with chatting(found) as (app, pilot):
        await picking(app, pilot, "␛]52;c;")
        await pilot.press(*"abc")
        await until(pilot, lambda: "“␛]52" in screen(app))
        for key in ("ctrl+r", "escape", "ctrl+d"):
            await pilot.press(key)
            await pilot.pause()
            assert not set("\x1b\x07\x9b\u202e") & set(screen(app))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, SessionPicker))
        await pilot.press("enter")
        await until(pilot, lambda: "Resumed" in transcript(app))
        assert not set("\x1b\x07\x9b\u202e") & set(screen(app))


# -- going on


async def test_a_resumed_session_shows_its_turns_and_what_is_left_out():
    found = sessions()
    found.left_out, found.restored = 12, 38_100
    found.notices = ("It continues with Laguna Nano: Laguna XS 2.1 is not here.",)
    async with chatting(found) as (app, pilot):
        await ask(app, pilot, "what was before")
        await picking(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "Resumed" in transcript(app))
        shown = transcript(app)
        assert "what was before" not in shown
        assert "and the tax?" in shown
        assert "12 earlier messages are not shown; the model still has them" in shown
        assert "\nfix the discount\n" in shown
        assert "It is fixed now." in shown
        assert "Not yet, half of" in shown
        assert "thought\n" in shown
        assert "38,100 tokens restored to the KV cache in 0.2 s." in shown.replace("\n", " ")
        assert "Laguna XS 2.1 is not here" in shown
        assert "fix the discount" in screen(app).splitlines()[-2]
        await ask(app, pilot, "go on")
        assert "Hello." in transcript(app)


async def test_a_session_is_named_in_the_command():
    found = sessions()
    async with chatting(found) as (app, pilot):
        await ask(app, pilot, "/resume why is it slow")
        await until(pilot, lambda: "Resumed “why is it slow”. The model reads it again" in transcript(app))
        await ask(app, pilot, "/resume nothing like it")
        await until(pilot, lambda: "There is no session “nothing like it”" in transcript(app))
        assert "Resumed “why is it slow”" in transcript(app)


async def test_a_session_that_cannot_be_resumed_leaves_everything_as_it_was():
    found = sessions()
    found.resume_error = UserError("This session is open in another window. A copy: /fork")
    async with chatting(found) as (app, pilot):
        await ask(app, pilot, "hi")
        await picking(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "open in another window" in transcript(app))
        assert "\nhi\n" in transcript(app)
        await ask(app, pilot, "again")
        assert transcript(app).count("Hello.") == 2


async def test_of_a_session_that_is_open_elsewhere_it_says_where_a_copy_is_opened():
    found = sessions()
    found.resume_error = SessionLockedError(FIX.id)
    async with chatting(found) as (app, pilot):
        await picking(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "or open a copy of it in the list of /resume" in transcript(app))
        assert "--fork" not in transcript(app)


async def test_nothing_is_resumed_while_the_model_answers():
    gate = Event()
    found = sessions()
    session = saving(found, [TurnStarted(1, 0), gate, TurnFinished(TurnEnd.ANSWERED)])
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"hi", "enter")
        await pilot.press(*"/resume fix the discount", "enter")
        await until(pilot, lambda: "The session is busy" in screen(app))
        gate.set()
        await ready(app, pilot)
        assert found.resumed == []


async def test_the_picker_comes_first_when_no_session_is_named_at_the_start():
    found = sessions()
    async with chatting(found, resume="") as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, SessionPicker) and "fix the discount" in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: "It is fixed now." in transcript(app))
        await ready(app, pilot)
        assert found.resumed == [FIX.id]


async def test_without_a_choice_at_the_start_a_new_session_begins():
    found = sessions()
    async with chatting(found, resume="") as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, SessionPicker))
        await pilot.press("escape")
        await ready(app, pilot)
        await ask(app, pilot, "hi")
        assert "Hello." in transcript(app)
        assert found.resumed == []


async def test_a_session_that_is_named_at_the_start_is_gone_on_with():
    found = sessions()
    async with chatting(found, resume=FIX.id) as (app, pilot):
        await ready(app, pilot)
        assert "It is fixed now." in transcript(app)


# -- titles and copies


async def test_the_open_session_is_renamed():
    found = sessions(keeps=True)
    async with chatting(found, size=(120, 24)) as (app, pilot):
        await ask(app, pilot, "/rename no")
        await until(pilot, lambda: "This chat is not saved yet" in screen(app))
        await ask(app, pilot, "hello there")
        await until(pilot, lambda: "hello there" in screen(app).splitlines()[-2])
        await ask(app, pilot, "/rename the tax")
        await until(pilot, lambda: "the tax" in screen(app).splitlines()[-2])
        assert found.current.title == "the tax"
        await ask(app, pilot, "/rename")
        await until(pilot, lambda: isinstance(app.screen, TitleQuestion))
        await pilot.press("escape")
        await ask(app, pilot, "/new")
        await until(pilot, lambda: "the tax" not in screen(app).splitlines()[-2])


async def test_a_copy_is_gone_on_with_and_the_session_stays():
    found = sessions()
    async with chatting(found) as (app, pilot):
        await ask(app, pilot, "/resume fix the discount")
        await until(pilot, lambda: "Resumed" in transcript(app))
        await ask(app, pilot, "/fork another way")
        await until(pilot, lambda: "This is a copy. The original is unchanged: /resume" in transcript(app))
        assert found.current.title == "another way"
        assert FIX in found.listed
        assert "It is fixed now." in transcript(app)


async def test_a_copy_can_be_made_of_a_session_in_the_picker():
    found = sessions(kept(1, "fix the discount", locked=True))
    async with chatting(found) as (app, pilot):
        await picking(app, pilot)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "This is a copy. The original is unchanged: /resume" in transcript(app))
        assert found.resumed == [f"{FIX.id}-copy"]


# -- what is kept, and what the parent knows


async def test_it_is_said_once_that_nothing_is_kept_and_once_that_it_is_again():
    found = sessions(keeps=True)
    async with chatting(found) as (app, pilot):
        found.failed = NotSaved("Nothing is being kept: the disk is full. Make room in ~/.local/state.")
        await ask(app, pilot, "one")
        await ask(app, pilot, "two")
        assert transcript(app).count("the disk is full") == 1
        found.failed = NotSaved()
        await ask(app, pilot, "three")
        assert transcript(app).count("The session is being saved again.") == 1


async def test_it_is_said_separately_that_the_kv_cache_is_not_kept():
    found = sessions(keeps=True)
    async with chatting(found) as (app, pilot):
        found.failed = NotSaved(cache="This conversation's KV cache is not being saved: no room.")
        await ask(app, pilot, "one")
        found.failed = NotSaved("Nothing is being kept: the disk is full.", found.failing.cache)
        await ask(app, pilot, "two")
        assert (transcript(app).count("no room"), transcript(app).count("the disk is full")) == (1, 1)
        found.failed = NotSaved(found.failing.session)
        await ask(app, pilot, "three")
        assert transcript(app).count("The KV cache is being saved again.") == 1
        assert "The session is being saved again." not in transcript(app)


async def test_the_parent_knows_the_session_as_soon_as_a_turn_begins():
    gate, report = Event(), AppReport()
    script = [TurnStarted(1, 0), gate, TextDelta("Hello."), TurnFinished(TurnEnd.ANSWERED)]
    session = saving(sessions(keeps=True), script)
    app = LagunaApp(session, TuiSettings(theme="laguna-dark"), None, "", report)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert report.status.session == ""
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: report.status.session == "kept-3")
        assert (report.status.title, report.status.turns) == ("hi", 0)
        gate.set()
        await ready(app, pilot)
        assert report.status.turns == 1
        await ask(app, pilot, "/new")
        await until(pilot, lambda: report.status.session == "")


async def test_a_session_of_another_folder_starts_the_app_there():
    report = AppReport()
    async with chatting(sessions(), report=report) as (app, pilot):
        await picking(app, pilot)
        await pilot.press("tab", *"parser", "enter")
        await until(pilot, lambda: report.status.next is not None)
    assert report.status.next == Start(ELSEWHERE.id, "/other/place")
    assert app.return_code == 0


async def test_without_a_parent_it_is_said_how_to_start_the_app_there():
    async with chatting(sessions()) as (app, pilot):
        await ask(app, pilot, "/resume write a parser")
        await until(pilot, lambda: "resume it there" in screen(app))


# -- old ones


async def test_old_sessions_are_deleted_behind_the_screen_once_and_what_was_deleted_is_said(chat):
    pruned = []

    def prune():
        pruned.append(1)
        return ["1 session older than keep_sessions = 30 days deleted, 2 kB freed: 'old \x1b[2Jone'"]

    app = LagunaApp(chat("Hello."), TuiSettings(theme="laguna-dark", prune_sessions=prune))
    async with app.run_test(size=(100, 24)) as pilot:
        await ready(app, pilot)
        await until(pilot, lambda: "1 session older than keep_sessions = 30 days deleted" in transcript(app))
        assert "\x1b" not in transcript(app)
    assert pruned == [1]


# -- a session whose folder was moved


def without_its_folder() -> PlayedSessions:
    found = sessions()
    found.homeless.add(FIX.id)
    return found


async def where_is_it(app, pilot) -> None:
    await until(pilot, lambda: isinstance(app.screen, FolderQuestion))
    await until(pilot, lambda: "Where is this session's folder now?" in screen(app))


async def test_a_session_whose_folder_was_moved_asks_where_it_is_now(tmp_path):
    found = without_its_folder()
    async with chatting(found, resume=FIX.id) as (app, pilot):
        await where_is_it(app, pilot)
        assert "/project is gone." in screen(app)
        await pilot.press(*"/no/such", "enter")
        await until(pilot, lambda: "There is no folder “/no/such”." in screen(app))
        app.screen.query_one(Input).value = str(tmp_path)
        await pilot.press("enter")
        await ready(app, pilot)
        assert found.moved == {FIX.id: tmp_path}
        assert found.resumed == [FIX.id]
        assert "It is fixed now." in transcript(app)


async def test_without_an_answer_a_new_chat_begins():
    found = without_its_folder()
    async with chatting(found, resume=FIX.id) as (app, pilot):
        await where_is_it(app, pilot)
        await pilot.press("escape")
        await ready(app, pilot)
        assert found.moved == {}
        await ask(app, pilot, "hello")
        assert "Hello." in transcript(app)


async def test_an_open_chat_goes_on_where_the_question_is_not_answered():
    found = without_its_folder()
    async with chatting(found) as (app, pilot):
        app.prompt.replace_text(f"/resume {FIX.id}")
        await pilot.press("enter")
        await where_is_it(app, pilot)
        await pilot.press("escape")
        await ask(app, pilot, "hello")
        assert "Hello." in transcript(app)
        assert found.moved == {}
