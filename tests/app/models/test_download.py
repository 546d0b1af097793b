"""Downloads that go well: whole files, several as one, resumed, shared, found in the hub's own cache."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from laguna_engine.gguf import drafter_header as drafter_file
from laguna_tui.base.network import Network
from laguna_tui.models import records
from laguna_tui.models.download import Download, DownloadOutcome
from laguna_tui.models.download_errors import DownloadError
from laguna_tui.models.download_progress import DownloadPhase, DownloadProgress
from laguna_tui.models.hub import Hub
from laguna_tui.models.partial_file import size_of
from laguna_tui.models.store import ModelState, Store
from tests.app.models import published
from tests.app.models.loopback_hub import Cut, Headers, LoopbackHub, Repository, Stall, sha256
from tests.app.models.sample_model import DATA, FILE, REPOSITORY, Told, model, part

Get = Callable[..., Download]


def until(holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for something that another thread or process does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def on_a_thread(download: Download) -> tuple[threading.Thread, list[object]]:
    """The download running; the list gets its outcome or error."""
    results: list[object] = []

    def work() -> None:
        try:
            results.append(download.run())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, results


def test_a_file_arrives_and_is_a_model(get: Get, store: Store):
    assert get().run() is DownloadOutcome.DONE
    status = store.status(model())
    assert (status.state, status.bytes_have, status.bytes_total) == (ModelState.COMPLETE, len(DATA), len(DATA))
    assert status.path.name == FILE
    assert status.path.read_bytes() == DATA
    assert list((status.path.parent / ".partial").glob("*.part")) == []
    record = store.record(model().source, FILE)
    assert (record.commit, record.etag.value) == (Repository({}).commit, sha256(DATA))


def test_what_is_here_is_not_asked_for_again(get: Get, hub: LoopbackHub):
    get().run()
    hub.requests.clear()
    assert get().run() is DownloadOutcome.DONE
    assert hub.requests == []


def test_a_token_opens_a_private_repository_and_never_reaches_the_storage(get: Get, hub: LoopbackHub, monkeypatch):
    hub.repositories[REPOSITORY].token = "hf_secret"
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert get().run() is DownloadOutcome.DONE
    assert [request.headers.get("authorization") for request in hub.asked("file")] == ["Bearer hf_secret"]
    assert ["authorization" in request.headers for request in hub.asked("storage")] == [False]


def test_no_telemetry_is_sent(get: Get, hub: LoopbackHub):
    get().run()
    assert not [request for request in hub.requests if "agent" in request.path]


def test_no_message_of_a_server_reaches_the_terminal(get: Get, hub: LoopbackHub, capfd):
    hub.faults["api"] = [Headers({"X-HF-Warning": "loud; \x1b]0;owned\x07 please log in"})]
    get().run()
    assert capfd.readouterr() == ("", "")


def test_several_files_are_one_download(get: Get, hub: LoopbackHub, store: Store):
    hub.repositories["a/drafter"] = Repository({"d.gguf": DATA[:50_000], "config.json": b"{}"})
    drafter = model("d.gguf", "config.json", repository="a/drafter", name="drafter")
    told = Told()
    assert get(model(), drafter, progress=told.append).run() is DownloadOutcome.DONE
    moving = [said for said in told if said.phase is DownloadPhase.TRANSFER]
    assert {said.bytes_total for said in moving} == {len(DATA) + 50_000 + 2}
    assert [said.bytes_done for said in moving] == sorted(said.bytes_done for said in moving)
    assert {said.file for said in moving} == {FILE, "d.gguf", "config.json"}
    last = told[-1]
    assert (last.phase, last.bytes_done, last.bytes_total) == (DownloadPhase.DONE, 350_002, 350_002)
    assert store.path(drafter).name == "d.gguf"


def test_a_file_that_two_models_share_comes_once(get: Get, hub: LoopbackHub):
    get(model(), model(name="other")).run()
    assert len(hub.asked("storage")) == 1


def test_a_pattern_finds_its_file(get: Get, store: Store):
    wanted = model("*Q4_K_M.gguf")
    get(wanted).run()
    assert store.path(wanted).name == FILE


def test_a_small_file_is_checked_by_gits_own_hash(get: Get, store: Store):
    readme = model("README.md")
    assert get(readme).run() is DownloadOutcome.DONE
    assert store.record(readme.source, "README.md").etag.kind == "git-sha1"


def test_an_interrupted_download_resumes_where_it_stopped(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Cut(100_000), Cut(100_000)]
    assert get().run() is DownloadOutcome.DONE
    assert [request.start for request in hub.asked("storage")] == [0, 100_000, 200_000]
    assert store.path(model()).read_bytes() == DATA


def test_a_pause_does_not_wait_for_a_silent_line_and_keeps_what_arrived(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Stall(150_000)]
    download = get(retry_policy=None)
    thread, results = on_a_thread(download)
    until(lambda: size_of(part(store)) == 150_000)
    download.pause()
    thread.join(60)
    assert results == [DownloadOutcome.PAUSED]
    status = store.status(model())
    assert (status.state, status.path, status.bytes_have) == (ModelState.PARTIAL, None, 150_000)
    assert download.run() is DownloadOutcome.DONE
    assert hub.asked("storage")[-1].start == 150_000
    assert store.path(model()).read_bytes() == DATA


def test_a_pause_does_not_wait_for_a_hub_that_is_silent(get: Get, hub: LoopbackHub):
    hub.faults["api"] = [Stall(0)]
    download = get(retry_policy=None)
    thread, results = on_a_thread(download)
    until(lambda: hub.asked("api"))
    download.pause()
    thread.join(60)
    assert results == [DownloadOutcome.PAUSED]


def test_cancelling_removes_what_arrived_and_only_that(get: Get, hub: LoopbackHub, store: Store):
    small = model("README.md", name="small")
    hub.faults["storage"] = [Stall(150_000)]
    download = get(small, model(), retry_policy=None)
    thread, results = on_a_thread(download)
    until(lambda: size_of(part(store)))
    download.cancel()
    thread.join(60)
    assert results == [DownloadOutcome.CANCELLED]
    assert store.status(model()).state is ModelState.MISSING
    assert not part(store).exists()
    assert store.status(small).state is ModelState.COMPLETE


def test_a_pause_while_the_bytes_are_checked_loses_none_of_them(
    get: Get, hub: LoopbackHub, store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(records, "_CHUNK", 1 << 16)
    download: list[Download] = []

    def told(said: DownloadProgress) -> None:
        if said.phase is DownloadPhase.VERIFY:
            download[0].pause()

    download.append(get(progress=told))
    assert download[0].run() is DownloadOutcome.PAUSED
    assert size_of(part(store)) == len(DATA)
    assert get().run() is DownloadOutcome.DONE
    assert len(hub.asked("storage")) == 1


def test_two_downloads_in_one_process_share_one_too(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Stall(180_000)]
    first, results = on_a_thread(get(retry_policy=None))
    until(lambda: size_of(part(store)))
    second, more = on_a_thread(get())
    hub.go_on.set()
    for thread in (first, second):
        thread.join(20)
    assert results == more == [DownloadOutcome.DONE]
    assert len(hub.asked("storage")) == 1


PROGRAM = """
import sys
from pathlib import Path
from tests.app.models.sample_model import model
from laguna_tui.models.download import Download
from laguna_tui.models.hub import Hub
from laguna_tui.models.store import Store
from laguna_tui.base.network import Network
url, folder = sys.argv[1:]
hub, store, cache = Hub(url, network=Network()), Store(Path(folder)), Path(folder) / "cache"
print(Download([model()], store=store, hub=hub, cache=cache).run())
"""


def another_process(hub: LoopbackHub, store: Store) -> subprocess.Popen[bytes]:
    """The same download in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, hub.url, str(store.folder)]
    root = Path(__file__).parents[3]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})


def test_a_killed_download_is_resumed_by_the_next_process(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Stall(180_000)]
    with another_process(hub, store) as process:
        until(lambda: size_of(part(store)) == 180_000)
        children = psutil.Process(process.pid).children()
        assert len(children) == 1
        process.send_signal(signal.SIGKILL)
    until(lambda: not children[0].is_running() or children[0].status() == psutil.STATUS_ZOMBIE)
    assert store.status(model()).state is ModelState.PARTIAL
    assert get().run() is DownloadOutcome.DONE
    assert hub.asked("storage")[-1].start == 180_000
    assert store.path(model()).read_bytes() == DATA


def test_two_processes_share_one_download(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Stall(180_000)]
    told = Told()
    with another_process(hub, store) as process:
        until(lambda: size_of(part(store)))
        thread, results = on_a_thread(get(progress=told.append))
        until(lambda: [said for said in told if said.phase is DownloadPhase.WAITING])
        waiting = next(said for said in told if said.phase is DownloadPhase.WAITING)
        assert waiting.note == f"another laguna-tui (process {process.pid}) is downloading it"
        assert waiting.bytes_done > 0
        hub.go_on.set()
        assert process.communicate(timeout=120)[0].strip() == b"done"
        thread.join(20)
    assert results == [DownloadOutcome.DONE]
    assert len(hub.asked("storage")) == 1


def test_a_waiting_process_takes_over_when_the_other_one_dies(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Stall(180_000)]
    told = Told()
    with another_process(hub, store) as process:
        until(lambda: size_of(part(store)))
        thread, results = on_a_thread(get(progress=told.append))
        until(lambda: [said for said in told if said.phase is DownloadPhase.WAITING])
        process.kill()
    thread.join(20)
    assert results == [DownloadOutcome.DONE]
    assert hub.asked("storage")[-1].start > 0
    assert store.path(model()).read_bytes() == DATA


def test_a_waiting_process_can_be_stopped(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Stall(180_000)]
    told = Told()
    with another_process(hub, store) as process:
        until(lambda: size_of(part(store)))
        download = get(progress=told.append)
        thread, results = on_a_thread(download)
        until(lambda: [said for said in told if said.phase is DownloadPhase.WAITING])
        download.cancel()
        thread.join(60)
        assert results == [DownloadOutcome.CANCELLED]
        assert size_of(part(store)), "it belongs to the other one"
        process.kill()


@pytest.fixture
def cached(hub: LoopbackHub, tmp_path: Path) -> Path:
    """The hub's own cache, filled by huggingface_hub itself."""
    return fill_cache(hub, tmp_path / "home", FILE)


def fill_cache(hub: LoopbackHub, home: Path, name: str) -> Path:
    """Have huggingface_hub download a file; returns its cache."""
    program = "import sys, huggingface_hub as h; print(h.hf_hub_download(sys.argv[1], sys.argv[2]))"
    environment = {
        **os.environ,
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    command = [sys.executable, "-c", program, REPOSITORY, name]
    run = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    assert Path(run.stdout.strip()).read_bytes() == hub.repositories[REPOSITORY].files[name]
    hub.requests.clear()
    return home / "hub"


def seen(folder: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times of everything in a folder."""
    return sorted((str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*"))


def test_a_file_in_the_hubs_own_cache_is_used_in_place(get: Get, hub: LoopbackHub, store: Store, cached: Path):
    before = seen(cached)
    assert get(cache=cached).run() is DownloadOutcome.DONE
    assert hub.asked("file") == hub.asked("storage") == []
    path = store.path(model())
    assert path.is_relative_to(cached)
    assert path.name == FILE
    assert seen(cached) == before


PARTS = {"a-00001-of-00002.gguf": DATA, "a-00002-of-00002.gguf": DATA[::-1]}


def test_all_parts_of_a_model_arrive_and_are_one_model(get: Get, hub: LoopbackHub, store: Store):
    hub.repositories[REPOSITORY].files.update(PARTS)
    entry = model("a-00001-of-00002.gguf")
    assert get(entry).run() is DownloadOutcome.DONE
    status = store.status(entry)
    assert (status.state, status.bytes_have, status.bytes_total) == (ModelState.COMPLETE, 2 * len(DATA), 2 * len(DATA))
    assert status.path == store.final_path(entry.source, "a-00001-of-00002.gguf")
    assert {file.name: file.path.read_bytes() for file in status.files} == PARTS
    assert [file.problem for file in store.verify(entry)] == ["", ""]
    status.files[1].path.write_bytes(DATA)
    assert [file.problem for file in store.verify(entry)] == [
        "", "it has changed since the download; run: laguna-tui models download laguna"
    ]  # fmt: skip
    assert store.status(entry).state is ModelState.PARTIAL
    assert get(entry).run() is DownloadOutcome.DONE
    assert store.remove(entry) == 2 * len(DATA)
    assert store.status(entry).state is ModelState.MISSING


def test_parts_in_the_hubs_own_cache_are_used_only_if_all_are_there(
    get: Get, hub: LoopbackHub, store: Store, tmp_path: Path
):
    hub.repositories[REPOSITORY].files.update(PARTS)
    entry = model("a-00001-of-00002.gguf")
    cache = fill_cache(hub, tmp_path / "home", "a-00002-of-00002.gguf")
    assert get(entry, cache=cache).run() is DownloadOutcome.DONE
    assert {file.path.parent for file in store.status(entry).files} == {store.final_path(entry.source, "a").parent}
    store.remove(entry)
    fill_cache(hub, tmp_path / "home", "a-00001-of-00002.gguf")
    assert get(entry, cache=cache).run() is DownloadOutcome.DONE
    assert all(file.path.is_relative_to(cache) for file in store.status(entry).files)


def test_wrong_bytes_in_the_hubs_own_cache_are_not_used(get: Get, hub: LoopbackHub, store: Store, cached: Path):
    next(cached.rglob(FILE)).write_bytes(DATA[::-1])
    assert get(cache=cached).run() is DownloadOutcome.DONE
    assert store.path(model()).read_bytes() == DATA
    assert len(hub.asked("storage")) == 1


def test_offline_the_hubs_own_cache_is_enough(get: Get, hub: LoopbackHub, store: Store, cached: Path):
    assert get(cache=cached, hub=Hub(hub.url, network=Network(offline=True))).run() is DownloadOutcome.DONE
    assert store.path(model()).read_bytes() == DATA
    assert hub.requests == []


def test_a_model_is_missing_when_the_cache_with_its_file_is_emptied(get: Get, store: Store, cached: Path):
    get(cache=cached).run()
    store.path(model()).resolve().unlink()
    assert store.status(model()).state is ModelState.MISSING


def test_a_file_that_the_user_put_in_its_place_is_checked_and_kept(get: Get, hub: LoopbackHub, store: Store):
    path = store.final_path(model().source, FILE)
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    assert store.path(model()) is None
    assert get().run() is DownloadOutcome.DONE
    assert store.path(model()) == path
    assert hub.asked("storage") == []


def test_a_drafter_as_safetensors_ends_as_a_gguf(get: Get, hub: LoopbackHub, store: Store):
    hub.repositories["a/dflash"] = Repository({"model.safetensors": DATA, "config.json": b"{}", "x.bin": b"no"})
    drafter = model("*.safetensors", "*.json", repository="a/dflash", name="dflash", convert=True)
    told = Told()

    def converter(paths, target: Path, step, origin) -> None:
        assert (origin.repository, origin.sha256) == ("a/dflash", {"model.safetensors": sha256(DATA)})
        assert [path.name for path in paths] == ["model.safetensors", "config.json"]
        step(1, 2)
        target.write_bytes(b"GGUF" + paths[0].read_bytes())

    assert get(drafter, converter=converter, progress=told.append).run() is DownloadOutcome.DONE
    assert store.path(drafter).read_bytes() == b"GGUF" + DATA
    assert DownloadPhase.CONVERT in {said.phase for said in told}
    assert store.record(drafter.source, "dflash.gguf").made_from == (sha256(DATA),)
    assert not [request for request in hub.requests if "x.bin" in request.path]


def test_a_conversion_that_was_stopped_is_made_again_without_a_download(get: Get, hub: LoopbackHub, store: Store):
    hub.repositories["a/dflash"] = Repository({"model.safetensors": DATA})
    drafter = model("*.safetensors", repository="a/dflash", name="dflash", convert=True)
    download: list[Download] = []

    def stopped(paths, target: Path, step, origin) -> None:
        target.write_bytes(b"half")
        download[0].pause()
        step(1, 2)

    download.append(get(drafter, converter=stopped))
    assert download[0].run() is DownloadOutcome.PAUSED
    assert store.path(drafter) is None
    hub.requests.clear()
    assert (
        get(drafter, converter=lambda paths, target, step, origin: target.write_bytes(b"whole")).run()
        is DownloadOutcome.DONE
    )
    assert store.path(drafter).read_bytes() == b"whole"
    assert hub.asked("storage") == []


def test_a_published_drafter_becomes_one_that_the_engine_reads(
    get: Get, hub: LoopbackHub, store: Store, tmp_path: Path
):
    folder = published.laguna().write(tmp_path / "published", shards=2)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    hub.repositories["a/dflash"] = Repository({**files, "README.md": b"---\nlicense: mit\n---\n"})
    drafter = model("*.safetensors", "*.json", repository="a/dflash", name="dflash", convert=True)
    assert get(drafter).run() is DownloadOutcome.DONE
    assert drafter_file.read(store.path(drafter)).taps == (0, 1, 3)


def test_a_repository_that_holds_no_drafter_says_so(get: Get, hub: LoopbackHub, store: Store):
    hub.repositories["a/dflash"] = Repository({"model.safetensors": DATA})
    drafter = model("*.safetensors", repository="a/dflash", name="dflash", convert=True)
    with pytest.raises(DownloadError) as error:
        get(drafter).run()
    assert str(error.value) == (
        "Dflash was downloaded, but cannot be converted: dflash: has no config.json; download the whole folder "
        "of the published drafter"
    )
    assert store.path(drafter) is None


def test_progress_comes_on_the_thread_that_runs_it(get: Get):
    threads = set()

    def told(_: DownloadProgress) -> None:
        threads.add(threading.get_ident())

    get(progress=told).run()
    assert threads == {threading.get_ident()}
