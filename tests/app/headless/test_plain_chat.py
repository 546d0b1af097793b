"""The chat of plain lines: whole lines through a pipe, approvals by letter, side questions, commands."""

import io
import os
import signal
import sys
import termios
import threading
from contextlib import closing
from pathlib import Path

import pytest

from laguna_tui.headless.plain_chat import LineInput, PlainChat, WholeLines
from tests.scripted_model import Script, call, say, scripted_session
from tests.tui.job import Job


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\n")
    return tmp_path


def chatted(folder: Path, script: Script | list, typed: str, first: str = "", state: Path | None = None) -> str:
    """What a chat writes that is given these lines."""
    reading, writing = os.pipe()
    os.write(writing, typed.encode())
    os.close(writing)
    out = io.StringIO()
    with closing(scripted_session(folder, script, context=8192, thinking=False, state=state)) as session:
        session.open(lambda progress: None)
        PlainChat(session, reading, out).run(first)
    os.close(reading)
    return out.getvalue()


def test_each_answer_is_lines_that_end_with_the_figures_of_the_turn(folder: Path) -> None:
    shown = chatted(folder, ["It is *done*.\n\n- one"], "again\n", first="do it").splitlines()
    assert shown[0] == f"scripted answers questions about {folder}. /help lists commands."
    assert shown[1:4] == ["It is *done*.", "", "- one"]
    assert "tokens written" in shown[4]
    assert shown[5] == "> The script is over."
    assert not any(set("\x1b\r╭│") & set(line) for line in shown)


@pytest.mark.parametrize(("letter", "text"), [("y", "two\n"), ("n", "one\n")])
def test_an_approval_is_answered_with_a_letter(folder: Path, letter: str, text: str) -> None:
    script = [say(call("read", path="a.txt")), say(call("edit", path="a.txt", old="one", new="two")), "Done."]
    shown = chatted(folder, script, f"change it\n{letter}\n/quit\n")
    assert "Make this edit? [y]es, [N]o, no with a [m]essage" in shown
    assert "Done." in shown
    assert (folder / "a.txt").read_text() == text


def test_commands(folder: Path) -> None:
    script = Script(["Hello."], asides={"This is a side question": "Two."})
    shown = chatted(folder, script, "hi\n/btw what is 1 + 1?\n/mode plan\n/mode x\n/nope\n/new\n/quit\nlost\n")
    assert "> Two.\n" in shown
    assert "> The mode is plan. There are: ask, accept-edits, plan, auto.\n" * 2 in shown
    assert "> There is no command /nope here. /help lists them.\n" in shown
    assert "> A new chat begins.\n" in shown
    assert "lost" not in shown


def test_a_saved_session_is_listed_and_resumed_and_named_at_the_end_if_something_was_asked(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = tmp_path_factory.mktemp("state")
    assert "To resume later" not in chatted(folder, [], "/resume\n/quit\n", state=state)
    session = chatted(folder, ["Hello."], "hi there\n", state=state).split("laguna-tui --resume ")[1].strip()
    shown = chatted(folder, [], f"/resume\n/resume {session}\n/resume nope\n/quit\n", state=state)
    assert f"> {session}  “hi there”, 1 message\n/resume ID continues one of them.\n" in shown
    assert "> Resumed: “hi there”, 1 message.\n" in shown
    assert "To resume later" not in shown


def test_ctrl_c_at_the_prompt_names_the_session_too(folder: Path, tmp_path: Path, monkeypatch) -> None:
    lines = iter(["hi there"])

    def line(self: LineInput) -> str:
        for typed in lines:
            return typed
        raise KeyboardInterrupt

    monkeypatch.setattr(LineInput, "line", line)
    out = io.StringIO()
    with closing(scripted_session(folder, ["Hello."], context=8192, thinking=False, state=tmp_path)) as session:
        session.open(lambda progress: None)
        with pytest.raises(KeyboardInterrupt):
            PlainChat(session, 0, out).run()
        assert out.getvalue().endswith(f"> \nTo resume later: laguna-tui --resume {session.sessions.open_id}\n")


def test_a_line_is_written_once_it_is_whole() -> None:
    out = io.StringIO()
    lines = WholeLines(out)
    for text, written in (("a", ""), ("b\nc", "ab\n"), ("d", "ab\n"), ("\n\n", "ab\ncd\n\n")):
        lines.write(text)
        assert out.getvalue() == written


def test_a_change_is_undone_and_redone(folder: Path) -> None:
    script = [say(call("read", path="a.txt")), say(call("edit", path="a.txt", old="one", new="two")), "Done."]
    shown = chatted(folder, script, "/undo\nchange it\ny\n/undo\n/redo\n/quit\n")
    restored = "“change it”. Restored 1 file: a.txt."
    assert f"> Undone: {restored} /redo brings it back.\n> Redone: {restored}\n" in shown
    assert shown.splitlines()[1] == "> there is nothing to undo in this session"
    assert (folder / "a.txt").read_text() == "two\n"


def test_a_chat_is_exported_to_the_state_folder_or_a_new_file(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state, named = tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("there") / "chat.md"
    typed = f"/export\nhi\n/export\n/export {named}\n/export {named}\n/quit\n"
    shown = chatted(folder, ["Hello."], typed, state=state)
    (path,) = state.glob("exports/laguna-chat-*.md")
    assert "> There is nothing to export yet: send a message first.\n" in shown
    assert f"> Wrote {path}\n> Wrote {named}\n> {named} exists. Name another file: /export FILE\n" in shown
    assert path.read_text() == named.read_text()
    assert "> hi\n\nHello.\n" in named.read_text()


def interrupt() -> None:
    """Press Ctrl-C. A terminal's signal interrupts what the main thread waits for, another thread's own does not."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_a_second_ctrl_c_leaves_while_the_answer_is_still_being_stopped(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def answer(seen: object) -> str:
        interrupt()
        return "Done."

    reading, writing = os.pipe()
    out, state = io.StringIO(), tmp_path_factory.mktemp("state")
    with closing(scripted_session(folder, [answer], context=8192, thinking=False, state=state)) as session:
        session.open(lambda progress: None)
        # In the place of a stop that takes its time.
        session.chat.cancel = interrupt
        with pytest.raises(KeyboardInterrupt):
            PlainChat(session, reading, out).run("hi")
    os.close(reading)
    os.close(writing)
    assert out.getvalue().splitlines()[-1].startswith("To resume later: laguna-tui --resume ")


SCRIPT = """
import threading
from tests.scripted_model import hold, say
SCRIPT = [say("Begins.\\n" + "and goes on " * 40, hold(threading.Event())), "Done."]
"""


def test_on_a_dumb_terminal_no_control_sequence_is_written_and_ctrl_c_stops_then_leaves(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    aside = tmp_path_factory.mktemp("aside")
    (aside / "script.py").write_text(SCRIPT)
    folders = {name: str(aside) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
    command = (sys.executable, "-m", "tests.scripted_model.ask", str(aside / "script.py"), "--folder", str(folder))
    with Job(*command, environment={"TERM": "dumb", **folders}) as job:
        job.wait_for(b"/help lists commands.\r\n> ")
        job.send(b"hi\n")
        job.wait_for(b"Begins.\r\n")
        termios.tcsetwinsize(job.inside, (10, 30))
        job.send(b"\x03")
        job.wait_for(b"The answer was stopped.\r\n")
        job.send(b"again\n")
        job.wait_for(b"Done.\r\n")
        job.until(lambda: job.written.endswith(b"\r\n> "), "the prompt after the answer")
        job.send(b"\x03")
        assert job.expect("ended") == 130
        job.wait_for(b"To resume later: laguna-tui --resume ")
        assert not set(job.written) & set(range(32)) - set(b"\r\n")
        assert job.left_behind == []
