"""Downloads that go badly: nothing half or wrong is ever a model, what is good is kept, and the user is told."""

import json
import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.base.errors import UserError
from laguna_tui.base.network import Network, OfflineError
from laguna_tui.models import hub as hub_module
from laguna_tui.models.cancellation import DownloadCancellation, Paused
from laguna_tui.models.download import Download, DownloadOutcome
from laguna_tui.models.download_errors import DiskFullError, DownloadError
from laguna_tui.models.hub import Hub
from laguna_tui.models.hub_requests import LISTING_LIMIT_BYTES, is_hub
from laguna_tui.models.partial_file import size_of
from laguna_tui.models.store import ModelState, Store
from tests.app.models.loopback_hub import (
    Body,
    Cut,
    Endless,
    Headers,
    IgnoreRange,
    LoopbackHub,
    OtherRange,
    Repository,
    Stall,
    Status,
    TooMuch,
    Wrong,
    sha256,
)
from tests.app.models.sample_model import DATA, FILE, HASTY, REPOSITORY, Told, model, part

Get = Callable[..., Download]


def interrupted(get: Get, hub: LoopbackHub, at: int = 180_000) -> None:
    """A first sitting that ends after so many bytes."""
    hub.faults["storage"] = [Cut(at)]
    with pytest.raises(DownloadError):
        get(retry_policy=replace(HASTY, tries=1)).run()
    hub.requests.clear()


def test_a_server_that_ignores_the_range_restarts_the_file(get: Get, hub: LoopbackHub, store: Store):
    interrupted(get, hub)
    hub.faults["storage"] = [IgnoreRange()]
    assert get().run() is DownloadOutcome.DONE
    assert hub.asked("storage")[-1].start == 180_000
    assert store.path(model()).read_bytes() == DATA


def test_another_range_than_requested_is_refused(get: Get, hub: LoopbackHub, store: Store):
    interrupted(get, hub)
    hub.faults["storage"] = [OtherRange()]
    told = Told()
    assert get(progress=told.append).run() is DownloadOutcome.DONE
    assert any("another range of the file" in note for note in told.notes)
    assert store.path(model()).read_bytes() == DATA


def test_more_bytes_than_the_file_has_are_refused(get: Get, hub: LoopbackHub, store: Store):
    interrupted(get, hub)
    hub.faults["storage"] = [TooMuch()]
    told = Told()
    assert get(progress=told.append).run() is DownloadOutcome.DONE
    assert any("more bytes than the file has" in note for note in told.notes)
    assert [request.start for request in hub.asked("storage")] == [180_000, 0]
    assert store.path(model()).read_bytes() == DATA


def test_the_whole_file_is_requested_if_the_server_refuses_to_resume(get: Get, hub: LoopbackHub, store: Store):
    interrupted(get, hub)
    hub.faults["storage"] = [Status(416)]
    assert get().run() is DownloadOutcome.DONE
    assert [request.start for request in hub.asked("storage")] == [180_000, 0]
    assert store.path(model()).read_bytes() == DATA


def test_wrong_bytes_never_become_a_model_and_are_not_kept(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Wrong()]
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}/laguna-Q4_K_M.gguf: the downloaded bytes do not have the published hash (sha256 "
        "0b853838c9b5…) and were removed; try again, and if it happens again, use another network: a proxy may "
        "be changing the download"
    )
    assert store.status(model()).state is ModelState.MISSING
    assert not store.final_path(model().source, FILE).exists()
    assert get().run() is DownloadOutcome.DONE


def test_wrong_bytes_after_a_good_beginning_are_noticed(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Cut(150_000), Wrong()]
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}/laguna-Q4_K_M.gguf: the downloaded bytes do not have the published hash (sha256 "
        "fc50982b8c9f…) and were removed; try again, and if it happens again, use another network: a proxy may "
        "be changing the download"
    )
    assert store.path(model()) is None


def test_a_file_that_was_replaced_meanwhile_is_downloaded_again(get: Get, hub: LoopbackHub, store: Store):
    interrupted(get, hub)
    newer = DATA[::-1]
    hub.repositories[REPOSITORY] = Repository({FILE: newer}, commit="beef" + "0" * 36)
    assert get().run() is DownloadOutcome.DONE
    assert hub.asked("storage")[0].start == 0
    assert store.path(model()).read_bytes() == newer
    assert store.record(model().source, FILE).commit.startswith("beef")


def test_a_repository_that_moved_on_without_changing_the_file_costs_nothing(get: Get, hub: LoopbackHub):
    interrupted(get, hub)
    hub.repositories[REPOSITORY] = Repository({FILE: DATA}, commit="beef" + "0" * 36)
    assert get().run() is DownloadOutcome.DONE
    assert hub.asked("storage")[0].start == 180_000


def test_a_hub_that_answers_with_another_file_is_an_error(get: Get, hub: LoopbackHub):
    small = model("README.md")
    hub.faults["file"] = [Headers({"ETag": f'"{"ab" * 20}"'})]
    with pytest.raises(DownloadError) as error:
        get(small).run()
    assert str(error.value) == (
        f"{REPOSITORY}/README.md: changed on the hub during the download; run the same command again to get the new one"
    )


def test_a_pinned_file_that_was_replaced_on_the_hub_is_not_fetched(get: Get, hub: LoopbackHub):
    for pinned in (model(sha256="ab" * 32), model(size=7)):
        with pytest.raises(DownloadError) as error:
            get(pinned).run()
        assert str(error.value) == (
            f"{REPOSITORY}/laguna-Q4_K_M.gguf: the file on the hub was replaced and is not the one that the "
            "catalogue pins; update laguna-tui, or accept the new one with your own sha256 and size in models.toml"
        )
    assert hub.asked("storage") == []
    assert get(model(sha256=sha256(DATA), size=len(DATA))).run() is DownloadOutcome.DONE


def test_too_little_space_is_noticed_before_the_first_byte(get: Get, hub: LoopbackHub, store: Store):
    interrupted(get, hub)
    with pytest.raises(DiskFullError) as error:
        get(free=lambda folder: 100_000).run()
    assert str(error.value) == (
        f"{store.folder}: 120 kB are still needed, but only 100 kB are free; make room for 536.9 MB, or move the "
        "models to another disk with LAGUNA_TUI_MODELS=FOLDER"
    )
    assert hub.asked("file") == hub.asked("storage") == []
    assert size_of(part(store)) == 180_000


def test_a_disk_that_fills_up_during_a_download_keeps_what_is_there(get: Get, store: Store, monkeypatch):
    monkeypatch.setattr(hub_module, "_CHILD", "tests.app.models.full_disk_hub")
    with pytest.raises(DiskFullError) as error:
        get().run()
    assert str(error.value) == (
        f"{store.folder}: the disk is full; the download so far is kept: make room and try again, or move the "
        "models to another disk with LAGUNA_TUI_MODELS=FOLDER"
    )
    assert size_of(part(store)) > 100_000
    assert store.path(model()) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_that_cannot_be_written_says_so(get: Get, store: Store):
    store.folder.mkdir()
    store.folder.chmod(0o500)
    with pytest.raises(DownloadError, match="check the disk and its permissions"):
        get().run()


def test_a_store_that_is_a_file_says_so(get: Get, store: Store):
    store.folder.write_text("not a folder")
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{store.folder}/poolside--Laguna-GGUF/.records: Not a directory; check the disk and its permissions, "
        "then run it again"
    )


def test_a_stalled_connection_is_given_up_and_tried_again(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Stall(120_000)]
    told = Told()
    assert get(progress=told.append, retry_policy=replace(HASTY, stall_s=0.5)).run() is DownloadOutcome.DONE
    assert any("nothing received for" in note and "trying again" in note for note in told.notes)
    assert [request.start for request in hub.asked("storage")][:2] == [0, 120_000]
    assert store.path(model()).read_bytes() == DATA


def test_a_network_that_stays_down_is_an_error_and_keeps_what_is_there(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Cut(90_000), *[Cut(0)] * 9]
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}/laguna-Q4_K_M.gguf: the connection was closed, 4 times in a row; the download so far is "
        "kept: check the network, then try again"
    )
    assert size_of(part(store)) == 90_000
    hub.faults.clear()
    assert get().run() is DownloadOutcome.DONE


def test_new_bytes_make_a_slow_network_worth_another_try(get: Get, hub: LoopbackHub):
    hub.faults["storage"] = [Cut(20_000)] * 9
    assert get().run() is DownloadOutcome.DONE
    assert len(hub.asked("storage")) == 10


def test_a_hub_that_cannot_be_reached_is_an_error(get: Get):
    with pytest.raises(DownloadError, match=r"the hub cannot be reached \(.*refused.*\), 3 times in a row"):
        get(hub=Hub("http://127.0.0.1:9", network=Network())).run()


@pytest.mark.parametrize("body", [b"<html>Please log in</html>", b"[]", b"{}", b'{"id": 1, "siblings": [{"a": 1}]}'])
def test_a_login_page_in_place_of_the_hub_is_named(get: Get, hub: LoopbackHub, body):
    hub.faults["api"] = [Body(body)] * 9
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}: the server that answered is not the hub (perhaps a login page of this network, or "
        "a wrong HF_ENDPOINT), 3 times in a row; the download so far is kept: check the network, then try again"
    )


def test_a_login_page_in_place_of_the_file_never_becomes_a_model(get: Get, hub: LoopbackHub, store: Store):
    hub.faults["storage"] = [Body(b"<html>Please log in</html>")] * 9
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}/laguna-Q4_K_M.gguf: the response has 26 bytes, not 300000, 4 times in a row; the "
        "download so far is kept: check the network, then try again"
    )
    assert store.status(model()).state is ModelState.MISSING


def test_a_compressed_response_is_refused(get: Get, hub: LoopbackHub):
    hub.faults["storage"] = [Headers({"Content-Encoding": "gzip"})]
    told = Told()
    assert get(progress=told.append).run() is DownloadOutcome.DONE
    assert any("compressed" in note for note in told.notes)


@pytest.mark.parametrize(
    ("kind", "code"), [("api", 500), ("api", 503), ("file", 502), ("storage", 504), ("storage", 403)]
)
def test_temporary_errors_are_retried(get: Get, hub: LoopbackHub, kind, code):
    hub.faults[kind] = [Status(code)] * 2
    told = Told()
    assert get(progress=told.append).run() is DownloadOutcome.DONE
    assert any(f"answered {code}" in note and "trying again" in note for note in told.notes)


@pytest.mark.parametrize("kind", ["api", "file", "storage"])
def test_a_retry_waits_as_long_as_the_server_asks(get: Get, hub: LoopbackHub, kind, monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr(DownloadCancellation, "sleep", lambda cancellation, seconds: slept.append(seconds))
    hub.faults[kind] = [Status(429, {"Retry-After": "17"})]
    assert get().run() is DownloadOutcome.DONE
    assert slept == [17.0]


def test_a_wait_of_hours_is_an_error(get: Get, hub: LoopbackHub):
    hub.faults["api"] = [Status(429, {"Retry-After": "7200"})]
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}: the hub asks to wait 120 minutes; the download so far is kept, so run the same command again "
        "after that"
    )


@pytest.mark.parametrize(
    ("kind", "status", "sentence"),
    [
        ("api", Status(401), "the hub requires a login; run `hf auth login`, or set HF_TOKEN"),
        ("api", Status(403), "your token has no access to it"),
        ("api", Status(401, {"X-Error-Code": "GatedRepo"}), f"huggingface.co/{REPOSITORY}, accept them, then log in"),
        ("api", Status(404, {"X-Error-Code": "RepoNotFound"}), "the repository does not exist, or is private"),
        ("api", Status(401, {"X-Error-Code": "RepoNotFound"}), "the repository does not exist, or is private"),
        ("api", Status(404, {"X-Error-Code": "RevisionNotFound"}), "the revision does not exist"),
        ("api", Status(418), "the hub answered 418"),
        ("file", Status(401), "the hub requires a login"),
        ("file", Status(403, {"X-Error-Code": "GatedRepo"}), "accept them, then log in"),
        ("file", Status(404, {"X-Error-Code": "EntryNotFound"}), "the file was removed from the hub"),
    ],
)
def test_a_refusal_is_an_error_without_a_retry(get: Get, hub: LoopbackHub, kind, status, sentence):
    hub.faults[kind] = [status]
    with pytest.raises(DownloadError) as error:
        get().run()
    assert sentence in str(error.value)
    assert str(error.value).startswith(REPOSITORY)
    assert len(hub.asked(kind)) == 1


def test_a_gated_repository_without_and_with_the_wrong_token(get: Get, hub: LoopbackHub, monkeypatch):
    hub.repositories[REPOSITORY] = Repository({FILE: DATA}, token="hf_right", gated=True)
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}: its owner requires you to accept terms: open https://huggingface.co/{REPOSITORY}, "
        "accept them, then log in here with `hf auth login` or set HF_TOKEN"
    )
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}: its owner requires you to accept terms: open https://huggingface.co/{REPOSITORY}, "
        "accept them, then log in here with `hf auth login` or set HF_TOKEN"
    )
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    assert get().run() is DownloadOutcome.DONE


def test_a_file_the_repository_does_not_have_lists_those_it_has(get: Get):
    with pytest.raises(DownloadError) as error:
        get(model("other.gguf")).run()
    assert str(error.value) == (
        f"{REPOSITORY}: other.gguf does not name exactly one file (there is: README.md, {FILE}); name one in your own "
        "models.toml, or update laguna-tui"
    )


@pytest.mark.parametrize("name", ["../evil.gguf", "/tmp/evil.gguf", "a/../../evil.gguf", "a\\..\\evil.gguf"])
def test_a_file_name_that_leads_out_of_the_store_is_refused(get: Get, hub: LoopbackHub, store: Store, name):
    hub.repositories[REPOSITORY] = Repository({name: DATA})
    pattern = "/".join("*evil.gguf" if part.endswith("evil.gguf") else part for part in name.split("/"))
    with pytest.raises(DownloadError):
        get(model(pattern.replace("..", "*"))).run()
    assert hub.asked("storage") == []
    assert not list(store.folder.parent.rglob("*evil*"))


def test_an_answer_about_a_repository_is_read_up_to_a_limit(get: Get, hub: LoopbackHub):
    hub.faults["api"] = [Endless(beginning=b'{"siblings": [')] * 4
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}: the server that answered is not the hub (perhaps a login page of this network, or "
        "a wrong HF_ENDPOINT): its answer is larger than 4 MiB, 3 times in a row; the download so far is kept: check "
        "the network, then try again"
    )
    # What the system's buffers hold of each answer when the connection is shut comes on top of the limit.
    assert hub.sent < 3 * (LISTING_LIMIT_BYTES + (16 << 20))


def test_the_body_of_an_answer_that_is_not_a_listing_is_not_read(get: Get, hub: LoopbackHub):
    away = {"Location": f"{hub.url}/api/models/{REPOSITORY}/revision/main"}
    hub.faults["api"] = [Endless(503), Endless(302, away)]
    assert get().run() is DownloadOutcome.DONE
    assert hub.sent < 64 << 20


def test_redirects_in_a_circle_end(get: Get, hub: LoopbackHub):
    hub.faults["api"] = [Status(302, {"Location": f"{hub.url}/api/models/{REPOSITORY}/revision/main"})] * 100
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}: too many redirects, 3 times in a row; the download so far is kept: check the network, "
        "then try again"
    )


def test_the_token_is_not_sent_on_to_another_server(get: Get, hub: LoopbackHub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.repositories[REPOSITORY].token = "hf_secret"
    assert get().run() is DownloadOutcome.DONE
    assert {request.headers.get("authorization") for request in hub.asked("api")} == {"Bearer hf_secret"}
    assert {request.headers.get("authorization") for request in hub.asked("storage")} == {None}


def _said_of_a_file(**changes: object) -> bytes:
    said = {"rfilename": FILE, "size": len(DATA), "blobId": "ab" * 20, **changes}
    return json.dumps({"sha": "c0ffee", "siblings": [said]}).encode()


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"[" * 500_000, "is not the hub"),
        (b'{"a":' * 500_000, "is not the hub"),
        (b'{"siblings": [{"rfilename": "x", "size": ' + b"9" * 45_000 + b"}]}", "is not the hub"),
        (_said_of_a_file(size=10**4000), "did not report the size"),
        (_said_of_a_file(size=True), "did not report the size"),
        (_said_of_a_file(size=-1), "did not report the size"),
        (_said_of_a_file(lfs={"sha256": 7}), "the hub publishes no hash for it"),
        (_said_of_a_file(lfs="x", blobId={}), "the hub publishes no hash for it"),
        (b'{"siblings": [7]}', "is not the hub"),
        (b"7", "is not the hub"),
        (b"\xff\xfe\x00", "is not the hub"),
    ],
    ids="lists objects digits huge true negative number text entries none bytes".split(),
)
def test_a_hostile_answer_about_a_repository_is_an_error(get: Get, hub: LoopbackHub, body, part):
    hub.faults["api"] = [Body(body)] * 4
    with pytest.raises(DownloadError, match=part):
        get().run()


@pytest.mark.parametrize("given", ["bytes {0}-5/6", "bytes 180000-{0}/300000", "bytes 180000-299999/{0}"])
def test_a_range_of_thousands_of_digits_is_refused(get: Get, hub: LoopbackHub, store: Store, given):
    interrupted(get, hub)
    hub.faults["storage"] = [Headers({"Content-Range": given.format("9" * 5000)})]
    told = Told()
    assert get(progress=told.append).run() is DownloadOutcome.DONE
    assert any("another range of the file" in note for note in told.notes)
    assert store.path(model()).read_bytes() == DATA


def test_a_wait_of_thousands_of_digits_is_an_error(get: Get, hub: LoopbackHub):
    hub.faults["api"] = [Status(429, {"Retry-After": "9" * 5000})]
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}: the hub asks to wait days; the download so far is kept, so run the same command again after "
        "that"
    )


def test_a_model_without_a_source_says_what_to_do(get: Get):
    with pytest.raises(UserError) as error:
        get(replace(model(), source=None)).run()
    assert str(error.value) == "Laguna cannot be downloaded; pass the path of its GGUF: --model FILE.gguf"


def test_a_missing_file_is_an_error_offline_without_any_request(get: Get, hub: LoopbackHub):
    with pytest.raises(OfflineError) as error:
        get(hub=Hub(hub.url, network=Network(offline=True))).run()
    assert str(error.value) == (
        f"{REPOSITORY} is not on this machine, and offline is on; run it again with --no-offline"
    )
    assert hub.requests == []


def test_a_partial_model_is_kept_offline(get: Get, hub: LoopbackHub, store: Store):
    interrupted(get, hub)
    with pytest.raises(OfflineError):
        get(hub=Hub(hub.url, network=Network(offline=True))).run()
    assert hub.requests == []
    assert size_of(part(store)) == 180_000


def test_the_environment_can_forbid_the_network(hub: LoopbackHub, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert Hub(hub.url, network=Network()).network.offline


faults = st.sampled_from(
    [
        None,
        Cut(0),
        Cut(50_000),
        IgnoreRange(),
        OtherRange(),
        Wrong(),
        TooMuch(),
        Status(500),
        Status(403),
        Status(416),
        Body(b"<html>"),
        Headers({"Content-Encoding": "gzip"}),
        Headers({"Content-Length": "300001"}),
    ]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(faults, max_size=6))
def test_any_sequence_of_faults_ends_in_the_true_file(
    get: Get, hub: LoopbackHub, tmp_path_factory: pytest.TempPathFactory, sequence
):
    store = Store(tmp_path_factory.mktemp("store"))
    hub.faults["storage"] = list(sequence)
    for _ in range(8):
        try:
            if get(store=store, retry_policy=replace(HASTY, tries=3, first_s=0.0)).run() is DownloadOutcome.DONE:
                break
        except DownloadError:
            assert store.path(model()) is None
    assert store.path(model()).read_bytes() == DATA


def test_a_wait_grows_up_to_its_longest():
    waits = [HASTY.wait_s(failures) for failures in range(1, 40)]
    assert 0.005 <= waits[0] <= 0.01
    assert max(waits) <= 0.02


def test_a_cancellation_ends_a_sleep_at_once():
    cancellation = DownloadCancellation()
    cancellation.pause()
    with pytest.raises(Paused):
        cancellation.sleep(10_000)


def test_a_file_without_a_known_hash_is_not_downloaded(get: Get, hub: LoopbackHub, monkeypatch):
    silent = {"rfilename": FILE, "size": len(DATA)}
    monkeypatch.setattr(Repository, "sibling", lambda repository, name: silent)
    with pytest.raises(DownloadError) as error:
        get().run()
    assert str(error.value) == (
        f"{REPOSITORY}/laguna-Q4_K_M.gguf: the hub publishes no hash for it, so the download could not be "
        "checked; put its sha256 into your own models.toml, or use another HF_ENDPOINT"
    )
    assert hub.asked("storage") == []
    assert get(model(sha256=sha256(DATA))).run() is DownloadOutcome.DONE


def test_a_file_found_in_the_hubs_cache_replaces_a_partial_one(get: Get, hub: LoopbackHub, store: Store, tmp_path):
    interrupted(get, hub)
    cached = tmp_path / "cache" / "models--poolside--Laguna-GGUF" / "snapshots" / "c0" / FILE
    cached.parent.mkdir(parents=True)
    cached.write_bytes(DATA)
    assert get().run() is DownloadOutcome.DONE
    assert store.path(model()) == cached
    assert not part(store).exists()


@pytest.mark.parametrize(
    ("endpoint", "url", "same"),
    [
        ("https://huggingface.co", "https://huggingface.co/a/b", True),
        ("https://mirror.example:443/hf", "https://mirror.example/a/b", True),
        ("https://huggingface.co", "https://cdn.hf.co/a/b", False),
        ("http://127.0.0.1:80", "http://127.0.0.1:81/a", False),
    ],
)
def test_the_hub_is_known_by_its_origin(endpoint, url, same):
    assert is_hub(url, endpoint) is same
