"""Kept sessions: listed, copied and resumed in place of the open one; what cannot be resumed is said in a sentence."""

import errno
import json
import shutil
import threading
import tracemalloc
from base64 import b64encode
from pathlib import Path

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.base.events import TurnEnd, TurnFinished, TurnStarted
from laguna_tui.session.values import FolderGoneError, OtherFolderError
from laguna_tui.store.events import packed
from laguna_tui.store.session_journal import SessionJournal, SessionLockedError
from laguna_tui.store.session_store import SessionStore
from tests.app.session.place import Place, ask, start, tokens
from tests.scripted_model import call, raw, say

# Tokens behind an answer, which are computed with the next message.
CLOSING = 4


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Place(tmp_path)


def journal(place, session):
    return place.state / "sessions" / session / "journal.jsonl"


def test_a_session_is_listed_found_renamed_exported_copied_and_deleted(place):
    model = place.model(["It reads one.", "Yes."])
    with place.session(model) as session:
        assert (session.sessions.list(), session.sessions.current) == ((), None)
        ask(session, "what does a.txt say?")
        (only,) = session.sessions.list()
        assert only == session.sessions.current
        assert (only.title, only.turns, only.folder, only.locked) == ("what does a.txt say?", 1, place.project, False)
        assert only.model == session.title
        session.sessions.rename(only.id, "reading")
        assert [each.title for each in session.sessions.search("reads one")] == ["reading"]
        assert "It reads one." in session.sessions.export("reading", "markdown")
        copy = session.sessions.fork()
        assert copy.title == "reading (copy)"
        session.sessions.resume(copy.id, start)
        ask(session, "really?")
        assert [each.turns for each in session.sessions.list()] == [2, 1]
        assert session.sessions.delete([only.id, copy.id]) > 0
        assert [each.id for each in session.sessions.list()] == [copy.id]


def test_a_new_chat_is_another_session_and_undo_of_the_old_one_is_reached_by_resuming_it(place):
    model = place.model([say(call("write", path="b.txt", content="b\n")), "Done.", "Hello."])
    with place.session(model) as session:
        ask(session, "write b")
        whole = tokens(session)
        (old,) = place.saved
        session.chat.new_chat()
        ask(session, "hello")
        assert len(place.saved) == 2
        assert [point.title for point in session.history.points()] == ["hello"]
        info = session.sessions.resume(old, start)
        assert info.resumed.summary.id == old
        assert tokens(session) == whole
        session.history.apply(session.history.plan_undo())
        assert not (place.project / "b.txt").exists()


def test_undo_that_is_opened_before_the_first_message_loses_nothing(place):
    model = place.model([say(call("write", path="b.txt", content="b\n")), "Done."])
    with place.session(model) as session:
        assert session.history.points() == ()
        ask(session, "write b")
    with place.session(model, place.saved[0]) as session:
        session.history.apply(session.history.plan_undo())
        assert not (place.project / "b.txt").exists()


def test_the_chat_continues_while_nothing_can_be_written_and_what_waited_is_written_later(place, monkeypatch):
    model = place.model(["Hello.", say(call("write", path="b.txt", content="b\n")), "Done.", "Yes."])
    with place.session(model) as session:
        ask(session, "hello")
        before = tokens(session)
        with monkeypatch.context() as full:
            full.setattr(SessionJournal, "_write", no_space)
            ask(session, "write b")
            assert "no space left" in session.sessions.failing.session.lower()

            session.history.apply(session.history.plan_undo())
            assert tokens(session) == before
            session.history.apply(session.history.plan_redo())
        ask(session, "really?")
        assert session.sessions.failing.session == ""
        whole = tokens(session)
    with place.session(model, place.saved[0]) as session:
        assert tokens(session) == whole


def test_undo_is_right_when_the_journal_has_stopped_for_good(place, monkeypatch):
    model = place.model(["Hello.", "word " * 50, "Yes.", "No."])
    with place.session(model) as session:
        ask(session, "hello")
        before = tokens(session)
        monkeypatch.setattr(SessionJournal, "_write", no_space)
        monkeypatch.setattr(session.recorder.writer.journal, "_limit", 100)
        ask(session, "say a lot")
        at_two = tokens(session)
        ask(session, "really?")
        assert session.sessions.failing.session.startswith("This session is no longer saved")
        session.history.apply(session.history.plan_undo())
        assert tokens(session) == at_two
        session.history.apply(session.history.plan_undo())
        assert tokens(session) == before


def no_space(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_the_same_engine_continues_where_the_model_is_the_same(place):
    model = place.model(["Hello.", "Hello again.", "Yes."])
    with place.session(model) as session:
        ask(session, "hello")
        (first,) = place.saved
        session.chat.new_chat()
        ask(session, "hello again")
        engine = session.slot.engine
        session.sessions.resume(first, start)
        assert session.slot.engine is engine
        with pytest.raises(UserError, match="open already"):
            session.sessions.resume(first, start)


def test_the_model_of_the_session_answers_again(place, tiny_model_path):
    model = place.model(["Hello.", "Yes."])
    with place.session(model) as session:
        ask(session, "hello")
    with place.session(tiny_model_path, place.saved[0]) as session:
        assert session.title == "scripted"
        assert session.info_at_start.resumed.notices == ()
        assert ask(session, "really?")[-1] == TurnFinished(TurnEnd.ANSWERED)


def test_another_model_continues_where_the_model_is_gone_which_is_reported(place, tiny_model_path):
    model = place.model(["Hello you.", "Yes."])
    with place.session(model) as session:
        ask(session, "hello")
    model.unlink()
    with place.session(tiny_model_path, place.saved[0], context=4096) as session:
        (notice,) = session.info_at_start.resumed.notices
        assert notice.startswith(f"Continuing with {session.title}: scripted is not available.")
        assert [each.text or each.answer.text for each in session.parts.agent.conversation.items()] == [
            "hello",
            "Hello you.",
        ]
        ask(session, "really?")
        whole = tokens(session)
    with place.session(tiny_model_path, place.saved[0], context=4096) as session:
        assert session.info_at_start.resumed.notices == ()
        assert tokens(session) == whole


def test_each_answer_of_version_0_1_has_the_tokens_of_the_model_that_was_open(place):
    # Of a call that cannot be run the text has other tokens than the model wrote.
    first, second = (place.model([raw("<tool_call>read\n<arg_key>path"), f"It is {name}."], name) for name in "ab")
    with place.session(first, constrain="off") as session:
        ask(session, "which one?")
        with_first = tokens(session)
        session.models.switch(str(second), start)
        ask(session, "and now?")
        whole = tokens(session)
    assert whole[: len(with_first)] != with_first, "the second model reads the text of the first one's answer"
    path = journal(place, place.saved[0])
    lines = [as_written_by_version_0_1(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with place.session(second, place.saved[0], constrain="off") as session:
        assert tokens(session) == whole
        session.history.apply(session.history.plan_undo())
        session.models.switch(str(first), start)
        assert tokens(session) == with_first


def as_written_by_version_0_1(line):
    """A line in which answers have tokens, and nobody's."""
    for message in line.get("said", {}).get("add", ()) if line["event"] == "said" else ():
        if trace := message.pop("trace", None):
            del message["role"]
            message |= {"type": "GeneratedMessage", "tokens": b64encode(packed(trace["tokens"])).decode()}
    return line


def test_the_mode_of_the_session_comes_back_but_for_a_given_one(place):
    model = place.model(["Hello."])
    with place.session(model, mode="ask") as session:
        ask(session, "hello")
        session.permissions.mode = type(session.permissions.mode)("plan")
    with place.session(model, place.saved[0], mode="ask") as session:
        assert session.permissions.mode.value == "plan"
    with place.session(model, place.saved[0], mode="ask", given={"mode"}) as session:
        assert session.permissions.mode.value == "ask"


def test_a_session_that_is_open_elsewhere_is_not_resumed_but_can_be_copied(place):
    model = place.model(["Hello.", "Yes.", "No."])
    with place.session(model) as first:
        ask(first, "hello")
        (kept,) = place.saved
        with place.session(model) as second:
            assert [each.locked for each in second.sessions.list()] == [True]
            with pytest.raises(SessionLockedError, match="open in another laguna-tui; close it there, or open a copy"):
                second.sessions.resume(kept, start)
            copy = second.sessions.fork(kept)
            second.sessions.resume(copy.id, start)
            assert tokens(second) == tokens(first)
            ask(second, "really?")
            ask(first, "truly?")
            assert len(place.saved) == 2


def test_two_sessions_about_one_folder_undo_their_own_changes(place):
    with (
        place.session(place.model([say(call("write", path="b.txt", content="b\n")), "Done."], "b.gguf")) as first,
        place.session(place.model([say(call("write", path="c.txt", content="c\n")), "Done."], "c.gguf")) as second,
    ):
        ask(first, "write b")
        ask(second, "write c")
        first.history.apply(first.history.plan_undo())
        assert sorted(path.name for path in place.project.iterdir()) == ["a.txt", "c.txt"]
        second.history.apply(second.history.plan_undo())
        assert sorted(path.name for path in place.project.iterdir()) == ["a.txt"]


@pytest.mark.usefixtures("unasked")
def test_a_session_begins_while_a_command_of_another_one_runs_in_its_folder(place):
    model = place.model([say(call("shell", cmd="touch runs; while [ -e runs ]; do sleep 0.1; done")), "Done."])
    with place.session(model) as first:
        running = threading.Thread(target=lambda: ask(first, "wait"))
        running.start()
        try:
            while not (place.project / "runs").exists():
                assert running.is_alive()
            with place.session(place.model(["Hello."], "b.gguf"), mode="auto") as second:
                assert ask(second, "hello")[-1] == TurnFinished(TurnEnd.ANSWERED)
        finally:
            (place.project / "runs").unlink(missing_ok=True)
            running.join()


def test_a_session_about_another_folder_names_it(place, tmp_path):
    model = place.model(["Hello."])
    with place.session(model) as session:
        ask(session, "hello")
    other = Place.__new__(Place)
    other.__dict__ = {**place.__dict__, "project": tmp_path / "other"}
    other.project.mkdir()
    with pytest.raises(OtherFolderError) as error, other.session(model, place.saved[0]):
        pass
    assert error.value.folder == place.project
    assert str(error.value).endswith(f"resume it there: laguna-tui --resume {place.saved[0]}")


def test_a_deleted_folder_is_named_with_what_can_be_done(place):
    model = place.model(["Hello."])
    with place.session(model) as session:
        ask(session, "hello")
    shutil.rmtree(place.project)
    with pytest.raises(FolderGoneError) as error:
        place.prepared(model, place.saved[0])
    assert str(error.value) == (
        f"{place.project}, which this session is about, is gone. If it was moved, say where it is now: "
        f"laguna-tui --resume {place.saved[0]} --folder DIR"
    )


def test_a_session_resumes_where_its_folder_was_moved_and_its_turns_can_be_undone_there(place, tmp_path):
    model = place.model([say(call("write", path="b.txt", content="b\n")), "Written.", "And?"])
    with place.session(model) as session:
        ask(session, "write b")
    (kept,) = place.saved
    there = tmp_path / "there"
    place.project.rename(there)
    moved = Place.__new__(Place)
    moved.__dict__ = {**place.__dict__, "project": there}
    SessionStore(place.state, place.state).move(kept, there)
    with moved.session(model, kept) as session:
        assert session.info_at_start.resumed.notices == ()
        (listed,) = session.sessions.list()
        assert (listed.id, listed.folder) == (kept, there)
        ask(session, "and?")
        assert session.sessions.export(kept, "json").count(str(there))
        session.history.apply(session.history.plan_rewind(1))
    assert not (there / "b.txt").exists()
    assert not place.project.exists()


def test_a_journal_of_a_later_version_says_what_to_do(place):
    model = place.model(["Hello."])
    with place.session(model) as session:
        ask(session, "hello")
    path = journal(place, place.saved[0])
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text("".join([json.dumps(json.loads(first) | {"version": 99}) + "\n", *others]))
    with pytest.raises(UserError, match="written by a later version of laguna-tui; update"):
        place.prepared(model, place.saved[0])


def test_events_and_fields_of_a_later_version_are_ignored(place):
    model = place.model(["Hello."])
    with place.session(model) as session:
        ask(session, "hello")
        whole = tokens(session)
    path = journal(place, place.saved[0])
    first, *others = path.read_text().splitlines(keepends=True)
    new = [json.dumps({"event": "danced", "steps": 3}) + "\n"]
    shown = [json.dumps({"event": "shown", "events": [{"type": "Danced"}], "loud": True}) + "\n"]
    path.write_text("".join([first, *new, *others[:-1], *shown, others[-1]]))
    with place.session(model, place.saved[0]) as session:
        assert tokens(session) == whole
        assert len(session.info_at_start.resumed.events) > 2


def test_a_session_that_cannot_be_resumed_leaves_the_open_one_as_it_is(place):
    model = place.model(["Hello.", "Again.", "Yes."])
    with place.session(model) as session:
        ask(session, "hello")
        (damaged,) = place.saved
        session.chat.new_chat()
        ask(session, "again")
        path = journal(place, damaged)
        path.write_text(path.read_text().replace('"role":"user"', '"role":"nobody"'))
        whole, current = tokens(session), session.sessions.current.id
        with pytest.raises(UserError, match="damaged"):
            session.sessions.resume(damaged, start)
        assert (tokens(session), session.sessions.current.id) == (whole, current)
        assert ask(session, "really?")[-1] == TurnFinished(TurnEnd.ANSWERED)


def test_the_kv_cache_comes_back_from_a_snapshot(place, tmp_path):
    model = place.model([" ".join(["word"] * 300), "Yes."])
    cache = tmp_path / "cache"
    with place.session(model, cache=cache) as session:
        ask(session, "say a lot")
        whole = tokens(session)
    with place.session(model, place.saved[0], cache=cache) as session:
        assert session.info_at_start.resumed.restored >= len(whole) - CLOSING
        (started,) = [event for event in ask(session, "really?") if isinstance(event, TurnStarted)]
        assert started.cached >= len(whole) - CLOSING
        cost = session.history.cost(session.history.plan_rewind(1))
        assert cost is not None
        assert cost.restored + cost.recomputed < len(whole)
        assert cost.recompute_s is not None


def test_memory_stays_flat_over_many_turns(place):
    def script(seen):
        while True:
            yield "Yes."

    with place.session(place.model(script), context=2560) as session:
        for number in range(12):
            ask(session, f"turn {number}")
        tracemalloc.start()
        try:
            sizes = []
            for number in range(102):
                ask(session, f"turn {number}")
                if number >= 30 and number % 3 == 2:
                    sizes.append(traced())
        finally:
            tracemalloc.stop()
        # A turn is remembered by two places and the beginning of its message. The context is full all the time, and
        # every 24 turns or so a part of it is left out.
        assert max(sizes[12:]) - max(sizes[:12]) < 36 * 4096


def traced():
    """Bytes of Python's memory, without those of the scripted model."""
    not_its = tracemalloc.Filter(inclusive=False, filename_pattern="*/tests/scripted_model/*")
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([not_its]).traces)


def test_without_a_usable_home_a_chat_continues_unsaved(place):
    model = place.model([say(call("write", path="b.txt", content="b\n")), "Written.", "Still here."])
    place.state = Path("/dev/null/.local/state/laguna-tui")
    with place.session(model) as session:
        ask(session, "write b")
        assert ask(session, "and now?")[-1] == TurnFinished(TurnEnd.ANSWERED)
        assert session.sessions.list() == ()
        assert session.info_at_start.warnings == (
            "Nothing is saved, neither this chat nor your input history: /dev/null/.local/state/laguna-tui cannot be "
            "created. Set HOME to a folder of yours.",
        )
        assert (place.project / "b.txt").exists()
        session.history.apply(session.history.plan_rewind(1))
    assert not (place.project / "b.txt").exists()
