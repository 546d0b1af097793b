"""A small file is read whole or refused at once, whatever is at its path, and replaced atomically."""

import contextlib
import errno
import os
import select
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from laguna_engine.files import read_small_file, replacing, write_atomically, write_output

LIMIT = 100


def refused(path, **options):
    """The reason of the refusal, which leaves no descriptor open."""
    before = psutil.Process().num_fds()
    with pytest.raises(OSError) as caught:
        read_small_file(path, LIMIT, **options)
    assert psutil.Process().num_fds() == before
    return caught.value.strerror


def test_a_file_of_exactly_the_limit_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * LIMIT)
    assert read_small_file(tmp_path / "a", LIMIT) == b"x" * LIMIT


def test_a_larger_one_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * (LIMIT + 1))
    assert refused(tmp_path / "a") == "it is larger than 100 bytes"


def test_a_file_whose_size_nobody_knows_before_is_limited_all_the_same():
    assert refused("/proc/self/smaps") == "it is larger than 100 bytes"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "socket", "zero", "folder"])
def test_what_is_no_file_is_refused_at_once(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
    path = tmp_path / "a"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind("a")
        case "zero":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
    said = refused(path)
    assert said == "it is not a regular file" or kind == "socket"


def test_a_link_is_followed_only_where_that_is_meant(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to("a")
    assert read_small_file(tmp_path / "link", LIMIT) == b"x"


def test_below_what_is_no_folder_there_is_no_file(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(FileNotFoundError):
        read_small_file(tmp_path / "a" / "b", LIMIT)
    assert refused(tmp_path / "link", follow=False)


def test_a_path_can_be_relative_to_an_open_folder(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert read_small_file("a", LIMIT, dir_fd=folder) == b"x"
    finally:
        os.close(folder)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_small_file(tmp_path / "a", LIMIT)


def test_the_check_sees_the_file_that_was_opened_and_may_refuse_it(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0o666)

    def check(status):
        if status.st_mode & stat.S_IWOTH:
            raise OSError(0, "others can write it")

    assert refused(tmp_path / "a", check=check) == "others can write it"
    (tmp_path / "a").chmod(0o600)
    assert read_small_file(tmp_path / "a", LIMIT, check=check) == b"x"


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_whole_and_only_its_owner_may_read_it(tmp_path, durable):
    path = tmp_path / "new" / "folder" / "a"
    write_atomically(path, "ä", durable=durable)
    write_atomically(path, b"\0\xff", durable=durable)
    assert path.read_bytes() == b"\0\xff"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["a"]


def test_what_cannot_be_written_leaves_the_old_bytes_and_nothing_beside_them(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write_atomically(path, b"old")

    def refuse(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new", durable=True)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def pipe(path):
    os.mkfifo(path)


def listening(path):
    """A socket; its path is short enough relative to its folder only."""
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


def device(path):
    """A device like /dev/null, which a test must never be able to replace."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.open("rb").close()
    except PermissionError:
        pytest.skip("this user may not make devices here")


special = pytest.mark.parametrize("make", [pipe, listening, device, Path.mkdir])
through_a_link = pytest.mark.parametrize("link", [False, True], ids=["itself", "through a link"])


@pytest.mark.timeout(20)
@special
@through_a_link
def test_what_is_no_file_is_neither_replaced_nor_waited_for(tmp_path, make, link):
    path = tmp_path / "a"
    make(path)
    kind = stat.S_IFMT(path.stat().st_mode)
    if link:
        (tmp_path / "link").symlink_to("a")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError) as caught:
        write_atomically(tmp_path / "link" if link else path, b"ours")
    assert caught.value.strerror == "it is not a regular file"
    assert stat.S_IFMT(path.stat().st_mode) == kind
    assert sorted(tmp_path.iterdir()) == before


def test_a_device_that_appears_while_its_file_is_written_is_not_replaced(tmp_path):
    path = tmp_path / "a"
    with pytest.raises(OSError, match="it is not a regular file"), replacing(path) as file:
        file.write(b"ours")
        os.mkfifo(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_a_file_stays_and_the_file_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/other").write_bytes(b"old")
    (tmp_path / "a").symlink_to("folder/other")
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "folder/other").read_bytes() == b"new"
    assert (tmp_path / "a").readlink() == Path("folder/other")


def test_a_link_to_a_missing_file_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("nowhere")
    with pytest.raises(OSError) as caught:
        write_atomically(tmp_path / "a", b"ours")
    assert caught.value.strerror == "it is a link to a missing file"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_two_writers_of_one_file_never_share_an_unfinished_one(tmp_path):
    path = tmp_path / "a"
    with replacing(path) as one:
        one.write(b"one" * 10_000)
        with replacing(path) as other:
            other.write(b"other")
        assert path.read_bytes() == b"other"
    assert path.read_bytes() == b"one" * 10_000
    assert list(tmp_path.iterdir()) == [path]


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("\N{GRINNING FACE}" * 63)
    write_atomically(path, b"x")
    assert path.read_bytes() == b"x"


@pytest.mark.timeout(20)
@through_a_link
def test_output_goes_into_a_pipe_that_somebody_reads(tmp_path, link):
    path, text = tmp_path / "a", "ä" * 200_000
    os.mkfifo(path)
    if link:
        (tmp_path / "link").symlink_to("a")
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with ThreadPoolExecutor(1) as writer, os.fdopen(reading, "rb") as read:
        written = writer.submit(write_output, tmp_path / "link" if link else path, text)
        select.select([reading], [], [], 10)
        os.set_blocking(reading, True)
        data = read.read()
        written.result()
    assert data.decode() == text
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.timeout(20)
def test_output_into_a_pipe_that_nobody_reads_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "a")
    with pytest.raises(OSError) as caught:
        write_output(tmp_path / "a", "x")
    assert caught.value.errno == errno.ENXIO
    assert stat.S_ISFIFO((tmp_path / "a").stat().st_mode)


def test_output_goes_to_a_device_which_stays_one(tmp_path):
    device(tmp_path / "a")
    write_output(tmp_path / "a", "x")
    assert stat.S_ISCHR((tmp_path / "a").stat().st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("make", [listening, Path.mkdir])
def test_output_to_a_socket_or_folder_is_refused(tmp_path, make):
    make(tmp_path / "a")
    with pytest.raises(OSError) as caught:
        write_output(tmp_path / "a", "x")
    assert caught.value.strerror == "it is not a regular file"


def test_an_output_file_keeps_its_permissions_and_a_new_one_gets_the_usual_ones(tmp_path):
    before = os.umask(0o027)
    try:
        write_output(tmp_path / "new", "x")
        write_output(tmp_path / "private", "x", 0o600)
        (tmp_path / "old").write_text("old")
        (tmp_path / "old").chmod(0o664)
        write_output(tmp_path / "old", "x")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"new": 0o640, "private": 0o600, "old": 0o664}
