"""The project's check in a turn: after which changes the model is reminded of it, and whose check it is."""

import pytest

from laguna_tui.base.events import ToolFinished
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
        settings = {"pack": 0, "thinking": False, "context": 8192, "mode": "auto", **settings}
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
    conversation = session.parts.agent.conversation
    return conversation.decode(conversation.tokens)


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
