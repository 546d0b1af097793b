"""A killed session continues from what it had written: a copy of its files at a moment is what a kill leaves."""

import os
import random
import shutil
import signal

import pytest

from laguna_engine.chat.messages import ToolCall
from laguna_tui.agent.turn import ENDED_WITHIN, NOT_RUN
from laguna_tui.backends.base import Options
from laguna_tui.base.events import Asked, TextDelta, ToolStarted, TurnEnd, TurnFinished
from laguna_tui.sandbox.launch import prepare
from laguna_tui.sandbox.probe import probe_sandbox
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from laguna_tui.session import session_writer
from tests.app.session.place import Place, ask, tokens
from tests.scripted_model import call, say, think

LONG = " ".join(f"word{number}" for number in range(120))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # All that was generated is written before it is shown.
    monkeypatch.setattr(session_writer, "FLUSH_S", 0.0)
    return Place(tmp_path)


def left_by_a_kill(place, name):
    """The place as it is now, elsewhere; the project is at the same path again."""
    shutil.copytree(place.state, place.home / name)
    shutil.copytree(place.project, place.home / f"{name}-project")


def go_back(place, name):
    for target, source in ((place.state, name), (place.project, f"{name}-project")):
        shutil.rmtree(target)
        shutil.copytree(place.home / source, target)


@pytest.mark.parametrize("moment", random.Random(5).sample(range(60), 12))
@pytest.mark.sampled(4)
def test_a_killed_answer_is_saved_up_to_its_last_token(place, moment):
    model = place.model(["Hello.", say(think("Let me see. " * 8), LONG, call("read", path="a.txt"))])
    with place.session(model, thinking=True) as session:
        ask(session, "hello")
        for number, _ in enumerate(session.chat.ask("go on")):
            if number == moment:
                agent = session.parts.agent
                request = session.slot.local.request(agent.conversation.prompt(), Options())
                prompt, generated = list(request.tokens), list(agent.generated or ())
                left_by_a_kill(place, "killed")
                session.chat.cancel()
    go_back(place, "killed")
    with place.session(model, place.saved[0], thinking=True) as session:
        now = tokens(session)
        assert now[: len(prompt) + len(generated)] == (prompt + generated)[: len(now)]
        assert len(now) >= len(prompt) + len(generated) or not generated
        said = session.parts.agent.conversation.items()
        if generated:
            assert said[3].trace is not None
            assert said[3].trace.tokens == tuple(generated)
        assert [each.given for each in said[4:]] == [NOT_RUN] * len(said[3].calls if generated else ())
        events = session.info_at_start.resumed.events
        assert [each.message for each in events if isinstance(each, Asked)] == ["hello", "go on"]
        assert events[-1] == TurnFinished(TurnEnd.CANCELLED)
        assert ask(session, "and now?")[-1] == TurnFinished(TurnEnd.ANSWERED)


def test_calls_that_ran_or_waited_when_it_was_killed_are_answered_so(place):
    script = [say(call("shell", cmd="echo now > made.txt"), call("shell", cmd="echo never > never.txt")), "Done."]
    model = place.model(script)
    with place.session(model) as session:
        for event in session.chat.ask("go"):
            if isinstance(event, ToolStarted):
                left_by_a_kill(place, "killed")
                session.chat.cancel()
    go_back(place, "killed")
    with place.session(model, place.saved[0]) as session:
        _, said, *answers = session.parts.agent.conversation.items()
        assert [isinstance(each, ToolCall) for each in said.calls] == [True, True]
        assert [each.given for each in answers] == [ENDED_WITHIN, NOT_RUN]
        assert ask(session, "and now?")[-1] == TurnFinished(TurnEnd.ANSWERED)


@pytest.mark.parametrize("lines", range(1, 12))
@pytest.mark.sampled(4)
def test_a_session_that_was_killed_after_any_of_its_first_lines_resumes(place, lines):
    model = place.model(["Hello.", "Again."])
    with place.session(model) as session:
        ask(session, "hello")
    path = place.state / "sessions" / place.saved[0] / "journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))
    with place.session(model, place.saved[0]) as session:
        assert ask(session, "again")[-1] == TurnFinished(TurnEnd.ANSWERED)
        whole = tokens(session)
    with place.session(model, place.saved[0]) as session:
        assert tokens(session) == whole


def test_a_sent_message_is_saved_although_nothing_was_computed(place):
    model = place.model(["Hello."])
    with place.session(model) as session:
        events = session.chat.ask("a question of mine")
        next(events)
        left_by_a_kill(place, "killed")
        events.close()
    go_back(place, "killed")
    with place.session(model, place.saved[0]) as session:
        asked, *others = session.info_at_start.resumed.events
        assert asked.message == "a question of mine"
        assert others[-1] == TurnFinished(TurnEnd.CANCELLED)
        assert not session.parts.agent.conversation.started


@pytest.mark.usefixtures("unasked")
def test_an_undo_that_was_killed_in_the_middle_is_finished_and_the_conversation_follows(place, monkeypatch):
    model = place.model(
        [say(call("write", path="b.txt", content="new\n")), "Done.", say(call("shell", cmd="echo x >> a.txt")), "Done."]
    )
    with place.session(model) as session:
        ask(session, "write b")
        at_one, files = tokens(session), sorted(path.name for path in place.project.iterdir())
        ask(session, "change a")
        undo = session.history.turns.journal()
        monkeypatch.setattr(undo._restorer, "restore", lambda *arguments, **options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.history.apply(session.history.plan_undo())
        left_by_a_kill(place, "killed")
    go_back(place, "killed")
    with place.session(model, place.saved[0]) as session:
        assert tokens(session) == at_one
        plan = session.history.unfinished()
        assert plan is not None
        session.history.apply(plan)
        assert (place.project / "a.txt").read_text() == "one\n"
        assert sorted(path.name for path in place.project.iterdir()) == files
        assert session.history.unfinished() is None
        assert tokens(session) == at_one
        session.history.apply(session.history.plan_redo())
        assert (place.project / "a.txt").read_text() == "one\nx\n"


def test_a_session_whose_journal_lacks_the_newest_turns_undoes_each_turn_exactly(place):
    script = [say(call("write", path=f"{name}.txt", content="new\n")) for name in "bcde"]
    model = place.model([turn for made in script for turn in (made, "Done.")])
    journal = "sessions/*/journal.jsonl"
    with place.session(model) as session:
        ask(session, "write b")
        (path,) = place.state.glob(journal)
        # As of a full disk, and of a copy of a session that is open: the undo log is ahead.
        behind, at_one = path.read_bytes(), tokens(session)
        ask(session, "write c")
        ask(session, "write d")
    path.write_bytes(behind)
    with place.session(model, place.saved[0]) as session:
        assert tokens(session) == at_one
        ask(session, "write e")
        assert [point.number for point in session.history.points()] == [1, 2, 3, 4]
        assert session.history.points()[-1].paths == ("e.txt",)
        session.history.apply(session.history.plan_undo())
        assert tokens(session) == at_one
        assert sorted(path.name for path in place.project.iterdir()) == ["a.txt", "b.txt", "c.txt", "d.txt"]
        session.history.apply(session.history.plan_redo())
        assert (place.project / "e.txt").exists()
        session.history.apply(session.history.plan_rewind(1))
        assert [path.name for path in place.project.iterdir()] == ["a.txt"]
        assert not session.parts.agent.conversation.started


def test_a_killed_command_leaves_nothing_that_is_read_as_rules(place):
    pid = os.fork()
    if pid == 0:
        prepare(probe_sandbox(), SandboxPolicy(place.project), ("true",))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    with place.session(place.model(["Hello."]), mode="auto"):
        assert [path.name for path in place.project.iterdir()] == ["a.txt"]


def test_a_steering_message_that_did_not_go_in_is_returned_once(place):
    model = place.model([LONG, "Done."])
    with place.session(model) as session:
        for event in session.chat.ask("go"):
            if isinstance(event, TextDelta) and not (place.home / "killed").exists():
                assert session.chat.steer("use cents")
                left_by_a_kill(place, "killed")
                session.chat.cancel()
    go_back(place, "killed")
    with place.session(model, place.saved[0]) as session:
        assert session.chat.unsent() == ("use cents",)
    with place.session(model, place.saved[0]) as session:
        assert session.chat.unsent() == ()


def test_another_model_continues_with_the_shown_part_of_a_killed_answer(place, tiny_model_path):
    model = place.model([say("One two three.", LONG)])
    with place.session(model, context=4096) as session:
        shown = ""
        for event in session.chat.ask("count"):
            shown += event.text if isinstance(event, TextDelta) else ""
            if "word5" in shown and not (place.home / "killed").exists():
                left_by_a_kill(place, "killed")
                session.chat.cancel()
    go_back(place, "killed")
    with place.session(tiny_model_path, place.saved[0], given={"model"}, context=4096) as session:
        question, answer = session.parts.agent.conversation.items()
        assert question.text == "count"
        assert answer.answer.text.startswith("One two three.")
        ask(session, "go on")
