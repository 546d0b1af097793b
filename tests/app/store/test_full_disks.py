"""A disk that is full, over its quota or read-only at any write costs nothing: what waited is written afterwards."""

import errno
import os
import resource
import shutil
import subprocess
from contextlib import contextmanager

import pytest
from msgspec import structs

from laguna_tui.store import session_journal
from laguna_tui.store.events import Began, Closed, ConversationChanged, TurnBegun
from laguna_tui.store.journal_lines import JOURNAL, read_journal
from laguna_tui.store.session_journal import SessionJournal
from laguna_tui.store.session_store import SessionStore
from tests.app.store.kept_sessions import kept, turn

# What the journal and its blobs ask of the disk. `open` is that of files which are written.
CALLS = ("open", "mkdir", "pwrite", "fsync", "ftruncate")
BLOBS = [b"small", b"noise" * 2000, os.urandom(3000)]


@pytest.fixture(autouse=True)
def only_what_a_test_does_tries_again(monkeypatch):
    monkeypatch.setattr(session_journal, "_RETRY_S", 3600.0)


def write_session(journal):
    """Append what a short session has; returns the events, in their order."""
    events = []
    for number in range(8):
        blob = (journal.put_blob(BLOBS[number // 2 % 3]),) if number % 2 else ()
        event = ConversationChanged(calls=number, opening="x" * (number * 40), notes=blob)
        journal.append(event, durable=number % 3 == 0)
        events.append(event)
    return events


def check_whole(journal, events):
    """The journal on disk is what was appended, and nothing is said to fail."""
    assert journal.retry()
    assert journal.failing == ""
    found = list(read_journal(journal.folder / JOURNAL))
    assert found == list(journal.read())
    assert found[-1].end == journal.end == (journal.folder / JOURNAL).stat().st_size
    assert isinstance(found[0].event, Began)
    assert [structs.replace(line.event, time=0.0) for line in found[1:]] == events
    for event in events:
        assert all(journal.blob(name) in BLOBS for name in event.notes)
    journal.close()
    again = SessionJournal.open(journal.folder)
    assert (again.notice, again.failing) == ("", "")
    again.close()


class FailingDisk:
    """Refuses what is asked of the disk: from one request on, for this many, and writes the half of what is written."""

    def __init__(self, monkeypatch, first=None, count=1, error=errno.ENOSPC):
        self.requests = 0
        self._first, self._count, self._error = first, count, error
        for name in CALLS:
            monkeypatch.setattr(os, name, self._guarded(name, getattr(os, name)))

    def _guarded(self, name, real):
        def call(*args, **more):
            if name == "open" and not args[1] & (os.O_RDWR | os.O_WRONLY):
                return real(*args, **more)
            self.requests += 1
            if self._first is None or not self._first <= self.requests < self._first + self._count:
                return real(*args, **more)
            if name == "pwrite":
                real(args[0], args[1][: len(args[1]) // 2], args[2])
            raise OSError(self._error, os.strerror(self._error))

        return call


def requests_of_a_session(tmp_path, monkeypatch):
    """How many requests a whole session makes."""
    with monkeypatch.context() as patched:
        disk = FailingDisk(patched)
        journal = SessionJournal.create(tmp_path / "counted", "/shop")
        write_session(journal)
        requests = disk.requests
        journal.close()
    return requests


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("count", [1, 2, 10_000])
def test_nothing_is_lost_whichever_request_the_disk_refuses(tmp_path, monkeypatch, error, count):
    total = requests_of_a_session(tmp_path, monkeypatch)
    assert total > 20
    for first in range(1, total + 1):
        with monkeypatch.context() as patched:
            disk = FailingDisk(patched, first, count, error)
            journal = SessionJournal.create(tmp_path / f"{first}", "/shop")
            events = write_session(journal)
            assert disk.requests >= first
            if count > total:
                assert os.strerror(error).lower() in journal.failing
                assert not journal.retry()
        check_whole(journal, events)


@contextmanager
def largest_file(size):
    """Files of this process cannot grow beyond a size meanwhile, as on a disk with a quota."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_nothing_is_lost_at_whichever_byte_a_quota_ends(tmp_path):
    counted = SessionJournal.create(tmp_path / "counted", "/shop")
    write_session(counted)
    sizes = {path.stat().st_size for path in counted.folder.rglob("*") if path.is_file()}
    counted.close()
    for size in sorted({*range(0, max(sizes) + 200, 61), *(each + near for each in sizes for near in (-1, 0, 1))}):
        with largest_file(size):
            journal = SessionJournal.create(tmp_path / f"{size}", "/shop")
            events = write_session(journal)
            failing = journal.failing
        assert bool(failing) == (size < max(sizes)), (size, sizes, failing)
        if failing:
            assert "file too large" in failing
        check_whole(journal, events)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB."""
    if os.geteuid() or shutil.which("mount") is None:
        pytest.skip("only root mounts")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(disk, name="filler"):
    """Use all room of a disk."""
    with (disk / name).open("ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 1000)
        except OSError as error:
            assert error.errno == errno.ENOSPC


@pytest.mark.parametrize("after", range(9))
def test_a_full_disk(small_disk, after):
    """after: how many events are appended before it is full."""
    sessions = small_disk / "sessions"
    if after == 0:
        fill(small_disk)
    journal = SessionJournal.create(sessions, "/shop")
    events = []
    for number in range(200):
        if number == after:
            fill(small_disk)
        blob = journal.put_blob(b"%d" % number * 500)
        event = ConversationChanged(calls=number, opening="y" * 150, notes=(blob,))
        events.append(event)
        journal.append(event, durable=number % 5 == 0)
    assert "no space left on device" in journal.failing
    assert len(list(journal.read())) == len(events) + 1
    assert SessionStore(small_disk, small_disk).search("anything") == []
    (small_disk / "filler").unlink()
    assert journal.retry()
    BLOBS.extend(b"%d" % number * 500 for number in range(200))
    check_whole(journal, events)
    del BLOBS[3:]


def test_a_session_on_a_read_only_disk_is_read_and_written_once_the_disk_is_writable(small_disk):
    session = kept(small_disk / "sessions", ("message", "the needle"))
    folder = small_disk / "sessions" / session
    with (folder / JOURNAL).open("ab") as file:
        file.write(b'{"event":"torn')
    size = (folder / JOURNAL).stat().st_size
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    store = SessionStore(small_disk, small_disk)
    assert [each.id for each in store.search("needle")] == [session]
    journal = SessionJournal.open(folder)
    journal.append(turn(2))
    name = journal.put_blob(b"blob")
    assert "read-only file system" in journal.failing
    assert journal.blob(name) == b"blob"
    assert [type(line.event) for line in journal.read()][-2:] == [Closed, TurnBegun]
    assert (folder / JOURNAL).stat().st_size == size
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert journal.retry()
    assert journal.failing == ""
    journal.close()
    assert [type(line.event) for line in read_journal(folder / JOURNAL)][-2:] == [TurnBegun, Closed]
    again = SessionJournal.open(folder)
    assert again.blob(name) == b"blob"
    again.close()


def test_copies_and_titles_need_room_and_say_so(small_disk):
    session = kept(small_disk / "sessions", ("message", "x" * 100_000))
    store = SessionStore(small_disk, small_disk)
    fill(small_disk)
    for action in (lambda: store.fork(session), lambda: store.rename(session, "z" * 10_000)):
        with pytest.raises(session_journal.JournalError, match="no space left on device"):
            action()
    assert [each.title for each in store.newest()] == ["message"]
    assert [child.name for child in (small_disk / "sessions").iterdir() if child.is_dir()] == [session]
    assert store.delete([session]) > 100_000
    assert store.newest() == []
