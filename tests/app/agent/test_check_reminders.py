"""The project's check in a turn: after which changes the model is reminded of it, and whose check it is."""

import pytest

from laguna_tui.base.events import CheckUnknown, ToolFinished, TurnFinished
from tests.app.agent.scripted_engine import text
from tests.app.approvers import YES
from tests.scripted_model import call, scripted_session

REMINDED = "You changed files and have not run the project's check since."
READ = call("read", path="add.py")
EDIT = call("edit", path="add.py", old="a - b", new="a + b")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/add.py").write_text("def add(a, b):\n    return a - b\n")
    return tmp_path / "shop"


@pytest.fixture
def opened(folder, tmp_path):
    sessions = []

    def begin(*script, **settings):
        settings = {
            "pack": 0,
            "rules": tmp_path / "config/permissions.toml",
            "thinking": False,
            "context": 8192,
            "mode": "auto",
            **settings,
        }
        session = scripted_session(folder, list(script), state=tmp_path / "state", **settings)
        sessions.append(session)
        session.permissions.use_approver(lambda request, cancelled: YES)
        session.open(lambda progress: None)
        return session

    yield begin
    for session in sessions:
        session.close()


def ask(session, message):
    return list(session.chat.ask(message))


def prompt(session):
    return text(session.parts.agent.conversation)


def test_the_reminder_is_in_tags_that_tell_it_from_the_users_words(opened, folder):
    (folder / "Makefile").write_text("test:\n\ttrue\n")
    session = opened(READ, EDIT, "Done.", "Still done.")
    ask(session, "fix add")
    assert f"<user>\n<system-reminder>\n{REMINDED} Run `make test`" in prompt(session)


@pytest.mark.parametrize("command", ["sed -i s/-/+/ add.py", "echo 'x = 1' > new.py", "rm add.py"])
def test_what_a_command_changed_is_checked_too(opened, folder, command):
    (folder / "Makefile").write_text("test:\n\ttrue\n")
    session = opened(call("shell", cmd=command), "Done.", "Still done.")
    events = ask(session, "fix add")
    assert [event.ok for event in events if isinstance(event, ToolFinished)] == [True]
    assert REMINDED in prompt(session)


def test_a_command_that_changed_nothing_and_the_check_itself_are_not(opened, folder):
    (folder / "Makefile").write_text("test:\n\tdate > report.txt\n")
    session = opened(call("shell", cmd="ls"), "Seen.", call("shell", cmd="make test"), "It passes.")
    ask(session, "look")
    ask(session, "test it")
    assert (folder / "report.txt").exists()
    assert REMINDED not in prompt(session)


def test_a_check_that_fails_into_a_pipe_does_not_end_the_turn_as_done(opened, folder):
    (folder / "Makefile").write_text("test:\n\t@false\n")
    check = call("shell", cmd="make test 2>/dev/null | tail -3")
    session = opened(READ, EDIT, check, "All tests pass.", "The check fails.", "It still fails.")
    events = ask(session, "fix add")
    assert [event.output for event in events if isinstance(event, ToolFinished)][-1] == (
        '{"stdout": "", "exit_code": 0, "note": "make ended with 2"}'
    )
    assert "The project's check failed." in prompt(session).partition("All tests pass.")[2]


def test_the_users_own_check_is_told_before_the_first_message_and_reminded_of(opened, folder):
    (folder / "Makefile").write_text("test:\n\ttrue\n")
    session = opened(READ, EDIT, "Done.", call("shell", cmd="sh check.sh"), "It passes.")
    assert session.folder.use_check("sh check.sh") == (
        "sh check.sh now checks this project. The model is reminded to run it after its changes."
    )
    (folder / "check.sh").write_text("exit 0\n")
    events = ask(session, "fix add")
    text = prompt(session)
    assert "[the project's check: sh check.sh]" in text
    assert text.count(f"{REMINDED} Run `sh check.sh`") == 1
    assert "make test" not in text
    assert CheckUnknown() not in events


def test_the_user_can_say_that_there_is_no_check(opened, folder):
    (folder / "Makefile").write_text("test:\n\ttrue\n")
    session = opened(READ, EDIT, "Done.")
    session.folder.use_check("none")
    events = ask(session, "fix add")
    assert "the project's check" not in prompt(session).partition("</system>")[2]
    assert CheckUnknown() not in events


def test_a_change_where_no_check_is_known_is_an_event_of_the_turn(opened):
    session = opened("Hello.", READ, EDIT, "Done.", "Bye.")
    assert CheckUnknown() not in ask(session, "hi")
    events = ask(session, "fix add")
    assert events[-2] == CheckUnknown() and isinstance(events[-1], TurnFinished)
    assert CheckUnknown() not in ask(session, "bye")
    assert "system-reminder" not in prompt(session)


def test_what_checks_the_project_can_be_asked(opened, folder):
    session = opened()
    assert session.folder.use_check("") == (
        "No command that checks this project was found. To set one: /check COMMAND, such as /check make test"
    )
    (folder / "go.mod").write_text("")
    assert session.folder.use_check("") == (
        "go test ./... checks this project, because there is a go.mod. To change it: /check COMMAND"
    )
    assert session.folder.use_check("none") == session.folder.use_check("")
