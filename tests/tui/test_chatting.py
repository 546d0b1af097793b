"""The app as a user meets it, mostly with a scripted model."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Static

from laguna_engine.events import LoadProgress
from laguna_tui.base.events import AgentEvent, TextDelta, TurnEnd, TurnFinished
from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.help_screen import HelpScreen
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.transcript.entries import QuestionEntry
from laguna_tui.tui.transcript.step_entries import ThinkingEntry, ToolCallEntry
from laguna_tui.tui.transcript.transcript import Transcript
from tests.scripted_model import Script, Turn, call, hold, say, think
from tests.tui.pilot import ask, questions, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedChat, PlayedSession, answer
from tests.tui.scripted import call as called
from tests.tui.story import STORY


def endless(text: str) -> Turn:
    """A turn that says this and ends when it is stopped."""
    return say(text, hold(threading.Event()), "late")


def held(session: Session, gate: threading.Event, error: Exception | None = None) -> Session:
    """The session, which opens, or fails, once the gate is open."""
    opened = session.open

    def wait(progress: Callable[[LoadProgress], None]) -> SessionInfo:
        assert gate.wait(60)
        if error is not None:
            raise error
        return opened(progress)

    session.open = wait
    return session


def broken(folder: Path) -> Session:
    """A session whose model file is damaged."""
    model = folder / "damaged.gguf"
    model.write_bytes(b"GGUF and no more")
    return Session(Settings(model=str(model)), folder)


async def test_a_question_is_answered(chat) -> None:
    async with running(chat("It is **done**.")) as (app, pilot):
        await ask(app, pilot, "do it")
        assert questions(app) == ["do it"]
        assert "It is done." in transcript(app)
        used = app.status_bar.status.used
        assert f"{used:,} of 8,192 tokens ({100 * used / 8192:.0f} %)" in screen(app)


async def test_a_turn_ends_with_a_line_of_what_was_read_and_written(chat) -> None:
    async with running(chat("It is **done**.")) as (app, pilot):
        await ask(app, pilot, "do it")
        line = r"[\d,]+ tokens? read, [\d,]+ cached · [\d.]+ s · \d+ tokens written · [\d,.]+ tok/s( · \d+ % accepted)?"
        assert re.fullmatch(line, transcript(app).splitlines()[-1].strip())


async def test_the_screen_stands_and_takes_text_before_the_model_is_loaded(chat) -> None:
    gate = threading.Event()
    async with running(held(chat("Hi."), gate)) as (app, pilot):
        await pilot.press(*"early", "enter")
        await until(pilot, lambda: app.hint_bar.queued)
        assert app.state is SessionState.LOADING
        assert "queued early" in screen(app)
        gate.set()
        await until(pilot, lambda: questions(app) == ["early"])
        await ready(app, pilot)
        assert "Hi." in transcript(app)


async def test_a_model_that_cannot_be_loaded_is_an_error_with_a_remedy_and_the_app_lives(tmp_path: Path) -> None:
    async with running(broken(tmp_path)) as (app, pilot):
        await until(pilot, lambda: app.state is SessionState.FAILED)
        assert "download it again" in " ".join(transcript(app).split())
        assert "no model" in screen(app)
        app.prompt.replace_text("anyone?")
        await pilot.press("enter")
        await pilot.pause()
        assert app.prompt.text == "anyone?"
        assert app.is_running


async def test_what_was_loaded_is_told(chat) -> None:
    session = chat()
    async with running(session, size=(120, 24)) as (app, pilot):
        await ready(app, pilot)
        assert f"laguna  {session.title}  {session.info().details}" in transcript(app)


async def test_messages_for_a_model_that_never_came_go_back_into_the_input(chat) -> None:
    gate = threading.Event()
    async with running(held(chat(), gate, RuntimeError("out of luck"))) as (app, pilot):
        await pilot.press(*"early", "enter")
        await until(pilot, lambda: app.hint_bar.queued)
        gate.set()
        await until(pilot, lambda: app.state is SessionState.FAILED)
        assert app.prompt.text == "early"
        await pilot.press("ctrl+n")
        assert "went wrong" in transcript(app)


async def test_a_warning_about_the_session_is_shown(chat, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with running(chat(state=tmp_path / "file" / "state")) as (app, pilot):
        await ready(app, pilot)
        assert "Nothing is saved, neither this chat nor your input history" in transcript(app)


async def test_an_error_in_an_answer_keeps_the_text_and_the_app() -> None:
    session = PlayedSession([TextDelta("half an ans"), RuntimeError("boom [/] \x1b[2J")], answer("fine"))
    async with running(session) as (app, pilot):
        await ask(app, pilot, "one")
        assert "half an ans" in transcript(app)
        assert "RuntimeError: boom [/]" in transcript(app)
        await ask(app, pilot, "two")
        assert "fine" in transcript(app)


async def test_what_is_put_in_beside_the_question_is_told_under_it(chat, tmp_path: Path) -> None:
    (tmp_path / "project" / "a.py").write_text("x = 1\n")
    async with running(chat("Fine.")) as (app, pilot):
        await ask(app, pilot, "what is in @a.py and @c.py")
        rows = [row.strip() for row in transcript(app).split("\n") if row.strip()]
        at = rows.index("what is in @a.py and @c.py")
        assert rows[at + 1] == "with a.py"
        assert rows[at + 2].startswith("@c.py is not a file, folder or definition here")
        assert rows.index("Fine.") > at + 2


async def test_escape_stops_at_once(chat) -> None:
    async with running(chat(endless("one"))) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await pilot.press("escape")
        await ready(app, pilot)
        assert "stopped" in transcript(app)
        assert "late" not in transcript(app)


class SlowChat(PlayedChat):
    """Takes a moment to notice that it was cancelled, and continues talking."""

    def ask(self, message: str) -> Iterator[AgentEvent]:
        yield TextDelta("one ")
        self.cancelled.wait(10)
        yield TextDelta("late")
        yield from called(1, "find", "late too")
        yield TurnFinished(TurnEnd.CANCELLED, "stopped late")


async def test_what_the_engine_says_after_a_stop_is_not_shown() -> None:
    async with running(PlayedSession(chat=SlowChat)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await pilot.press("escape")
        await ready(app, pilot)
        assert "late\n" not in transcript(app)
        assert "stopped late" in transcript(app)


async def test_a_new_chat_hears_nothing_of_the_old_one() -> None:
    session = PlayedSession(chat=SlowChat)
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: session.chat.chats == 2 and app.state is SessionState.READY)
        assert transcript(app).rstrip().endswith("Ask about the code in /project")


async def test_a_message_typed_meanwhile_is_sent_after(chat) -> None:
    gate = threading.Event()
    session = chat(say("first", hold(gate)), "second")
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"one", "enter")
        await pilot.press(*"two", "ctrl+enter")
        await until(pilot, lambda: app.hint_bar.queued == ("two",))
        assert questions(app) == ["one"]
        gate.set()
        await until(pilot, lambda: questions(app) == ["one", "two"])
        await ready(app, pilot)
        assert "second" in transcript(app)


async def test_stopping_gives_the_waiting_messages_back(chat) -> None:
    session = chat(endless("first"))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"one", "enter", *"two", "ctrl+enter", *"three")
        await until(pilot, lambda: app.hint_bar.queued)
        await pilot.press("escape")
        await ready(app, pilot)
        assert app.prompt.text == "three\ntwo"
        assert questions(app) == ["one"]


async def test_a_new_chat_forgets_even_while_it_answers() -> None:
    session = PlayedSession([TextDelta("old "), threading.Event()], answer("new answer"))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: "old" in transcript(app))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: session.chat.chats == 2)
        await ask(app, pilot, "two")
        assert "old" not in transcript(app)
        assert "new answer" in transcript(app)


async def test_the_context_running_full_says_what_to_do() -> None:
    async with running(PlayedSession(answer("part", end=TurnEnd.CONTEXT_FULL))) as (app, pilot):
        await ask(app, pilot, "q")
        assert "Start a new chat" in transcript(app)


async def test_thinking_and_calls_open_by_key_and_by_click(chat, tmp_path: Path) -> None:
    (tmp_path / "project" / "a.txt").write_text("line one\n")
    session = chat(say(think("deep thought"), call("read", path="a.txt")), "Done.", thinking=True)
    async with running(session) as (app, pilot):
        await ask(app, pilot, "q")
        assert "deep thought" not in transcript(app)
        await pilot.press("ctrl+t")
        assert "deep thought" in transcript(app)
        await pilot.press("ctrl+t")
        assert "deep thought" not in transcript(app)
        index = next(at for at, entry in enumerate(app.document.entries) if isinstance(entry, ToolCallEntry))
        await pilot.click("#transcript", offset=(10, app.document.top(index) + app.document.entry(index).gap))
        assert "line one" in transcript(app)


async def test_enter_in_the_empty_input_ends_the_thinking(chat) -> None:
    thoughts = " ".join(f"word {number}," for number in range(20))
    gate = threading.Event()
    said = say(think(thoughts), hold(gate), think("word 900"), "Here it is.")
    async with running(chat(said, thinking=True, speculation="off")) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "thinking …  Enter: answer now" in transcript(app))
        await pilot.press("enter")
        gate.set()
        await ready(app, pilot)
        assert "You ended the thinking." in transcript(app)
        assert "Here it is." in transcript(app)
        assert "word 900" not in "".join(entry.source() for entry in app.document.entries)
        await pilot.press(*"/answer", "enter")
        await until(pilot, lambda: "The model is not thinking now." in screen(app))


async def test_the_block_cursor_walks_folds_and_copies() -> None:
    async with running(PlayedSession(STORY), size=(80, 40)) as (app, pilot):
        await ask(app, pilot, "q")
        await pilot.press("ctrl+up")  # the code block is the last stop
        await pilot.press("y")
        assert app.clipboard.startswith("def common_prefix")
        await pilot.press("up", "y")
        assert app.clipboard.startswith("## How the cache decides")
        await pilot.press("up", "up", "enter", "y")
        read = [entry for entry in app.document.entries if isinstance(entry, ToolCallEntry)][1]
        assert read.is_open
        assert app.clipboard.startswith('read("cache/prefix.py", start=41, end=60)\n41: line 41')
        await pilot.press("up", "up", "space")
        assert next(entry for entry in app.document.entries if isinstance(entry, ThinkingEntry)).is_open
        await pilot.press("x")
        assert app.focused is app.prompt
        assert app.prompt.text == "x"


async def test_copying_the_last_answer_gives_its_markdown(chat) -> None:
    async with running(chat("It is **done**.\n\n- a\n- b")) as (app, pilot):
        await pilot.press("ctrl+y")
        assert app.clipboard == ""
        await ask(app, pilot, "q")
        await pilot.press("ctrl+y")
        assert app.clipboard == "It is **done**.\n\n- a\n- b"


async def test_selected_rows_are_copied_without_their_decoration(chat) -> None:
    async with running(chat("word " * 40 + "\n\n- item")) as (app, pilot):
        await ask(app, pilot, "q")
        view = app.transcript
        top = app.document.top(2) - view.scroll_offset.y
        await pilot.mouse_down("#transcript", offset=(0, top + 1))
        last = app.document.top(app.document.index(app.document.last)) - 1 - view.scroll_offset.y
        await pilot.hover("#transcript", offset=(60, last))
        await pilot.mouse_up("#transcript", offset=(60, last))
        await pilot.press("ctrl+c")
        assert app.clipboard == ("word " * 40).strip() + "\n\nitem"


async def test_scrolling_up_stops_following_and_end_goes_back(chat) -> None:
    gate = threading.Event()
    text = "\n\n".join(f"paragraph {number}" for number in range(60))
    session = chat(say(text, hold(gate), "\n\nthe end"), speculation="off")
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "paragraph 59" in transcript(app))
        assert "paragraph 59" in screen(app)
        await pilot.press("pageup", "pageup")
        place = app.transcript.scroll_offset.y
        assert "↓ follow (End)" in screen(app)
        gate.set()
        await ready(app, pilot)
        assert app.transcript.scroll_offset.y == place
        assert "the end" not in screen(app)
        await pilot.press("end")
        await pilot.pause()
        assert "the end" in screen(app)
        assert "follow" not in screen(app)


async def test_a_resize_wraps_again_and_stays_at_its_place(chat) -> None:
    text = "\n\n".join(f"paragraph {number} " + "word " * 30 for number in range(50))
    async with running(chat(text)) as (app, pilot):
        await ask(app, pilot, "q")
        app.transcript.scroll_to(y=60, animate=False)
        await pilot.pause()
        before = app.document.at(app.transcript.scroll_offset.y)[0]
        await pilot.resize_terminal(50, 24)
        await until(pilot, lambda: all(len(row) <= 46 for row in transcript(app).split("\n")))
        await until(pilot, lambda: app.document.at(app.transcript.scroll_offset.y)[0] == before)


async def test_a_very_long_chat_costs_what_one_screen_costs() -> None:
    text = "\n\n".join(f"line {number}" for number in range(10_000))
    async with running(PlayedSession(answer(text), answer("short"))) as (app, pilot):
        await ask(app, pilot, "q")
        assert app.document.height > 20_000
        before = app.document.laid
        await ask(app, pilot, "again")
        for _ in range(5):
            await pilot.press("pageup")
        assert app.document.laid - before < 50


async def test_ctrl_c_clears_then_stops_then_quits(chat, monkeypatch) -> None:
    session = chat(endless("one"))
    cancel, cancelled = session.chat.cancel, []
    monkeypatch.setattr(session.chat, "cancel", lambda: cancelled.append(1) or cancel())
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        app.prompt.replace_text("draft")
        await pilot.press("ctrl+c")
        assert app.prompt.text == ""
        assert app.state is SessionState.BUSY
        await pilot.press("ctrl+c")
        assert cancelled == [1]
        await pilot.pause()
        assert app._exit


async def test_slash_commands_are_listed_completed_and_run(chat) -> None:
    script = Script(["Hello.", "Hello again."])
    async with running(chat(script)) as (app, pilot):
        await ask(app, pilot, "hello")
        await pilot.press("/")
        assert re.search(r"1 of \d\d", screen(app))
        assert "Enter run  ↑ ↓ choose  Tab take  Esc close" in screen(app)
        assert "❯ /help" in screen(app)
        await pilot.press("n")
        assert "❯ /new" in screen(app)
        assert "Start a new chat · Ctrl+N" in screen(app)
        await pilot.press("tab")
        assert app.prompt.text == "/new "
        await pilot.press("enter")
        await until(pilot, lambda: questions(app) == [])
        await ask(app, pilot, "anew")
        assert "Hello." not in script.asked[-1].text


@pytest.mark.parametrize(
    ("typed", "listed"),
    [("/clear", "/clear"), ("/SESS", "/sessions"), ("/cost", "/cost"), ("/clipboard", "/copy"), ("/unod", "/undo")],
)
async def test_a_command_is_found_by_another_name_its_summary_or_a_slip(chat, typed: str, listed: str) -> None:
    async with running(chat()) as (app, pilot):
        await pilot.press(*typed)
        assert app.prompt.completions.chosen.label == listed


async def test_enter_runs_a_command_whose_name_was_begun_and_completes_a_guess(chat) -> None:
    async with running(chat()) as (app, pilot):
        await pilot.press(*"/hel", "enter")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("escape", *"/unod", "enter")
        assert app.prompt.text == "/undo "
        app.prompt.replace_text("")
        await pilot.press(*"/que", "enter")
        assert app.prompt.text == "/queue "


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ("/nopenope", "There is no command /nopenope. / lists the commands."),
        ("/unod", "There is no command /unod (did you mean /undo?). / lists the commands."),
        ("/undo this", "/undo takes no argument. Send /undo alone."),
        ("/queue", "Complete the command: /queue TEXT"),
    ],
)
async def test_a_command_that_cannot_run_says_why(chat, sent: str, sentence: str) -> None:
    async with running(chat()) as (app, pilot):
        app.prompt.replace_text(sent)
        await pilot.press("enter")
        await pilot.pause()
        assert [each.message for each in app._notifications] == [sentence]
        assert questions(app) == []


async def test_a_path_is_a_message_and_not_a_command(chat) -> None:
    async with running(chat("The hosts.")) as (app, pilot):
        await ask(app, pilot, "/etc/hosts is what?")
        assert questions(app) == ["/etc/hosts is what?"]


async def test_help_lists_every_key(chat) -> None:
    async with running(chat(), size=(90, 140)) as (app, pilot):
        await pilot.press("f1")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        shown = screen(app)
        for words in ("Ctrl+Y", "Copy the last answer", "New line", "Expand or collapse the block", "/help PAGE"):
            assert words in shown
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)


@pytest.mark.parametrize(("width", "column"), [(200, 18), (80, 18), (40, 12)])
async def test_what_a_key_does_stays_in_its_column_where_it_wraps(chat, width: int, column: int) -> None:
    async with running(chat(), size=(width, 60)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        keys = app.screen.query_one("#keys", Static)
        rows = keys.content.plain.split("\n")
        assert max(map(len, rows)) <= keys.content_region.width, "the screen wraps no row again"
        at = next(at for at, row in enumerate(rows) if row.startswith("@ "))
        assert rows[at][column:].startswith("Mention a file")
        assert rows[at + 1].startswith(" " * column + rows[at + 1].strip()[0])
        at = rows.index("Shift+Enter  Alt+Enter  Ctrl+J")
        assert rows[at + 1] == " " * column + "New line", "a key too long for its column has a row of its own"


async def test_the_help_lists_the_pages_of_the_manual_and_a_command_shows_one(chat):
    async with running(chat()) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f1")
        await until(pilot, lambda: "/help PAGE" in str(app.screen.query_one("#keys", Static).content))
        await pilot.press("escape")
        await ask(app, pilot, "/help permissions")
        await until(pilot, lambda: "What the model wants to change or run" in screen(app))
        assert "<!--" not in screen(app)
        await pilot.press("escape")
        await ask(app, pilot, "/help permission")
        await until(pilot, lambda: "did you mean" in screen(app))


async def test_the_help_is_wrapped_again_when_the_terminal_changes(chat) -> None:
    async with running(chat(), size=(100, 30)) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.resize_terminal(40, 30)
        keys = app.screen.query_one("#keys", Static)
        await until(pilot, lambda: max(map(len, keys.content.plain.split("\n"))) <= 33)


async def test_the_palette_knows_our_commands(chat) -> None:
    async with running(chat(), size=(80, 40)) as (app, pilot):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Export chat" in screen(app))
        await pilot.press("escape")


async def test_the_chat_is_exported_into_the_state_folder(chat, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path / "project")
    async with running(chat("It is **done**."), state_dir=tmp_path / "state") as (app, pilot):
        await ask(app, pilot, "/export")
        nothing = "There is nothing to export yet: send a message first."
        await until(pilot, lambda: nothing in [each.message for each in app._notifications])
        await ask(app, pilot, "q")
        await ask(app, pilot, "/export")
        await until(pilot, lambda: list(tmp_path.glob("state/exports/laguna-chat-*.md")))
        assert not list((tmp_path / "project").iterdir())
    (path,) = tmp_path.glob("state/exports/laguna-chat-*.md")
    assert "> q\n\nIt is **done**.\n" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


async def test_the_chat_is_exported_to_a_path_and_replaces_a_file_only_on_request(
    chat, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "chat.md"
    path.write_text("mine")
    async with running(chat("It is **done**.")) as (app, pilot):
        await ask(app, pilot, "q")
        await ask(app, pilot, "/export ~/chat.md")
        await until(pilot, lambda: "Replace this file?" in screen(app))
        await pilot.press("n")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert path.read_text() == "mine"
        await ask(app, pilot, "/export ~/chat.md")
        await until(pilot, lambda: "Replace this file?" in screen(app))
        await pilot.press("y")
        await until(pilot, lambda: "Wrote ~/chat.md" in screen(app))
        assert "It is **done**." in path.read_text()
        await ask(app, pilot, "/export")
        nowhere = "There is no state folder to write to. Name a file: /export FILE"
        await until(pilot, lambda: nowhere in [each.message for each in app._notifications])


async def test_a_theme_is_tried_out_under_the_cursor_and_escape_restores_it(chat) -> None:
    async with running(chat()) as (app, pilot):
        await ask(app, pilot, "/theme")
        await until(pilot, lambda: "atom-one" in screen(app))
        await pilot.press("down", "down")
        await until(pilot, lambda: app.theme != "laguna-dark")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "laguna-dark")
        await ask(app, pilot, "/theme")
        await until(pilot, lambda: "atom-one" in screen(app))
        await pilot.press(*"dracula")
        await until(pilot, lambda: "atom-one" not in screen(app))
        await pilot.press("down")
        await until(pilot, lambda: app.theme == "dracula")
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.theme == "dracula"


async def test_several_lines_history_and_search(chat, tmp_path: Path) -> None:
    session = chat()
    async with running(session, state_dir=tmp_path) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"one", "ctrl+j", *"two", "enter")
        await until(pilot, lambda: questions(app) == ["one\ntwo"])
        await ask(app, pilot, "other")
        await pilot.press(*"draft", "up")
        assert app.prompt.text == "other"
        await pilot.press("up")
        assert app.prompt.text == "one\ntwo"
        await pilot.press("up", "down", "down", "down")
        assert app.prompt.text == "draft"
        await pilot.press("ctrl+r", *"tw")
        await pilot.pause(0.1)
        await pilot.press("enter")
        await pilot.pause()
        assert app.prompt.text == "one\ntwo"


async def test_the_input_grows_and_stops_growing(chat) -> None:
    async with running(chat()) as (app, pilot):
        await ready(app, pilot)
        assert app.prompt.size.height == 1
        app.prompt.replace_text("\n".join(str(number) for number in range(4)))
        await pilot.pause()
        assert app.prompt.size.height == 4
        app.prompt.replace_text("\n".join(str(number) for number in range(500)))
        await pilot.pause()
        assert app.prompt.size.height == 8


async def test_the_user_message_is_shown_as_it_was_written(chat) -> None:
    async with running(chat()) as (app, pilot):
        await ask(app, pilot, "a\n  b [red]c[/] **d**")
        (asked,) = [entry for entry in app.document.entries if isinstance(entry, QuestionEntry)]
        assert asked.text == "a\n  b [red]c[/] **d**"
        assert "  b [red]c[/] **d**" in transcript(app)


async def test_a_long_paste_shows_its_beginning_until_it_is_opened(chat) -> None:
    async with running(chat(), size=(80, 40)) as (app, pilot):
        await ask(app, pilot, "\n".join(f"row {number}" for number in range(300)))
        assert "row 11\n" in transcript(app)
        assert "row 12\n" not in transcript(app)
        assert "… 288 more rows" in transcript(app)
        await pilot.press("ctrl+up", "up", "enter")
        assert "row 299" in transcript(app)


async def test_escape_in_the_transcript_stops_too_and_leads_back(chat) -> None:
    session = chat(endless("one"))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await pilot.press("ctrl+up")
        assert app.focused is app.transcript
        await pilot.press("escape")
        assert app.state is not SessionState.BUSY
        assert app.focused is app.prompt


async def test_a_message_that_is_typed_into_the_transcript_loses_no_letter_to_its_keys(chat) -> None:
    text = "where is it in a key yard?"
    async with running(chat("Here.")) as (app, pilot):
        await ready(app, pilot)
        app.transcript.focus()
        await until(pilot, lambda: app.transcript.has_focus)
        for letter in text:
            app.post_message(events.Key({" ": "space", "?": "question_mark"}.get(letter, letter), letter))
            await asyncio.sleep(0)
        app.post_message(events.Key("enter", "\r"))
        await until(pilot, lambda: questions(app) == [text])
        assert app.prompt.has_focus


async def test_the_input_has_the_focus_from_the_beginning(chat, monkeypatch) -> None:
    focused = []

    def note(transcript: Transcript) -> None:
        focused.append(transcript)

    monkeypatch.setattr(Transcript, "on_focus", note)
    async with running(chat()) as (app, _):
        assert app.prompt.has_focus
        assert focused == []


async def test_keys_belong_to_the_screen_on_top(chat) -> None:
    async with running(chat("Hello.")) as (app, pilot):
        await ask(app, pilot, "hello")
        await pilot.press("f1", "ctrl+n", "ctrl+r", "pagedown")
        assert questions(app) == ["hello"]
        assert isinstance(app.screen, HelpScreen)
        box = app.screen.query_one("#rows")
        await until(pilot, lambda: box.scroll_offset.y > 0)


async def test_forty_columns_still_work() -> None:
    async with running(PlayedSession(STORY), size=(40, 20)) as (app, pilot):
        await ask(app, pilot, "How does the cache decide what to keep?")
        assert all(len(row) == 40 for row in screen(app).split("\n"))


async def test_nothing_ticks_while_nothing_happens(chat) -> None:
    async with running(chat()) as (app, pilot):
        await ask(app, pilot, "q")
        assert app._poller is not None
        assert not app._poller._active.is_set()


async def test_a_message_sent_right_behind_a_command_does_not_overtake_it() -> None:
    session = PlayedSession(answer("Hi."))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        app.action_prove()
        app.send("hello")
        assert app.hint_bar.queued == ("hello",)
        await until(pilot, lambda: session.chat.asked == ["hello"])
        assert session.chat.replays == 1
