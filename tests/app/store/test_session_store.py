"""Kept sessions are listed, found, searched, renamed, copied and deleted, whatever stands in them or beside them."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from laguna_tui.base.settings import Settings
from laguna_tui.store import session_index
from laguna_tui.store.events import Began, Blob, Opened, TurnBegun
from laguna_tui.store.journal_lines import JOURNAL, JournalError, encoded_group, read_journal
from laguna_tui.store.session_index import INDEX
from laguna_tui.store.session_journal import SessionJournal, SessionLockedError
from laguna_tui.store.session_retention import Retention, prune
from laguna_tui.store.session_store import SessionNotFoundError, SessionStore
from tests.app.store.kept_sessions import HOSTILE, begun, forge, kept, turn

SHOP, FARM = Path("/shop"), Path("/farm")


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state", tmp_path / "cache")


def ids(sessions):
    return [each.id for each in sessions]


def test_without_sessions_there_are_none_and_nothing_is_raised(store):
    assert store.newest() == store.search("x") == []
    store.remove_leftovers()
    with pytest.raises(SessionNotFoundError) as error:
        store.find("x")
    assert str(error.value) == "no session is called 'x'; no saved sessions yet"


def test_the_list_shows_what_is_known_of_each(store):
    kept(store.folder, ("How does it work?\nplease", "So."), ("And that?", "Like this."), model="Laguna XS")
    (found,) = store.newest()
    assert (found.title, found.folder, found.model) == ("How does it work? please", SHOP, "Laguna XS")
    assert (found.turns, found.locked, found.ended, found.snippet) == (2, False, "", "")
    assert found.size == (store.folder / found.id / JOURNAL).stat().st_size
    assert time.time() - 60 < found.created <= found.updated <= time.time() + 1


def test_the_newest_comes_first_and_a_title_or_being_opened_changes_no_order(store):
    first, second = (kept(store.folder, (f"message {number}", "yes")) for number in (1, 2))
    touch(store, second, 100)
    assert ids(store.newest()) == [second, first]
    store.rename(first, "Renamed")
    journal = SessionJournal.open(store.folder / first)
    journal.close()
    assert ids(store.newest()) == [second, first]


def touch(store, session, later):
    """Something was said in a session, so many seconds from now."""
    journal = SessionJournal.open(store.folder / session)
    journal.append(TurnBegun(number=9, message="more", time=time.time() + later))
    journal.close()


def test_only_those_about_a_folder(store):
    here, _ = kept(store.folder, ("here", "x")), kept(store.folder, ("there", "x"), about="/farm")
    assert ids(store.newest(SHOP)) == [here]
    assert ids(store.search("x", SHOP)) == [here]
    assert len(store.newest()) == 2


def test_a_folder_may_have_any_name(store, tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n\x1b[2J")
    session = kept(store.folder, ("message", "x"), about=odd)
    assert ids(store.newest(Path(odd))) == [session]
    assert store.newest()[0].folder == Path(odd)


def test_how_a_session_ended(store):
    closed = kept(store.folder, ("a", "b"))
    killed = begun(store.folder, ("a", "b"))
    killed.release()
    terminated = begun(store.folder, ("a", "b"))
    terminated.close("SIGTERM")
    running = begun(store.folder, ("a", "b"))
    found = {each.id: (each.ended, each.locked) for each in store.newest()}
    assert found == {
        closed: ("", False),
        killed.id: ("killed", False),
        terminated.id: ("SIGTERM", False),
        running.id: ("", True),
    }
    running.close()


def test_a_resumed_session_is_listed_as_it_is_now(store):
    journal = begun(store.folder, ("first", "one"))
    assert store.newest()[0].turns == 1
    journal.append(turn(2, "second"))
    assert store.newest()[0].turns == 2
    assert ids(store.search("second")) == [journal.id]
    journal.close()


@pytest.mark.parametrize("words", ["parser", "PARS", "error parser", "naïve", "naive", "Umlaut größe", "tree_sitter"])
def test_words_are_found_in_messages(store, words):
    said = "The parser raises an Error where tree_sitter is naïve about the Umlaut in Größe."
    session = kept(store.folder, ("what happens?", said))
    kept(store.folder, ("something else", "no"))
    (found,) = store.search(words)
    assert found.id == session
    assert found.snippet.strip("…") in f"what happens? {said}"


def test_titles_are_found_before_messages_and_all_words_have_to_occur(store):
    said = kept(store.folder, ("x", "the parser"))
    titled = kept(store.folder, ("y", "z"), title="My Parser")
    assert ids(store.search("parser")) == [titled, said]
    assert ids(store.search("the parser")) == [said]
    assert store.search("parser nowhere") == []


def test_a_message_stored_as_a_blob_is_the_title_and_is_found(store):
    journal = SessionJournal.create(store.folder, "/shop")
    journal.append(TurnBegun(number=1, message=Blob(journal.put_blob(b"Explain the zeppelin " * 500))))
    journal.close()
    (found,) = store.search("zeppelin")
    assert found.title.startswith("Explain the zeppelin")


@pytest.mark.parametrize(
    "words", ['"', "a OR b", "NEAR(", "*", "title:x", "'; drop table texts", "-x", "\0", HOSTILE, ""]
)
def test_any_words_can_be_searched_and_change_nothing(store, words):
    session = kept(store.folder, ("message", "answer"))
    assert set(ids(store.search(words))) <= {session}
    assert ids(store.search("answer")) == [session]


def test_hostile_contents_are_listed_found_and_named_on_one_line(store):
    session = kept(store.folder, (HOSTILE, f"{HOSTILE} needle"), title="", model=HOSTILE, about=f"/{HOSTILE[:40]}")
    other = kept(store.folder, ("x", "y"), title=HOSTILE)
    assert set(ids(store.newest())) == {session, other}
    (found,) = store.search("needle")
    assert found.id == session
    assert all("\n" not in text for text in (found.title, found.snippet))
    assert len(found.title) <= 80


def test_events_of_any_shape_are_taken(store):
    odd = [
        None,
        3,
        10**400,
        -1e300,
        float("nan"),
        "text",
        [],
        {},
        [{}],
        {"blob": "none"},
        {"blob": 3},
        [[{"type": "TextDelta"}]],
    ]
    journal = SessionJournal.create(store.folder, "/shop")
    journal.release()
    forge(journal.folder, {"event": "session", "folder": 3})
    for value in odd:
        for event in ("opened", "titled", "turn", "shown", "closed", "asked", "unheard of"):
            given = dict.fromkeys(("title", "model", "message", "events", "reason", "time"), value)
            forge(journal.folder, {"event": event, **given})
        forge(journal.folder, {"event": "shown", "events": [{"type": "ToolStarted", "arguments": value}, value]})
    assert ids(store.newest()) == [journal.id]


def test_a_session_is_found_by_its_id_or_title(store):
    one = kept(store.folder, ("How does the parser work?", "x"))
    two = kept(store.folder, ("y", "z"), title="Parser")
    for name in (one, "how does THE  parser work?", "does the"):
        assert store.find(name).id == one
    assert store.find("parser").id == two
    for name, words in (("nothing", "there are"), (one[:4], "several"), ("", "no session"), ("..", "no session")):
        with pytest.raises(SessionNotFoundError, match=words) as caught:
            store.find(name)
        assert one in str(caught.value)


def test_a_session_about_the_folder_comes_before_others_of_its_title(store):
    here = kept(store.folder, ("x", "y"), title="Same")
    there = kept(store.folder, ("x", "y"), title="Same", about="/farm")
    assert store.find("same", SHOP).id == here
    assert store.find("same", FARM).id == there
    with pytest.raises(SessionNotFoundError) as error:
        store.find("same")
    # Of those within one second either may come first.
    orders = [f"{first} (Same), {second} (Same)" for first, second in ((there, here), (here, there))]
    assert str(error.value) in [f"several sessions are called 'same': {order}; give an ID" for order in orders]


def test_a_new_title_stays_and_an_empty_one_takes_it_away(store):
    session = kept(store.folder, ("message", "x"))
    store.rename(session, "Ti\ntle")
    assert store.newest()[0].title == "Ti tle"
    assert store.newest()[0].ended == ""
    store.rename(session, "")
    assert store.newest()[0].title == "message"


def test_an_open_session_is_neither_renamed_nor_deleted(store):
    journal = begun(store.folder, ("message", "x"))
    for action in (lambda: store.rename(journal.id, "x"), lambda: store.delete([journal.id])):
        with pytest.raises(SessionLockedError) as error:
            action()
        assert str(error.value) == (
            f"the session {journal.id} is open in another laguna-tui; close it there, or open a copy of it: "
            f"laguna-tui --resume {journal.id} --fork"
        )
    journal.close()
    assert store.newest()[0].title == "message"


def with_everything(store, session):
    """Give a session blobs, an undo store and a snapshot."""
    from laguna_tui.undo.undo import UndoHistory

    folder = store.folder / session
    root = store.folder.parent / "project"
    root.mkdir()
    history = UndoHistory(root, folder / "undo")
    history.begin_turn("message")
    history.close()
    snapshots = store.folder.parents[1] / "cache/snapshots" / session
    snapshots.mkdir(parents=True)
    (snapshots / "one.kv").write_bytes(b"kv" * 100)
    return snapshots, root


@pytest.mark.parametrize("is_open", [False, True])
def test_a_copy_has_everything_and_goes_its_own_way(store, is_open):
    from laguna_tui.undo.undo import UndoHistory

    journal = begun(store.folder, ("message", "answer"))
    name = journal.put_blob(b"blob")
    journal.append(TurnBegun(number=2, message=Blob(name)))
    places = list(journal.read())
    snapshots, root = with_everything(store, journal.id)
    if not is_open:
        journal.close()
    copy = store.fork(journal.id)
    forked = SessionJournal.open(store.folder / copy)
    header, *rest = forked.read()
    assert header.event.id == copy
    # Every place in it is the same.
    assert rest[: len(places) - 1] == places[1:]
    assert forked.blob(name) == b"blob"
    forked.append(turn(2, "only here"))
    forked.close()
    assert (snapshots.parent / copy / "one.kv").samefile(snapshots / "one.kv")
    undo = UndoHistory(root, store.folder / copy / "undo")
    undo.close()
    journal.append(turn(2, "only there"))
    journal.close()
    found = {each.title: each for each in store.newest()}
    assert set(found) == {"message", "message (copy)"}
    assert "only here" not in (store.folder / journal.id / JOURNAL).read_text()
    assert stat.S_IMODE((store.folder / copy).stat().st_mode) == 0o700
    for path in (store.folder / copy).rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_a_copy_of_a_damaged_session_has_what_can_be_read(store):
    session = kept(store.folder, ("message", "answer"))
    path = store.folder / session / JOURNAL
    path.write_bytes(path.read_bytes() + b"damage\n")
    copy = store.fork(session, "Mine")
    assert [each.title for each in store.newest() if each.id == copy] == ["Mine"]
    assert path.read_bytes().endswith(b"damage\n")


def test_a_copy_that_fails_leaves_nothing(store, monkeypatch):
    session = kept(store.folder, ("message", "answer"))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError) as error:
        store.fork(session)
    assert str(error.value) == f"the session {session} was not copied: no space left on device; make room there"
    monkeypatch.undo()
    assert [child.name for child in store.folder.iterdir() if child.is_dir()] == [session]


def test_what_is_deleted_is_gone_also_from_the_index(store):
    session = kept(store.folder, ("secretword in the message", "answer"))
    snapshots, _ = with_everything(store, session)
    other = kept(store.folder, ("other", "answer"))
    assert ids(store.search("secretword")) == [session]
    assert store.delete([session]) > 200
    assert ids(store.newest()) == [other]
    assert not snapshots.exists()
    assert [child.name for child in store.folder.iterdir() if child.is_dir()] == [other]
    for path in store.folder.glob("index.db*"):
        assert b"secretword" not in path.read_bytes()


@pytest.mark.parametrize("name", ["nobody", "..", ".", "../state", ""])
def test_only_sessions_are_renamed_copied_and_deleted(store, name):
    kept(store.folder, ("message", "answer"))
    for action in (lambda: store.delete([name]), lambda: store.rename(name, "x"), lambda: store.fork(name)):
        with pytest.raises(JournalError, match="there is no session"):
            action()
    assert len(store.newest()) == 1


def put_odd_things(folder):
    """What is no session, beside the sessions."""
    (folder / "a file").write_text("x")
    (folder / "empty").mkdir()
    os.mkfifo(folder / "fifo")
    for name, put in {
        "journal is a fifo": os.mkfifo,
        "journal is a link": lambda path: path.symlink_to("/etc/passwd"),
        "journal is a folder": lambda path: path.mkdir(),
        "journal is empty": lambda path: path.touch(),
    }.items():
        (folder / name).mkdir()
        put(folder / name / JOURNAL)
    (folder / "link to a session").symlink_to(next(folder.glob("2*")))
    if not os.geteuid():
        (folder / "foreign").mkdir()
        (folder / "foreign" / JOURNAL).write_bytes(encoded_group([Began(id="foreign", version=1)], 1.0))
        os.chown(folder / "foreign" / JOURNAL, 12345, 12345)


def test_what_is_not_a_session_is_not_listed_and_not_touched(store):
    session = kept(store.folder, ("message", "answer"))
    put_odd_things(store.folder)
    assert ids(store.newest()) == ids(store.search("message")) == [session]
    before = sorted(path.name for path in store.folder.iterdir())
    store.remove_leftovers()
    assert sorted(path.name for path in store.folder.iterdir()) == before
    assert prune(store, Retention(1, 1, True), now=time.time() + 1e6)
    assert Path("/etc/passwd").exists()
    assert (store.folder / "journal is a link").exists()
    assert (store.folder / "link to a session").is_symlink()


def test_a_damaged_session_and_one_of_a_later_version_are_listed_and_say_so(store):
    damaged, later = (kept(store.folder, ("message", "answer")) for _ in range(2))
    path = store.folder / damaged / JOURNAL
    path.write_bytes(b"#" + path.read_bytes())
    path = store.folder / later / JOURNAL
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":9', 1))
    found = {each.id: (each.title, each.ended) for each in store.newest()}
    assert found == {
        damaged: ("(its beginning is damaged)", "damaged"),
        later: ("message", "of a later version"),
    }
    store.delete([damaged, later])
    assert store.newest() == []


def test_leftovers_of_killed_processes_are_removed_after_an_hour(store):
    session = kept(store.folder, ("message", "answer"))
    for name, content in {".copy-x": b"x", ".deleted-x-1": b"x", "torn": b'{"event":"sess', "none": None}.items():
        (store.folder / name).mkdir()
        if content is not None:
            (store.folder / name / JOURNAL).write_bytes(content)
    (store.folder / "with blobs" / "blobs").mkdir(parents=True)
    (store.folder / "with blobs" / JOURNAL).write_bytes(b"")
    before = {path.name for path in store.folder.iterdir()}
    store.remove_leftovers()
    assert {path.name for path in store.folder.iterdir()} == before
    store.remove_leftovers(now=time.time() + 4000)
    assert {path.name for path in store.folder.iterdir() if path.is_dir()} == {session, "with blobs"}


# -- the index


def damage_tables(path):
    with sqlite3.connect(path) as connection:
        connection.execute("drop table sessions")


def damage_pages(path):
    data = bytearray(path.read_bytes())
    data[2000:] = os.urandom(len(data) - 2000)
    path.write_bytes(data)


def make_newer(path):
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
        connection.execute("create table later (x)")


def make_folder(path):
    path.unlink()
    path.mkdir()


def make_fifo(path):
    path.unlink()
    os.mkfifo(path)


def make_link(path):
    shutil.move(path, path.parents[2] / "elsewhere")
    path.symlink_to(path.parents[2] / "elsewhere")


@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"no database" * 1000),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        damage_tables,
        damage_pages,
        make_newer,
        make_folder,
        make_fifo,
        make_link,
    ],
    ids="deleted empty text cut tables pages newer folder fifo link".split(),
)
def test_an_index_that_cannot_be_used_is_built_again(store, harm):
    session = kept(store.folder, ("message", "answer with a needle"))
    assert ids(store.search("needle")) == [session]
    for path in store.folder.glob("index.db-*"):
        path.unlink()
    harm(store.folder / INDEX)
    again = SessionStore(store.folder.parent, store.folder.parents[1] / "cache")
    assert ids(again.search("needle")) == ids(again.newest()) == [session]
    assert [each.title for each in again.newest()] == ["message"]


def test_a_journal_that_was_replaced_by_a_shorter_one_is_read_again(store):
    session = kept(store.folder, ("long message", "needle " * 100))
    assert store.search("needle")
    path = store.folder / session / JOURNAL
    first = next(iter(read_journal(path)))
    path.write_bytes(path.read_bytes()[: first.end] + encoded_group([turn(1, "short")], 1.0))
    assert store.search("needle") == []
    assert store.newest()[0].title == "short"


@pytest.mark.parametrize("error", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR])
def test_where_no_index_can_be_written_there_is_one_in_memory(store, monkeypatch, error):
    session = kept(store.folder, ("message", "needle"))
    real = session_index._connect

    def refused(path):
        if path is not None:
            failure = sqlite3.OperationalError("refused")
            failure.sqlite_errorcode = error
            raise failure
        return real(path)

    monkeypatch.setattr(session_index, "_connect", refused)
    assert ids(store.search("needle")) == ids(store.newest()) == [session]
    assert not (store.folder / INDEX).exists()


def test_the_index_is_the_users_alone(store):
    kept(store.folder, ("message", "needle"))
    store.newest()
    for path in store.folder.glob("index.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


_WRITER = """
import sys
from pathlib import Path
from laguna_tui.store.session_store import SessionStore
from tests.app.store.kept_sessions import kept
store = SessionStore(Path(sys.argv[1]), Path(sys.argv[2]))
for number in range(int(sys.argv[4])):
    session = kept(store.folder, (f"message {sys.argv[3]}x{number}", "the answer " * 50))
    assert [each.id for each in store.search(f"{sys.argv[3]}x{number}")] == [session]
    if number % 5 == 4:
        store.delete([session])
"""


def test_two_processes_use_the_index_at_once(store, tmp_path):
    rounds = 25
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path / "state"), str(tmp_path / "cache"), name, str(rounds)],
            cwd=Path(__file__).parents[3],
            stderr=subprocess.PIPE,
        )
        for name in ("first", "second", "third")
    ]
    for writer in writers:
        assert (writer.communicate()[1], writer.returncode) == (b"", 0)
    assert len(store.newest()) == len(store.search("answer")) == 3 * rounds * 4 // 5


# -- retention


def aged(store, days, size=1000):
    """A session in which something was said so many days ago."""
    journal = SessionJournal.create(store.folder, "/shop")
    then = time.time() - days * 86_400
    journal.append(TurnBegun(number=1, message=f"{days} days", time=then))
    journal.append(Opened(model="x" * size))
    journal.close()
    return journal.id


def test_by_default_nothing_is_ever_deleted(store):
    aged(store, 10_000)
    assert prune(store, Retention.of(Settings())) == []
    assert prune(store, Retention.of(Settings()), is_requested=True) == []
    assert len(store.newest()) == 1


def test_sessions_older_than_the_setting_are_deleted_and_named(store):
    old, young = aged(store, 31), aged(store, 29)
    (sentence,) = prune(store, Retention.of(Settings(keep_sessions=30)))
    assert sentence.startswith("1 session older than keep_sessions = 30 days deleted, ")
    assert "'31 days'" in sentence
    assert ids(store.newest()) == [young] != [old]


def test_over_the_default_limit_there_is_only_a_notice_unless_deletion_is_requested(store):
    sessions = [aged(store, days, 50_000) for days in (3, 2, 1)]
    retention = Retention(0, 120_000, is_own_limit=False)
    (sentence,) = prune(store, retention)
    assert "to delete the 1 oldest: laguna-tui sessions prune" in sentence
    assert len(store.newest()) == 3
    (sentence,) = prune(store, retention, is_requested=True)
    assert "1 session beyond sessions_limit = 120 kB deleted" in sentence
    assert ids(store.newest()) == [sessions[2], sessions[1]]


def test_over_a_limit_of_the_users_own_the_oldest_are_deleted_and_named(store):
    for days in range(1, 9):
        aged(store, days, 50_000)
    retention = Retention.of(Settings(sessions_limit=0.0001))
    (sentence,) = prune(store, retention)
    assert "7 sessions beyond sessions_limit = 100 kB deleted" in sentence
    assert "'8 days'" in sentence
    assert "and 2 more" in sentence
    assert [each.title for each in store.newest()] == ["1 days"]
    assert Retention.of(Settings(origin={"sessions_limit": "config.toml"})).is_own_limit


def test_an_open_session_is_never_deleted(store):
    journal = begun(store.folder, ("message", "x" * 5000))
    assert prune(store, Retention(1, 1, is_own_limit=True), now=time.time() + 1e9) == []
    journal.append(turn(2))
    journal.close()
    assert len(list(read_journal(store.folder / journal.id / JOURNAL))) > 3
