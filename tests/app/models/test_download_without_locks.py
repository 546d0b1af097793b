"""Downloads to a disk whose locks exclude nobody, as some network disks: what is done is there."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from laguna_tui.models import download
from laguna_tui.models.download import Download, DownloadOutcome
from laguna_tui.models.download_errors import DownloadError
from laguna_tui.models.partial_file import DownloadLock, left_files, size_of
from laguna_tui.models.store import ModelState, Store
from tests.app.models.loopback_hub import LoopbackHub, Repository, Stall
from tests.app.models.sample_model import DATA, FILE, model, part
from tests.app.models.test_download import on_a_thread, until

Get = Callable[..., Download]


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)


@pytest.fixture
def base(store: Store) -> Path:
    return store.partial_base(model().source, FILE)


def own_parts(base: Path) -> list[Path]:
    """Partial files that processes took for themselves."""
    return sorted(set(left_files(base)) - set(left_files(base, private=False)))


def test_a_lock_says_whether_it_excludes_others(base: Path):
    with DownloadLock(base) as lock:
        assert lock.acquire()
        assert lock.excludes_others


def test_a_lock_that_does_not_work_is_noticed(base: Path, no_locks):
    with DownloadLock(base) as lock:
        assert lock.acquire()
        assert not lock.excludes_others


def test_of_two_downloads_at_once_both_are_done_and_the_model_is_there(
    get: Get, hub: LoopbackHub, store, base, no_locks
):
    hub.faults["storage"] = [Stall(180_000)]
    first, results = on_a_thread(get(retry_policy=None))
    until(lambda: own_parts(base))
    second, more = on_a_thread(get())
    second.join(20)
    assert more == [DownloadOutcome.DONE]
    assert store.path(model()).read_bytes() == DATA
    hub.go_on.set()
    first.join(20)
    assert results == [DownloadOutcome.DONE]
    assert store.path(model()).read_bytes() == DATA
    assert list(base.parent.glob("*.part")) == []


def test_a_download_that_was_paused_is_resumed(get: Get, hub: LoopbackHub, store: Store, base: Path, no_locks):
    hub.faults["storage"] = [Stall(180_000)]
    paused = get(retry_policy=None)
    thread, results = on_a_thread(paused)
    until(lambda: [own for own in own_parts(base) if size_of(own) == 180_000])
    paused.pause()
    thread.join(20)
    assert results == [DownloadOutcome.PAUSED]
    assert store.status(model()).state is ModelState.PARTIAL
    assert own_parts(base) == []
    assert get().run() is DownloadOutcome.DONE
    assert hub.asked("storage")[-1].start == 180_000
    assert store.path(model()).read_bytes() == DATA


@pytest.mark.parametrize(("age_s", "start"), [(7200, 100_000), (0, 0)], ids=["abandoned", "being written"])
def test_what_a_killed_process_left_is_resumed_after_an_hour(
    get: Get, hub: LoopbackHub, store: Store, base: Path, no_locks, age_s: int, start: int
):
    left = part(store).with_name(f"{part(store).stem}.0123abcd.part")
    left.parent.mkdir(parents=True)
    left.write_bytes(DATA[:100_000])
    then = left.stat().st_mtime - age_s
    os.utime(left, (then, then))
    assert get().run() is DownloadOutcome.DONE
    assert (hub.asked("storage")[-1].start or 0) == start
    assert left.exists() is not bool(age_s)
    store.remove(model())
    assert left_files(base) == []


def test_a_file_that_another_process_took_is_an_error_and_stays_theirs(get: Get, hub: LoopbackHub, store: Store, base):
    """A lock may exclude the processes of this machine, and none of another one."""
    hub.faults["storage"] = [Stall(180_000)]
    thread, results = on_a_thread(get(retry_policy=None))
    until(lambda: size_of(part(store)) == 180_000)
    part(store).rename(base.with_name("theirs"))
    hub.go_on.set()
    thread.join(20)
    assert [str(error) for error in results] == [
        f"{model().source.repository}/{FILE}: another laguna-tui is downloading it too, which this disk's locks do not"
        " prevent; wait until it has ended, then run the same command again"
    ]
    assert (base.parent / "theirs").exists()


def test_only_a_file_that_is_there_is_reported_as_done(get: Get, store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(download, "finish", lambda part, target: part.unlink())
    with pytest.raises(DownloadError) as caught:
        get().run()
    said = f"its download finished, but its file is no longer in {store.folder}; run the same command again"
    assert str(caught.value) == f"{model().title}: {said}"


def test_of_two_conversions_at_once_both_are_done(get: Get, hub: LoopbackHub, store: Store, no_locks):
    hub.repositories["a/dflash"] = Repository({"model.safetensors": DATA})
    drafter = model("*.safetensors", repository="a/dflash", name="dflash", convert=True)
    targets: list[Path] = []

    def converter(paths, target: Path, step, origin) -> None:
        targets.append(target)
        target.write_bytes(b"whole")
        if len(targets) == 1:
            assert get(drafter, converter=converter).run() is DownloadOutcome.DONE

    assert get(drafter, converter=converter).run() is DownloadOutcome.DONE
    assert len(set(targets)) == 2
    assert store.path(drafter).read_bytes() == b"whole"
    assert not any(target.exists() for target in targets)
