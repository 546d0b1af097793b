"""A partial file is continued only as the beginning of the file with the hash in its name."""

import json

import pytest

from laguna_tui.models.download import DownloadOutcome
from laguna_tui.models.download_errors import DownloadError
from laguna_tui.models.partial_file import (
    DownloadLock,
    finish,
    left_files,
    own_part,
    partial_bytes,
    partial_path,
    size_of,
)
from laguna_tui.models.records import SHA256, Fingerprint
from tests.app.models.sample_model import DATA, FILE, REPOSITORY, model, part
from tests.app.odd_files import odd

ETAG = Fingerprint(SHA256, "ab" * 32)


@pytest.fixture
def base(store):
    """Of the model's file."""
    base = store.partial_base(model().source, FILE)
    base.parent.mkdir(parents=True)
    return base


def taken(base, etag=ETAG) -> bytes | None:
    """What a download of the file with this hash would continue."""
    with DownloadLock(base) as lock:
        assert lock.acquire()
        with own_part(base, etag, lock) as own:
            return own.read_bytes() if own.exists() else None


def journal(base, etag: Fingerprint = ETAG) -> None:
    """What version 0.1 wrote beside `NAME.part`."""
    head = {"repository": "a/b", "file": FILE, "size": 9, "etag": etag.value, "kind": etag.kind}
    lines = [head, {"bytes": 4, "hash": "cd" * 32}]
    base.with_name(f"{base.name}.journal").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_what_version_0_1_left_is_continued(base):
    partial_path(base, None).write_bytes(b"half")
    journal(base)
    assert partial_bytes(base, ETAG) == 4
    assert taken(base) == b"half"
    assert left_files(base) == [partial_path(base, ETAG)]


@pytest.mark.parametrize("change", ["other file", "no journal", "no part", "journal is noise"])
def test_what_is_not_known_to_be_this_file_is_removed(base, change):
    partial_path(base, None).write_bytes(b"half")
    journal(base, Fingerprint(SHA256, "ba" * 32) if change == "other file" else ETAG)
    if change == "no journal":
        base.with_name(f"{base.name}.journal").unlink()
    elif change == "no part":
        partial_path(base, None).unlink()
    elif change == "journal is noise":
        base.with_name(f"{base.name}.journal").write_bytes(b"\xff\x00[{")
    assert taken(base) is None
    assert left_files(base) == []


def test_the_part_of_another_version_is_removed(base):
    partial_path(base, Fingerprint(SHA256, "ba" * 32)).write_bytes(b"old")
    partial_path(base, ETAG).write_bytes(b"new")
    other = base.with_name(f"{FILE}2.{'0' * 16}.part")
    other.write_bytes(b"of another file")
    assert taken(base) == b"new"
    assert left_files(base) == [partial_path(base, ETAG)]
    assert other.exists()


@odd
@pytest.mark.timeout(30)
def test_a_journal_that_is_not_a_small_file_is_ignored(base, make):
    make(base.with_name(f"{base.name}.journal"))
    assert taken(base) is None


def test_damage_inside_costs_the_whole_file_and_never_becomes_a_model(get, hub, store):
    part(store).parent.mkdir(parents=True)
    part(store).write_bytes(DATA[:1000] + b"damage" + DATA[1006:200_000])
    with pytest.raises(DownloadError, match="do not have the published hash"):
        get().run()
    assert size_of(part(store)) == 0
    assert get().run() is DownloadOutcome.DONE
    assert [request.start for request in hub.asked("storage")] == [200_000, 0]


def test_a_part_that_is_too_long_is_restarted(get, hub, store):
    part(store).parent.mkdir(parents=True)
    part(store).write_bytes(DATA + b"more")
    assert get().run() is DownloadOutcome.DONE
    assert [request.start for request in hub.asked("storage")] == [0]


def test_an_empty_file_is_downloaded(get, hub, store):
    hub.repositories[REPOSITORY].files["empty.txt"] = b""
    empty = model("empty.txt")
    assert get(empty).run() is DownloadOutcome.DONE
    assert store.path(empty).read_bytes() == b""


def test_a_link_in_place_of_the_part_is_not_followed(get, store, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    part(store).parent.mkdir(parents=True)
    part(store).symlink_to(precious)
    with pytest.raises(DownloadError, match="symbolic"):
        get().run()
    assert precious.read_text() == "mine"


def test_a_finished_part_has_its_name_and_nothing_else_is_left(base, tmp_path):
    partial_path(base, ETAG).write_bytes(DATA)
    finish(partial_path(base, ETAG), tmp_path / "deep" / "model.gguf")
    assert (tmp_path / "deep" / "model.gguf").read_bytes() == DATA
    assert list(base.parent.iterdir()) == []
