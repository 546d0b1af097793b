"""The store calls a model whole when every one of its files was checked and is there, and never otherwise."""

import hashlib
from dataclasses import replace

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.models.catalogue import load_catalogue, resolve
from laguna_tui.models.model_selection import TRAINED_FOR, drafter_of, weights_doubt
from laguna_tui.models.partial_file import DownloadLock
from laguna_tui.models.records import (
    SHA256,
    FileRecord,
    Fingerprint,
    RemoteFile,
    RepositoryListing,
    read_json,
)
from laguna_tui.models.store import ModelState, Store
from tests.app.odd_files import odd
from tests.engine import drafters

DATA = b"GGUF and so on"
ETAG = Fingerprint(SHA256, hashlib.sha256(DATA).hexdigest())


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def entry():
    known = load_catalogue()["xs-2.1"]
    return replace(known, source=replace(known.source, sha256=None, size=len(DATA)))


@pytest.fixture
def drafter():
    return load_catalogue()["xs-2.1-dflash-gguf"]


def put(store: Store, entry, *names: str) -> None:
    """What a download leaves."""
    for name in names:
        path = store.final_path(entry.source, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(DATA)
        store.save_record(entry.source, FileRecord(entry.source.repository, "c0", name, len(DATA), ETAG))


def test_a_bundled_model_is_where_it_ships(store):
    nano = load_catalogue()["nano"]
    status = store.status(nano)
    assert (status.state, status.path) == (ModelState.BUNDLED, nano.path)
    assert status.bytes_have == status.bytes_total == nano.path.stat().st_size


def test_nothing_is_missing_with_its_known_size(store, entry):
    status = store.status(entry)
    assert (status.state, status.path, status.bytes_have, status.bytes_total) == (
        ModelState.MISSING,
        None,
        0,
        len(DATA),
    )


def test_a_checked_file_is_a_model(store, entry):
    put(store, entry, entry.source.files[0])
    status = store.status(entry)
    assert (status.state, status.bytes_have) == (ModelState.COMPLETE, len(DATA))
    assert status.path == store.final_path(entry.source, entry.source.files[0])


@pytest.mark.parametrize("fault", ["no record", "cut", "other version", "damaged record", "record of another file"])
def test_an_unchecked_file_is_not_a_model(store, entry, fault):
    name = entry.source.files[0]
    put(store, entry, name)
    record = next((store.folder / "poolside--Laguna-XS-2.1-GGUF" / ".records").glob("*.json"))
    if fault == "no record":
        record.unlink()
    elif fault == "cut":
        store.final_path(entry.source, name).write_bytes(DATA[:-1])
    elif fault == "other version":
        entry = replace(entry, source=replace(entry.source, sha256="ab" * 32))
    elif fault == "damaged record":
        record.write_text(record.read_text()[:-9])
    else:
        record.write_text(record.read_text().replace(name, "other.gguf"))
    assert store.path(entry) is None
    assert store.status(entry).state is ModelState.MISSING


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"commit": 1, "files": []}', '{"files": [1]}', "[" * 100_000])
def test_a_damaged_record_counts_as_missing(tmp_path, text):
    path = tmp_path / "record.json"
    path.write_text(text)
    assert read_json(path, FileRecord) is None
    assert read_json(path, RepositoryListing) is None


def test_a_model_of_several_files_is_whole_with_all_of_them(store, entry):
    entry = replace(entry, source=replace(entry.source, files=("a.gguf", "b.gguf")))
    put(store, entry, "a.gguf")
    assert store.status(entry).state is ModelState.PARTIAL
    put(store, entry, "b.gguf")
    assert store.path(entry) == store.final_path(entry.source, "a.gguf")


def test_files_whose_names_the_catalogue_does_not_know_are_known_once_the_hub_was_asked(store, drafter):
    name = "dflash-Q8_0.gguf"
    put(store, drafter, name)
    assert store.path(drafter) is None
    store.save_listing(drafter, RepositoryListing("c0", (RemoteFile(name, len(DATA), ETAG),)))
    assert store.path(drafter) == store.final_path(drafter.source, name)


def test_safetensors_are_not_a_drafter_until_they_are_converted(store):
    drafter = load_catalogue()["xs-2.1-dflash"]
    files = ("model.safetensors", "config.json")
    store.save_listing(drafter, RepositoryListing("c0", tuple(RemoteFile(name, len(DATA), ETAG) for name in files)))
    put(store, drafter, *files)
    assert store.status(drafter).state is ModelState.PARTIAL
    put(store, drafter, "xs-2.1-dflash.gguf")
    assert store.path(drafter) == store.final_path(drafter.source, "xs-2.1-dflash.gguf")


def test_a_downloaded_model_is_found_by_its_name_with_its_drafter(store, drafter):
    catalogue = load_catalogue()
    target = catalogue["xs-2.1"]
    catalogue["xs-2.1"] = replace(target, source=replace(target.source, sha256=None))
    put(store, target, target.source.files[0])
    assert resolve("xs-2.1", catalogue, store).drafter is None
    store.save_listing(drafter, RepositoryListing("c0", (RemoteFile("d-Q8_0.gguf", len(DATA), ETAG),)))
    put(store, drafter, "d-Q8_0.gguf")
    found = resolve("xs-2.1", catalogue, store)
    assert found.path == store.final_path(target.source, target.source.files[0])
    assert found.drafter == store.final_path(drafter.source, "d-Q8_0.gguf")


def test_a_known_model_that_is_not_here_names_the_command_that_gets_it(store):
    with pytest.raises(UserError) as error:
        resolve("xs-2.1", load_catalogue(), store)
    assert str(error.value) == (
        "Laguna XS 2.1 is not on this machine; download it (laguna-tui models download xs-2.1), or pass the path of "
        "its GGUF: --model FILE.gguf"
    )


def test_verify_reads_the_bytes_and_deletes_the_record_of_a_changed_file(store, entry):
    put(store, entry, entry.source.files[0])
    assert [checked.problem for checked in store.verify(entry)] == [""]
    path = store.path(entry)
    path.write_bytes(DATA[::-1])
    assert store.path(entry) == path
    (checked,) = store.verify(entry)
    assert "has changed since the download; run: laguna-tui models download xs-2.1" in checked.problem
    assert store.path(entry) is None


def test_remove_deletes_everything_and_returns_the_bytes(store, entry):
    put(store, entry, entry.source.files[0])
    assert store.remove(entry) == len(DATA)
    assert store.status(entry).state is ModelState.MISSING
    assert not store.final_path(entry.source, entry.source.files[0]).exists()
    assert store.remove(entry) == 0


def test_a_file_in_the_hubs_own_cache_is_only_forgotten(store, entry, tmp_path):
    cached = tmp_path / "cached.gguf"
    cached.write_bytes(DATA)
    name = entry.source.files[0]
    store.save_record(entry.source, FileRecord(entry.source.repository, "c0", name, len(DATA), ETAG, str(cached)))
    assert store.path(entry) == cached
    assert store.remove(entry) == 0
    assert cached.read_bytes() == DATA
    assert store.path(entry) is None


def test_what_is_being_downloaded_is_not_removed(store, entry):
    name = entry.source.files[0]
    put(store, entry, name)
    with DownloadLock(store.partial_base(entry.source, name)) as lock:
        assert lock.acquire()
        with pytest.raises(UserError, match=r"is being downloaded by another laguna-tui \(process \d+\)"):
            store.remove(entry)
    assert store.path(entry) is not None


def test_a_drafter_of_the_catalogue_is_chosen_by_its_name(store, drafter):
    catalogue = load_catalogue()
    target, int4 = catalogue["xs-2.1"], catalogue["xs-2.1-dflash-int4"]
    for each, name in ((drafter, "d-Q8_0.gguf"), (int4, "xs-2.1-dflash-int4.gguf")):
        store.save_listing(each, RepositoryListing("c0", (RemoteFile(name, len(DATA), ETAG),)))
        put(store, each, name)
    by_itself = replace(target, drafter=store.path(drafter))
    assert drafter_of(Settings(), by_itself, store) == store.path(drafter)
    assert drafter_of(Settings(drafter="xs-2.1-dflash-int4"), by_itself, store) == store.path(int4)
    assert drafter_of(Settings(drafter="none"), by_itself, store) is None


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("xs-2.1-dflash-int4", "not on this machine; run: laguna-tui models download xs-2.1-dflash-int4"),
        (
            "xs-2.1-dflsh",
            r"no such file; give the path of a GGUF, a drafter of the catalogue \(xs-2.1-dflash, .*or none",
        ),
        ("xs-2.1", "no such file"),
    ],
)
def test_a_drafter_that_is_not_here_is_an_error(store, wanted, sentence):
    with pytest.raises(UserError, match=f"--drafter {wanted}: {sentence}"):
        drafter_of(Settings(drafter=wanted), load_catalogue()["xs-2.1"], store)


@pytest.mark.timeout(30)
@odd
def test_a_record_that_is_not_a_small_file_counts_as_missing(tmp_path, make):
    make(tmp_path / "record.json")
    assert read_json(tmp_path / "record.json", FileRecord) is None
    assert read_json(tmp_path / "record.json", RepositoryListing) is None


def test_a_drafter_for_other_weights_is_reported(store):
    catalogue = load_catalogue()
    entry, other, own = catalogue["xs-2.1"], catalogue["xs-2.1-dflash-gguf"], catalogue["xs.2-dflash-lucebox"]
    for drafter, name in ((other, "a-Q8_0.gguf"), (own, "b.gguf")):
        put(store, drafter, name)
        path = store.final_path(drafter.source, name)
        path.write_bytes(drafter_file())
        record = FileRecord(
            drafter.source.repository, "c0", name, path.stat().st_size, Fingerprint(SHA256, sha256_of(path))
        )
        store.save_record(drafter.source, record)
        store.save_listing(drafter, RepositoryListing("c0", (RemoteFile(name, record.size, record.etag),)))
    assert weights_doubt(entry, store.path(other), store) == ""
    assert weights_doubt(entry, store.path(own), store) == (
        "b.gguf was trained for poolside/Laguna-XS.2, and Laguna XS 2.1 is made of poolside/Laguna-XS-2.1: fewer "
        "drafts may be accepted, which costs speed and never changes an answer"
    )


@pytest.mark.parametrize(
    ("trained_for", "weights", "same"),
    [("a/b", "a/b", True), ("a/b@" + "0" * 40, "a/b", True), ("a/b@" + "0" * 40, "a/b@" + "1" * 40, False)],
)
def test_a_converted_drafter_says_what_it_was_trained_for(tmp_path, store, trained_for, weights, same):
    path = tmp_path / "drafter.gguf"
    path.write_bytes(drafter_file(trained_for))
    entry = replace(load_catalogue()["xs-2.1"], weights=weights)
    assert (weights_doubt(entry, path, store) == "") is same


def drafter_file(trained_for: str = "") -> bytes:
    file = drafters.make(drafters.LAGUNA)
    return (file.set(TRAINED_FOR, trained_for) if trained_for else file).to_bytes()


def sha256_of(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
