"""A small file is read whole or refused at once, whatever is at its path, and replaced atomically."""

import os
import socket
import stat

import psutil
import pytest

from laguna_engine.files import read_small_file, write_atomically

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


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path):
    (tmp_path / "other").write_bytes(b"theirs")
    (tmp_path / "a").symlink_to("other")
    write_atomically(tmp_path / "a", b"ours")
    assert (tmp_path / "other").read_bytes() == b"theirs"
    assert not (tmp_path / "a").is_symlink()
