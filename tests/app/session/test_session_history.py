"""What a session undoes: the files that turns changed and what was said, with a model that follows a script."""

import random
from contextlib import closing

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.base.events import TurnStarted
from laguna_tui.base.object_store import StoreError
from laguna_tui.undo.undo import UndoHistory
from tests.app.session.place import tokens
from tests.scripted_model import call, say, scripted_session

pytestmark = pytest.mark.usefixtures("unasked")
QUIET = {"mode": "auto", "context": 8192, "thinking": False}


def edited(old, new):
    return [say(call("read", path="a.txt")), say(call("edit", path="a.txt", old=old, new=new)), say(f"Now {new}.")]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/a.txt").write_text("one\n")
    return tmp_path / "project"


@pytest.fixture
def opened(project, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sessions = []

    def made(*script, **settings):
        session = scripted_session(project, list(script), state=tmp_path / "state", **{**QUIET, **settings})
        sessions.append(session)
        session.open(lambda progress: None)
        return session

    yield made
    for session in sessions:
        session.close()


def ask(session, message):
    return list(session.chat.ask(message))


def undo(session, overwrite=()):
    return session.history.apply(session.history.plan_undo(), overwrite)


def redo(session, overwrite=()):
    return session.history.apply(session.history.plan_redo(), overwrite)


def test_undo_and_redo_put_files_and_conversation_where_they_were(opened, project):
    session = opened(*edited("one", "two"), *edited("two", "three"))
    ask(session, "make it two")
    at_two = tokens(session)
    ask(session, "make it three")
    at_three = tokens(session)
    undo(session)
    assert ((project / "a.txt").read_text(), tokens(session)) == ("two\n", at_two)
    undo(session)
    assert (project / "a.txt").read_text() == "one\n"
    assert not session.parts.agent.conversation.started
    redo(session)
    assert ((project / "a.txt").read_text(), tokens(session)) == ("two\n", at_two)
    redo(session)
    assert ((project / "a.txt").read_text(), tokens(session)) == ("three\n", at_three)


def test_rewind_goes_back_to_before_a_turn_and_its_number_is_that_of_the_event(opened, project):
    session = opened("Hello.", *edited("one", "two"), *edited("two", "three"))
    numbers, before = [], []
    for message in ("hello", "make it two", "make it three"):
        before.append(tokens(session))
        numbers += [event.number for event in ask(session, message) if isinstance(event, TurnStarted)]
    points = session.history.points()
    assert numbers == [1, 2, 3] == [point.number for point in points]
    assert [point.paths for point in points] == [(), ("a.txt",), ("a.txt",)]
    session.history.apply(session.history.plan_rewind(2))
    assert (project / "a.txt").read_text() == "one\n"
    assert [point.undone for point in session.history.points()] == [False, True, True]
    assert tokens(session) == before[1]


def test_what_is_undone_costs_nothing_again_but_what_differs(opened):
    session = opened("A long answer with many words.", *edited("one", "two"), "Yes.")
    ask(session, "hello")
    ask(session, "make it two")
    undo(session)
    kept = len(tokens(session))
    (started,) = [event for event in ask(session, "and now?") if isinstance(event, TurnStarted)]
    assert kept <= started.cached < started.prompt_tokens


def test_files_that_a_command_made_changed_and_removed_come_back(opened, project):
    (project / "old.txt").write_bytes(b"\xff\x00old")
    session = opened(say(call("shell", cmd="rm old.txt; mkdir d; echo new > d/new.txt; echo more >> a.txt")), "Done.")
    ask(session, "go")
    assert not (project / "old.txt").exists()
    assert (project / "d/new.txt").exists()
    result = undo(session)
    assert (project / "old.txt").read_bytes() == b"\xff\x00old"
    assert ((project / "a.txt").read_text(), (project / "d").exists()) == ("one\n", False)
    assert any("outside the folder" in note for note in result.notes)
    redo(session)
    assert (project / "d/new.txt").read_text() == "new\n"


def test_what_the_user_changed_meanwhile_stays_unless_they_agree(opened, project):
    session = opened(*edited("one", "two"))
    ask(session, "make it two")
    (project / "a.txt").write_text("mine\n")
    plan = session.history.plan_undo()
    assert [file.path for file in plan.conflicts] == ["a.txt"]
    (shown,) = session.history.preview(plan)
    assert "-mine" in shown.diff
    assert "a.txt" in session.history.apply(plan).skipped
    assert (project / "a.txt").read_text() == "mine\n"
    redo(session)
    undo(session, overwrite=["a.txt"])
    assert (project / "a.txt").read_text() == "one\n"


def test_a_new_message_forgets_what_was_undone(opened):
    session = opened(*edited("one", "two"), "Fine.")
    ask(session, "make it two")
    undo(session)
    ask(session, "something else")
    with pytest.raises(UserError, match="nothing to redo"):
        session.history.plan_redo()
    assert [point.title for point in session.history.points()] == ["something else"]


def test_in_an_unsaved_session_a_turn_of_an_earlier_chat_is_undone_in_the_files_alone(project):
    with closing(scripted_session(project, [*edited("one", "two"), "Hello."], **QUIET)) as session:
        session.open(lambda progress: None)
        ask(session, "make it two")
        session.chat.new_chat()
        ask(session, "hello")
        said = tokens(session)
        session.history.apply(session.history.plan_rewind(1))
        assert (project / "a.txt").read_text() == "one\n"
        assert not session.parts.agent.conversation.started
        redo(session)
        assert (project / "a.txt").read_text() == "two\n"
        redo(session)
        assert tokens(session) == said


def test_a_turn_is_undone_after_a_switch_of_models(opened, project, tiny_model_path):
    session = opened("Hello.", *edited("one", "two"), context=4096)
    ask(session, "hello")
    ask(session, "make it two")
    session.models.switch(str(tiny_model_path), lambda progress: None)
    undo(session)
    assert (project / "a.txt").read_text() == "one\n"
    assert [said.text for said in session.parts.agent.conversation.items() if said.text] == ["hello"]


def test_the_diff_is_of_the_session_or_of_the_last_turn(opened):
    session = opened(*edited("one", "two"), say(call("write", path="b.txt", content="b\n")), "Done.")
    assert session.history.diff() == ()
    ask(session, "make it two")
    ask(session, "write b")
    assert [file.path for file in session.history.diff()] == ["a.txt", "b.txt"]
    assert [file.path for file in session.history.diff(turn=True)] == ["b.txt"]
    undo(session)
    assert [file.path for file in session.history.diff()] == ["a.txt"]


def test_there_is_nothing_to_undo_at_first(opened):
    session = opened("Hello.")
    with pytest.raises(UserError, match="nothing to undo"):
        session.history.plan_undo()


def test_a_change_that_could_not_be_undone_is_refused(opened, project, monkeypatch):
    def full(*arguments, **options):
        raise StoreError("the disk is full")

    monkeypatch.setattr("laguna_tui.undo.undo.UndoHistory.__init__", full)
    session = opened(*edited("one", "two"))
    events = ask(session, "make it two")
    assert (project / "a.txt").read_text() == "one\n"
    assert any("could not be undone: the disk is full" in getattr(event, "output", "") for event in events)


def test_the_store_is_private_and_stays_with_the_session(opened, tmp_path):
    session = opened(*edited("one", "two"))
    assert not (tmp_path / "state/sessions").exists()
    ask(session, "make it two")
    (store,) = (tmp_path / "state/sessions").glob("*/undo")
    assert store.stat().st_mode & 0o777 == 0o700
    session.close()
    assert store.is_dir()


def test_an_undo_that_was_killed_in_the_middle_is_finished_by_the_next_session(opened, project, tmp_path):
    killed = UndoHistory(project, tmp_path / "state/sessions/killed/undo")
    killed.begin_turn("make it two")
    killed.before_change(["a.txt"])
    (project / "a.txt").write_text("two\n")
    killed.after_change()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(killed._restorer, "restore", lambda *arguments, **options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            killed.apply(killed.plan_undo())
    killed.close()
    session = opened("Hello.")
    plan = session.history.unfinished()
    assert plan is not None
    session.history.apply(plan)
    assert (project / "a.txt").read_text() == "one\n"
    assert session.history.unfinished() is None


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_changes_undos_and_redos_gives_the_very_bytes_and_tokens(project, tmp_path, seed):
    chance = random.Random(seed)

    def script(seen):
        while True:
            name, text = f"f{chance.randrange(3)}.txt", str(chance.random())
            commands = [f"echo {text} > {name}", f"rm -f {name}", f"mkdir -p d; echo {text} > d/{name}", "rm -rf d"]
            yield say(call("shell", cmd=chance.choice(commands)))
            yield "Done."

    with closing(scripted_session(project, script, state=tmp_path / "state", **QUIET)) as session:
        session.open(lambda progress: None)
        states, at = [(contents(project), tokens(session))], 0
        for number in range(14):
            act = chance.choice(["ask", "ask", "undo", "redo"])
            if act == "ask" or not (0 if act == "undo" else at - len(states) + 1) < at:
                ask(session, f"change {number}")
                del states[at + 1 :]
                states.append((contents(project), tokens(session)))
                at += 1
            elif act == "undo":
                undo(session)
                at -= 1
            elif at + 1 < len(states):
                redo(session)
                at += 1
            assert (contents(project), tokens(session)) == states[at]


def contents(folder):
    return {str(path.relative_to(folder)): path.is_file() and path.read_bytes() for path in folder.rglob("*")}
