"""Contents are stored once, exactly, privately, and not beyond what is allowed."""

import fcntl
import os
import random
import stat

import pytest

from laguna_tui.base.object_store import OBJECTS, ObjectStore, StoreError, StoreFullError

CONTENTS = [b"", b"x", b"short", b"text " * 10_000, random.Random(5).randbytes(5_000), b"\r\n\0\xff" * 100]


@pytest.fixture
def store(tmp_path):
    made = ObjectStore(tmp_path / "undo/one")
    yield made
    made.close()


@pytest.mark.parametrize("data", CONTENTS, ids=["empty", "one", "short", "long", "noise", "lines"])
def test_what_is_put_is_got(store, data):
    assert store.get(store.put(data)) == data


def test_the_same_bytes_are_stored_once(store):
    name = store.put(CONTENTS[4])
    size = store.size
    assert store.put(CONTENTS[4]) == name
    assert store.size == size


def test_text_is_stored_in_less_room_than_it_takes(store):
    store.put(CONTENTS[3])
    assert store.size < len(CONTENTS[3]) / 10


def test_folder_and_file_are_the_users_alone(store):
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.folder / OBJECTS).stat().st_mode) == 0o600


def test_a_store_opened_again_has_what_was_put(store):
    names = [store.put(data) for data in CONTENTS]
    store.close()
    with_all = ObjectStore(store.folder)
    assert [with_all.get(name) for name in names] == CONTENTS
    with_all.close()


@pytest.mark.parametrize("lost", [1, 20, 45])
def test_a_record_that_was_being_written_is_cut_off_and_the_rest_stays(store, lost):
    first, second = store.put(CONTENTS[3]), store.put(CONTENTS[4][:10])
    store.close()
    file = store.folder / OBJECTS
    os.truncate(file, file.stat().st_size - lost)
    again = ObjectStore(store.folder)
    assert again.get(first) == CONTENTS[3]
    assert second not in again
    assert again.get(again.put(b"more")) == b"more"
    again.close()


def test_damaged_contents_are_not_given_out(store):
    name = store.put(CONTENTS[4])
    with (store.folder / OBJECTS).open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"xyz")
    with pytest.raises(StoreError, match="damaged"):
        store.get(name)


def test_unknown_contents_are_missing(store):
    with pytest.raises(StoreError, match="missing"):
        store.get("0" * 64)


def test_nothing_is_stored_beyond_the_limit(tmp_path):
    store = ObjectStore(tmp_path / "one", limit=1_000)
    kept = store.put(b"kept")
    size = store.size
    with pytest.raises(StoreFullError):
        store.put(CONTENTS[4])
    assert store.size == size
    assert store.get(kept) == b"kept"
    assert store.get(store.put(CONTENTS[4], limited=False)) == CONTENTS[4]
    store.close()


def test_a_full_disk_leaves_the_store_as_it_was(store, monkeypatch):
    kept = store.put(b"kept")
    real, size = os.pwrite, store.size

    def half(descriptor, data, offset):
        if len(data) < 1_000:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[: len(data) // 2], offset)

    monkeypatch.setattr(os, "pwrite", half)
    with pytest.raises(StoreError, match="no space left"):
        store.put(CONTENTS[4])
    monkeypatch.undo()
    assert (store.folder / OBJECTS).stat().st_size == store.size == size
    assert store.get(store.put(CONTENTS[4])) == CONTENTS[4]
    assert store.get(kept) == b"kept"


def test_a_store_in_use_is_not_opened_twice(store):
    with pytest.raises(StoreError, match="another laguna-tui"):
        ObjectStore(store.folder)


def test_a_link_in_its_place_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("keep")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / OBJECTS).symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError):
        ObjectStore(tmp_path / "one")
    assert (tmp_path / "victim").read_text() == "keep"


def test_where_locks_exclude_nobody_a_second_writer_is_refused(store, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)
    other = ObjectStore(store.folder)
    name = store.put(b"one")
    with pytest.raises(StoreError) as refused:
        other.put(b"other")
    other.close()
    assert str(refused.value) == f"another laguna-tui has {store.folder} open"
    assert store.get(name) == b"one"
