"""A session's journal gives back what was appended, cuts what was torn, and never stops for what the disk does."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from msgspec import structs

from laguna_tui.base.locked_file import is_locked
from laguna_tui.store import session_journal
from laguna_tui.store.events import Began, Blob, Closed, Shown, TurnBegun, TurnEnded
from laguna_tui.store.journal_lines import JOURNAL, JournalError, encoded_group, read_journal
from laguna_tui.store.session_journal import SessionJournal, SessionLockedError
from tests.app.store.kept_sessions import turn

HOSTILE = Shown(
    events=(
        {
            "text": "\x1b]0;owned\x07 \u202eevil\u2066 \r\n\0 <script>alert(1)</script> [red]x[/] \u2028 \ud800 \udcff",
            "nested": {"list": [1, 2.5, None, True, {"ä": "ö"}], "large": 2**70},
        },
    )
)


@pytest.fixture
def journal(tmp_path):
    made = SessionJournal.create(tmp_path / "sessions", "/shop", "0.1")
    yield made
    made.close()


def events(lines):
    """What lines say, without the time."""
    return [structs.replace(line.event, time=0.0) for line in lines]


def numbers(lines):
    """The numbers of the turns."""
    return [line.event.number for line in lines if isinstance(line.event, TurnBegun)]


def test_what_is_appended_is_read_in_its_order(journal):
    journal.append(turn(1))
    journal.append(HOSTILE, durable=True)
    header, *rest = events(journal.read())
    assert header == Began(version=1, id=journal.id, folder="/shop", app="0.1")
    assert rest == [turn(1), HOSTILE]


def test_every_line_has_a_place_from_which_reading_can_begin(journal):
    for number in range(50):
        journal.append(turn(number, "x" * number))
    places = list(journal.read())
    assert [line.start for line in places[1:]] == [line.end for line in places[:-1]]
    assert places[-1].end == journal.end
    assert list(journal.read(places[20].start, places[30].end)) == places[20:31]


def test_folder_and_files_are_the_users_alone(journal):
    journal.put_blob(b"x")
    assert stat.S_IMODE(journal.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(journal.folder.parent.stat().st_mode) == 0o700
    for path in (journal.folder / JOURNAL, journal.folder / "blobs/objects.pack"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_session_continues_where_it_was_closed(journal):
    name = journal.put_blob(b"attached" * 1000)
    journal.append(TurnBegun(number=1, message=Blob(name)))
    journal.close("quit")
    again = SessionJournal.open(journal.folder)
    again.append(turn(2))
    assert list(map(type, events(again.read()))) == [Began, TurnBegun, Closed, TurnBegun]
    assert again.blob(name) == b"attached" * 1000
    assert not again.notice
    assert not again.failing
    again.close()
    assert events(read_journal(journal.folder / JOURNAL))[-1] == Closed(reason="")


def test_after_close_nothing_is_written(journal):
    journal.close("quit")
    size = (journal.folder / JOURNAL).stat().st_size
    journal.append(turn(1))
    journal.close("again")
    assert (journal.folder / JOURNAL).stat().st_size == size
    with pytest.raises(JournalError, match="closed"):
        list(journal.read())


def test_many_threads_append_whole_lines(journal):
    def write(writer):
        for number in range(200):
            journal.append(TurnBegun(number=number, message=f"{writer} " + "y" * (number % 97)))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turns = [line.event for line in journal.read() if isinstance(line.event, TurnBegun)]
    found = [(int(event.message.split()[0]), event.number) for event in turns]
    assert len(found) == 1200
    assert all([number for one, number in found if one == writer] == list(range(200)) for writer in range(6))


@pytest.mark.parametrize(
    "tail", [b"", b"{", b'{"event":"turn"', b"\0" * 5000, b'{"event":"turn"}'], ids=["no", "one", "part", "nuls", "all"]
)
def test_a_torn_last_line_is_cut_off_without_a_word(journal, tail):
    journal.append(turn(1))
    journal.close()
    path = journal.folder / JOURNAL
    before = path.read_bytes()
    path.write_bytes(before + tail)
    again = SessionJournal.open(journal.folder)
    assert path.read_bytes() == before
    assert not again.notice
    assert [child.name for child in journal.folder.iterdir()] == [JOURNAL]
    again.close()


@pytest.mark.parametrize(
    "damage", [b"not json\n", b'{"event": 3}\n', b"[1]\n", b"[" * 100_000 + b"\n", b"\n", b"\xff\n"]
)
def test_what_follows_damage_is_saved_beside_the_journal(journal, damage):
    journal.append(turn(1))
    journal.close()
    path = journal.folder / JOURNAL
    before, lost = path.read_bytes(), damage + b'{"event":"turn","number":2}\n'
    path.write_bytes(before + lost)
    assert len(list(read_journal(path))) == 3
    again = SessionJournal.open(journal.folder)
    assert path.read_bytes() == before
    (kept,) = journal.folder.glob("cut-*")
    assert kept.read_bytes() == lost
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert str(kept) in again.notice
    again.close()


@pytest.mark.parametrize("content", [b"", b"{", b'{"event":"turn"}\n', b'{"event":"session"}\n', b"\0" * 100])
def test_a_file_that_is_not_a_journal_is_refused_and_unchanged(tmp_path, content):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / JOURNAL).write_bytes(content)
    with pytest.raises(JournalError, match="beginning is missing or damaged"):
        SessionJournal.open(tmp_path / "one")
    assert (tmp_path / "one" / JOURNAL).read_bytes() == content
    assert not is_locked(tmp_path / "one" / JOURNAL)


def test_a_journal_of_a_later_version_is_refused_with_a_sentence(journal):
    journal.close()
    path = journal.folder / JOURNAL
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":2', 1))
    with pytest.raises(JournalError, match=r"later version of laguna-tui; update"):
        SessionJournal.open(journal.folder)


def test_a_session_that_is_not_there_is_named(tmp_path):
    with pytest.raises(JournalError, match="there is no session nobody"):
        SessionJournal.open(tmp_path / "nobody")


def test_an_open_session_is_not_opened_twice_in_one_process(journal):
    with pytest.raises(
        SessionLockedError, match=f"{journal.id} is open in another laguna-tui.*--resume {journal.id} --fork"
    ) as caught:
        SessionJournal.open(journal.folder)
    assert caught.value.id == journal.id
    journal.append(turn(1))
    assert not journal.failing


_HOLDER = """
import sys
from pathlib import Path
from laguna_tui.store.session_journal import SessionJournal
journal = SessionJournal.open(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


def test_an_open_session_is_not_opened_by_a_second_process_until_the_first_has_gone(journal):
    journal.close()
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(journal.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"open\n"
        assert is_locked(journal.folder / JOURNAL)
        with pytest.raises(SessionLockedError, match="open a copy of it"):
            SessionJournal.open(journal.folder)
        assert events(read_journal(journal.folder / JOURNAL))[0].id == journal.id
        holder.kill()
        holder.wait()
    again = SessionJournal.open(journal.folder)
    again.close()


def put_fifo(path):
    os.mkfifo(path)


def put_link(path):
    (path.parent / "elsewhere").write_bytes(encoded_group([Began(id="x", version=1)], 1.0))
    path.symlink_to("elsewhere")


def put_folder(path):
    path.mkdir()


def put_foreign(path):
    path.write_bytes(encoded_group([Began(id="x", version=1)], 1.0))
    if os.geteuid():
        pytest.skip("only root gives files away")
    os.chown(path, 12345, 12345)


@pytest.mark.parametrize("put", [put_fifo, put_link, put_folder, put_foreign])
def test_what_is_not_a_file_of_this_user_is_refused(tmp_path, put):
    (tmp_path / "one").mkdir()
    put(tmp_path / "one" / JOURNAL)
    with pytest.raises(JournalError, match="the session one cannot be read"):
        SessionJournal.open(tmp_path / "one")
    with pytest.raises(JournalError, match="the session one cannot be read"):
        list(read_journal(tmp_path / "one" / JOURNAL))


def test_a_folder_behind_a_link_is_refused(journal, tmp_path):
    journal.close()
    (tmp_path / "link").symlink_to(journal.folder)
    with pytest.raises(JournalError, match="link"):
        SessionJournal.open(tmp_path / "link")


class Disk:
    """Refuses writes while it is full: after so many bytes, some of the next write, as a real one does."""

    def __init__(self, monkeypatch):
        self.full = False
        self.room = 0
        self.error = errno.ENOSPC
        real, sync = os.pwrite, os.fsync

        def pwrite(descriptor, data, offset):
            if not self.full:
                return real(descriptor, data, offset)
            if not self.room:
                raise OSError(self.error, os.strerror(self.error))
            count = real(descriptor, data[: self.room], offset)
            self.room -= count
            return count

        def fsync(descriptor):
            if self.full:
                raise OSError(self.error, os.strerror(self.error))
            sync(descriptor)

        monkeypatch.setattr(os, "pwrite", pwrite)
        monkeypatch.setattr(os, "fsync", fsync)


@pytest.fixture
def disk(monkeypatch):
    # Only what a test does tries again.
    monkeypatch.setattr(session_journal, "_RETRY_S", 3600.0)
    return Disk(monkeypatch)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO])
@pytest.mark.parametrize("room", [0, 1, 40])
def test_what_the_disk_refuses_waits_and_is_written_when_there_is_room(journal, disk, error, room):
    journal.append(turn(1))
    disk.full, disk.room, disk.error = True, room, error
    path = journal.folder / JOURNAL
    size = path.stat().st_size
    for number in range(2, 10):
        journal.append(turn(number), durable=number % 2 == 0)
    name = journal.put_blob(b"blob")
    assert os.strerror(error).lower() in journal.failing
    assert str(journal.folder.parent) in journal.failing
    assert path.stat().st_size == size
    assert numbers(journal.read()) == list(range(1, 10))
    assert journal.blob(name) == b"blob"
    disk.full = False
    assert journal.retry()
    assert not journal.failing
    assert path.stat().st_size == journal.end
    assert list(read_journal(path)) == list(journal.read())
    assert journal.blob(name) == b"blob"


def test_places_are_the_same_while_lines_wait(journal, disk):
    disk.full = True
    start = journal.end
    journal.append(turn(1))
    middle = journal.end
    journal.append(turn(2))
    waiting = list(journal.read(middle))
    disk.full = False
    journal.append(turn(3))
    assert numbers(journal.read(start, middle)) == [1]
    assert list(journal.read(middle, waiting[0].end)) == waiting


def test_a_session_begun_on_a_full_disk_is_created_when_there_is_room(tmp_path, disk):
    disk.full = True
    journal = SessionJournal.create(tmp_path / "sessions", "/shop")
    name = journal.put_blob(b"blob")
    journal.append(TurnBegun(number=1, message=Blob(name)))
    assert "no space left" in journal.failing
    disk.full = False
    assert journal.retry()
    journal.close()
    assert list(map(type, events(read_journal(journal.folder / JOURNAL)))) == [Began, TurnBegun, Closed]
    again = SessionJournal.open(journal.folder)
    assert again.blob(name) == b"blob"
    again.close()


def test_a_session_whose_folder_cannot_be_created_continues_and_reports_it(tmp_path):
    (tmp_path / "sessions").write_text("a file")
    journal = SessionJournal.create(tmp_path / "sessions", "/shop")
    journal.append(turn(1))
    assert journal.failing
    (tmp_path / "sessions").unlink()
    assert journal.retry()
    assert not journal.failing
    journal.close()


def test_when_too_much_waits_the_journal_stops_for_good_and_says_so(tmp_path, disk):
    journal = SessionJournal.create(tmp_path / "sessions", "/shop", waiting_limit=2_000)
    disk.full = True
    for number in range(100):
        journal.append(turn(number, "x" * 50))
    assert journal.stopped
    assert "no longer saved" in journal.failing
    disk.full = False
    assert journal.retry()
    journal.append(turn(100))
    assert "no longer saved" in journal.failing
    # What was taken is the session up to there, without a gap.
    found = numbers(journal.read())
    assert found == list(range(len(found)))
    assert 5 < len(found) < 100
    assert list(read_journal(journal.folder / JOURNAL)) == list(journal.read())
    journal.close()


def test_it_tries_again_by_itself(journal, monkeypatch):
    disk = Disk(monkeypatch)
    monkeypatch.setattr(session_journal, "_RETRY_S", 0.001)
    written = threading.Event()
    real = SessionJournal.retry

    def retry(self):
        disk.full = False
        done = real(self)
        written.set()
        return done

    monkeypatch.setattr(SessionJournal, "retry", retry)
    disk.full = True
    journal.append(turn(1))
    assert written.wait(60)
    assert not journal.failing


def test_a_deleted_journal_is_noticed(journal):
    (journal.folder / JOURNAL).unlink()
    journal.append(TurnEnded(end="answered", detail=""), durable=True)
    assert "its file was deleted" in journal.failing
    assert journal.stopped


def test_damage_that_cannot_be_saved_is_not_cut_off(journal, disk, monkeypatch):
    journal.close()
    path = journal.folder / JOURNAL
    whole = path.read_bytes() + b"damage\nmore\n"
    path.write_bytes(whole)
    disk.full = True
    again = SessionJournal.open(journal.folder)
    again.append(turn(1))
    assert path.read_bytes() == whole
    assert not list(journal.folder.glob("cut-*"))
    assert again.failing
    disk.full = False
    assert again.retry()
    (kept,) = journal.folder.glob("cut-*")
    assert kept.read_bytes() == b"damage\nmore\n"
    assert events(read_journal(path))[-1] == turn(1)
    again.close()


def test_unknown_blobs_are_missing_with_a_sentence(journal):
    with pytest.raises(JournalError, match="is lost"):
        journal.blob("0" * 64)


def test_a_blob_is_read_while_another_process_has_the_session_open(journal: SessionJournal, tmp_path: Path):
    from laguna_tui.base.object_store import ObjectStore

    name = journal.put_blob(b"text")
    reader = ObjectStore(journal.folder / "blobs", read_only=True)
    assert reader.get(name) == b"text"
    reader.close()


RESUMED = "This session is no longer saved: another laguna-tui resumed it. Open a copy of it, or start a new session."


@pytest.mark.parametrize("second_wrote", [False, True], ids=["before its first line", "after lines of both"])
def test_where_locks_exclude_nobody_two_processes_never_mix_their_lines(journal, monkeypatch, second_wrote):
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)
    journal.append(turn(1), durable=True)
    other = SessionJournal.open(journal.folder)
    if second_wrote:
        other.append(turn(2), durable=True)
        first, last = other, journal
    else:
        first, last = journal, other
    first.append(turn(3), durable=True)
    last.append(turn(4), durable=True)
    assert (first.failing, last.failing) == ("", RESUMED)
    first.append(turn(5), durable=True)
    other.release()
    assert numbers(read_journal(journal.folder / JOURNAL)) == ([1, 2, 3, 5] if second_wrote else [1, 3, 5])
