"""The snapshots of sessions on disk: copied with their session, removed with it, and the oldest first."""

import os

import pytest

from laguna_tui.store.session_store import SessionStore
from laguna_tui.store.snapshot_store import SnapshotStore
from tests.app.store.kept_sessions import kept

OLD, NEW, LAST = "20261101-090000-aaaa", "20261102-090000-bbbb", "20261103-090000-cccc"


@pytest.fixture
def store(tmp_path):
    return SnapshotStore(tmp_path / "cache")


def filled(store, session, size, used):
    """Give a session a snapshot that was used at this time."""
    folder = store.folder_of(session)
    folder.mkdir(parents=True)
    (folder / f"{session}.kv").write_bytes(b"k" * size)
    os.utime(folder, (used, used))
    return folder


def test_the_ones_used_longest_ago_are_removed_until_the_rest_fits(store):
    for session, used in ((OLD, 1e9), (NEW, 2e9), (LAST, 3e9)):
        filled(store, session, 100, used)
    assert store.keep_within(250, LAST)
    assert set(store.sizes()) == {NEW, LAST}
    store.note_use(NEW)
    assert store.keep_within(100, NEW)
    assert set(store.sizes()) == {NEW}


def test_those_of_the_session_itself_stay_and_are_reported_as_too_large(store):
    filled(store, OLD, 100, 1e9)
    filled(store, NEW, 300, 2e9)
    assert not store.keep_within(200, NEW)
    assert store.sizes() == {NEW: 300}


def test_what_a_copy_shares_counts_once_and_is_freed_by_the_last(store):
    filled(store, OLD, 100, 1e9)
    store.copy(OLD, NEW)
    assert sum(store.sizes().values()) == 100
    assert store.remove(OLD) == 0
    assert store.sizes() == {NEW: 100}
    assert store.remove(NEW) == 100
    assert store.sizes() == {}


@pytest.mark.parametrize("session", ["", ".", "..", "../elsewhere", "a/b", ".hidden"])
def test_an_invalid_session_has_no_folder(store, tmp_path, session):
    (tmp_path / "elsewhere").mkdir()
    assert store.folder_of(session) is None
    assert store.remove(session) == 0
    store.copy(session, NEW)
    assert store.sizes() == {}
    assert (tmp_path / "elsewhere").is_dir()


def test_a_deleted_session_leaves_no_snapshots_and_lists_say_what_they_take(tmp_path):
    sessions, store = SessionStore(tmp_path / "state", tmp_path / "cache"), SnapshotStore(tmp_path / "cache")
    session = kept(sessions.folder, ("message", "answer"))
    filled(store, session, 1000, 1e9)
    assert [each.snapshots for each in sessions.newest()] == [1000]
    assert sessions.delete([session]) > 1000
    assert store.sizes() == {}


def test_snapshots_whose_session_is_gone_are_removed_an_hour_later(tmp_path):
    sessions, store = SessionStore(tmp_path / "state", tmp_path / "cache"), SnapshotStore(tmp_path / "cache")
    session = kept(sessions.folder, ("message", "answer"))
    for name in (session, OLD):
        filled(store, name, 10, 1e9)
    filled(store, NEW, 10, 2e9)
    sessions.remove_leftovers(now=1e9 + 3601)
    assert set(store.sizes()) == {session, NEW}
