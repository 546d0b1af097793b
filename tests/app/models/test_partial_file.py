"""A file on its way survives kills, torn journals and damaged disks; what it keeps is always a true beginning."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_tui.models.partial_file import PartialFile, journal_path, partial_bytes, partial_path
from laguna_tui.models.records import SHA256, Digest, RemoteFile
from tests.app.odd_files import huge, odd

DATA = bytes(range(256)) * 8


def remote(data: bytes = DATA) -> RemoteFile:
    digest = Digest(SHA256, len(data))
    digest.update(data)
    return RemoteFile("model.gguf", len(data), digest.fingerprint)


def nothing(count: int) -> None:
    """Nobody asks how far the hashing is."""


def part(folder, wanted: RemoteFile | None = None) -> PartialFile:
    return PartialFile(folder / "model.gguf", "a/b", wanted or remote(), every=256)


def killed_after(folder, count: int) -> None:
    """What a kill leaves: bytes that no checkpoint speaks of are there too."""
    killed = part(folder)
    killed.recover(nothing)
    for start in range(0, count, 100):
        killed.write(DATA[start : min(start + 100, count)])
    killed._file.close()


def test_a_killed_writer_loses_only_what_came_after_the_last_checkpoint(tmp_path):
    killed_after(tmp_path, 1000)
    with part(tmp_path) as again:
        again.recover(nothing)
        assert again.have == 900
        again.write(DATA[900:])
        assert again.fingerprint == remote().etag


def test_a_closed_writer_loses_nothing(tmp_path):
    with part(tmp_path) as first:
        first.recover(nothing)
        first.write(DATA[:1001])
    assert partial_bytes(tmp_path / "model.gguf") == 1001
    with part(tmp_path) as again:
        again.recover(nothing)
        assert again.have == 1001


def test_damage_on_the_disk_costs_what_lies_behind_it(tmp_path):
    killed_after(tmp_path, 1000)
    path = partial_path(tmp_path / "model.gguf")
    data = bytearray(path.read_bytes())
    data[700] ^= 1
    path.write_bytes(data)
    with part(tmp_path) as again:
        again.recover(nothing)
        assert 0 < again.have <= 700
        again.write(DATA[again.have :])
        assert again.fingerprint == remote().etag


@pytest.mark.parametrize("change", ["other file", "no journal", "no part", "journal is noise"])
def test_what_is_not_known_to_be_this_file_is_not_continued(tmp_path, change):
    killed_after(tmp_path, 1000)
    base = tmp_path / "model.gguf"
    wanted = remote()
    if change == "other file":
        wanted = remote(DATA[::-1])
    elif change == "no journal":
        journal_path(base).unlink()
    elif change == "no part":
        partial_path(base).unlink()
    else:
        journal_path(base).write_bytes(b"\xff\x00[{")
    with part(tmp_path, wanted) as again:
        again.recover(nothing)
        assert again.have == 0
    assert partial_path(base).stat().st_size == 0


def test_a_link_in_place_of_the_part_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    partial_path(tmp_path / "model.gguf").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic"):
        part(tmp_path).recover(nothing)
    assert precious.read_text() == "mine"


def test_a_finished_part_has_its_name_and_nothing_else_is_left(tmp_path):
    with part(tmp_path / "partial") as whole:
        whole.recover(nothing)
        whole.write(DATA)
        whole.finish(tmp_path / "deep" / "model.gguf")
    assert (tmp_path / "deep" / "model.gguf").read_bytes() == DATA
    assert list((tmp_path / "partial").iterdir()) == []


lines = st.one_of(
    st.binary(max_size=40),
    st.builds(
        lambda size, value: json.dumps({"bytes": size, "hash": value}).encode(),
        st.integers(-10, 5000) | st.text(max_size=3),
        st.text(max_size=70) | st.integers(),
    ),
)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=3000), st.lists(lines, max_size=5), st.booleans())
def test_whatever_a_crash_left_only_a_true_beginning_is_kept(tmp_path_factory, content, rest, known):
    folder = tmp_path_factory.mktemp("part")
    base = folder / "model.gguf"
    killed_after(folder, 600)
    head, *checkpoints = journal_path(base).read_bytes().splitlines()
    journal_path(base).write_bytes(b"\n".join([head, *(checkpoints if known else []), *rest]))
    partial_path(base).write_bytes(DATA[:500] + content)
    with part(folder) as again:
        again.recover(nothing)
        assert partial_path(base).read_bytes() == DATA[: again.have]
        again.write(DATA[again.have :])
        assert again.fingerprint == remote().etag


@pytest.mark.timeout(30)
@odd
def test_a_journal_that_is_no_small_file_is_not_waited_for_nor_replaced_by_a_file(tmp_path, make):
    journal = journal_path(tmp_path / "model.gguf")
    make(journal)
    assert partial_bytes(tmp_path / "model.gguf") == 0
    with part(tmp_path) as opened:
        if make is not huge:
            before = journal.lstat()
            with pytest.raises(OSError, match="it is not a regular file"):
                opened.recover(nothing)
            assert journal.lstat() == before
            return
        opened.recover(nothing)
        opened.write(DATA)
    assert partial_bytes(tmp_path / "model.gguf") == len(DATA)
