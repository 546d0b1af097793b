"""The real model setup: what it recommends, a download from a loopback hub, and not one socket when offline."""

import socket
from dataclasses import replace

import pytest

from laguna_engine.fit import devices
from laguna_engine.fit.decode_speed import DeviceRate, measured_rate, record_rate
from laguna_engine.fit.devices import read_machine, simulated_machine
from laguna_engine.fit.plan_search import PlanConstraints
from laguna_engine.native.verdicts import Verdicts
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.models.fit import SLOW, fit_report, report_lines
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.models.store import ModelState, Store
from laguna_tui.session.session import Session
from tests.app.models.loopback_hub import LoopbackHub, Repository
from tests.tui.pilot import ask, ready, running, screen, until
from tests.tui.scripted import PlayedSession

ENTRY = """
[models.tiny]
title = "Tiny Laguna"
summary = "for tests"
repository = "somebody/Tiny-GGUF"
file = "tiny.gguf"
template = "XS_2_1"
context = 2048
thinking = false
sampling = { temperature = 0.0 }
match = []
"""


@pytest.fixture
def store(tmp_path, monkeypatch):
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LAGUNA_TUI_MODELS", str(tmp_path / "models"))
    return Store()


@pytest.fixture
def machine(monkeypatch):
    """Makes this machine another one."""
    return lambda what: monkeypatch.setattr(devices, "read_machine", lambda: simulated_machine(what))


def test_a_machine_with_a_good_card_is_recommended_the_model_with_its_drafter_as_one_download(store, machine):
    machine("24GB desktop")
    offer = ModelSetup(Settings(), store).describe()
    assert (offer.name, offer.ready, offer.have) == ("xs-2.1", False, 0)
    assert offer.size > 20_000_000_000
    assert "a card of 24 GB" in offer.machine
    assert offer.recommended
    assert offer.why == "It fits on the GPU with 64 K tokens of context."
    assert offer.memory > 19 << 30
    assert offer.free > 0
    assert [entry.name for entry in ModelSetup(Settings(), store)._entries("xs-2.1", _catalogue())] == [
        "xs-2.1",
        "xs-2.1-dflash",
    ]


def test_nothing_is_recommended_for_a_small_machine(store, machine):
    machine("cpu-4GB")
    offer = ModelSetup(Settings(), store).describe()
    assert (offer.name, offer.recommended, offer.others) == ("qwen3.5-4b", False, ())
    assert "Qwen3.5 4B needs at least" in offer.why


@pytest.mark.parametrize(
    ("what", "name", "others"),
    [
        ("6GB ram-16GB", "qwen3.5-4b", ()),
        ("8GB ram-16GB", "qwen3.5-9b", ("Qwen3.5 4B, 2.7 GB, hybrid", "Granite 4.2 8B, 5.3 GB, dense")),
        (
            "16GB ram-32GB",
            "gpt-oss-20b",
            (
                "Ministral 3 14B, 8.2 GB, dense",
                "Qwen3.5 9B, 5.7 GB, hybrid",
                "Qwen3.5 4B, 2.7 GB, hybrid",
                "Laguna XS.2 at 2 bits, 11.9 GB, mixture of experts",
                "Granite 4.2 8B, 5.3 GB, dense",
            ),
        ),
    ],
)
def test_a_smaller_machine_is_offered_what_suits_it(store, machine, what, name, others):
    machine(what)
    offer = ModelSetup(Settings(), store).describe()
    assert (offer.name, offer.recommended, offer.pinned, offer.others) == (name, True, True, others)


def test_the_experts_of_laguna_go_into_ram_on_a_smaller_card(store, machine, monkeypatch):
    machine("8GB ram-32GB")
    rates = {"CPU": DeviceRate(30e9, 2e-6), "CUDA0": DeviceRate(300e9, 2e-6)}
    monkeypatch.setattr("laguna_engine.fit.decode_speed.measured_rates", lambda machine: rates)
    offer = ModelSetup(Settings(), store).describe()
    assert (offer.name, offer.recommended, offer.measured) == ("xs-2.1", True, False)
    assert offer.why == "It runs partly on the CPU (experts in RAM) with 32 K tokens of context."
    assert offer.others[0].startswith("gpt-oss 20B, 12.1 GB, mixture of experts, about ")


def test_the_speed_of_an_answer_replaces_the_estimate(tmp_path, tiny_model_path, monkeypatch):
    known = Verdicts()
    monkeypatch.setattr("laguna_engine.fit.decode_speed.verdicts", known)
    record_rate(tiny_model_path, 31, 50.0)
    assert measured_rate(tiny_model_path) is None
    record_rate(tiny_model_path, 32, 50.0)
    record_rate(tiny_model_path, 32, 52.0)
    assert measured_rate(tiny_model_path) == 50.0
    report = fit_report(str(tiny_model_path), _catalogue(), Settings(), read_machine(), PlanConstraints())
    assert (report.rate, report.measured) == (50.0, True)
    lines = list(report_lines(report, 100))
    assert any(line.endswith("tokens of context, 50 tok/s measured.") for line in lines)
    assert "The speed is of the newest answer here." in lines


@pytest.mark.parametrize(("bytes_per_s", "recommended"), [(30e9, True), (5e9, False)])
def test_a_model_that_the_measured_memory_makes_slow_is_not_recommended(
    store, machine, monkeypatch, bytes_per_s, recommended
):
    machine("cpu-64GB")
    rates = {"CPU": DeviceRate(bytes_per_s, 2e-6)}
    monkeypatch.setattr("laguna_engine.fit.decode_speed.measured_rates", lambda machine: rates)
    offer = ModelSetup(Settings(), store).describe()
    assert offer.rate is not None
    assert (offer.recommended, offer.rate > SLOW) == (recommended, recommended)
    slow = "It runs on the CPU with 32 K tokens of context. At this speed answers come slower than you read them."
    assert (offer.why == slow) is not recommended


def test_without_a_measurement_only_a_model_that_fits_on_the_gpu_is_recommended(store, machine):
    machine("cpu-64GB")
    assert not ModelSetup(Settings(), store).describe(measure=False).recommended


def test_a_larger_model_is_described_while_the_bundled_one_is_open(store, machine, monkeypatch):
    machine("24GB desktop")
    model_setup = ModelSetup(Settings(), store)
    line = model_setup.larger_model("nano")
    assert line.startswith("A larger model, Laguna XS 2.1, needs a download of 20.3 GB and 2")
    assert line.endswith(" GiB of memory; it suits this machine. /setup has details.")
    for other in ("cpu-64GB", "8GB ram-32GB"):
        # Once the speed is measured, another one may suit.
        machine(other)
        assert model_setup.larger_model("nano") == (
            "/setup shows which larger model suits this machine, and how fast it would be."
        )
    rates = {"CPU": DeviceRate(5e9, 2e-6)}
    monkeypatch.setattr("laguna_engine.fit.decode_speed.known_rates", lambda machine: rates)
    machine("cpu-64GB")
    slow = " GiB of memory; it would be slow here, at about 2.8 tok/s. /setup has details."
    assert model_setup.larger_model("nano").endswith(slow)
    assert model_setup.larger_model("xs-2.1") == model_setup.larger_model("/models/own.gguf") == ""


def test_a_name_that_is_in_no_catalogue_is_refused(store):
    with pytest.raises(UserError, match="there is no model nothing; "):
        ModelSetup(Settings(), store).fetch("nothing", lambda progress: None)


async def test_no_socket_is_opened_offline(store, machine, monkeypatch):
    machine("24GB desktop")
    opened = []
    async with running(PlayedSession(), model_setup=ModelSetup(Settings(offline=True), store)) as (app, pilot):
        await ready(app, pilot)
        monkeypatch.setattr(socket.socket, "connect", lambda *_: opened.append("connect"))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: opened.append("name") or [])
        await pilot.press("f8")
        await until(pilot, lambda: "Offline mode: nothing is downloaded." in screen(app))
        await pilot.press("enter", "p", "x", "escape", "f7", "escape")
        await pilot.pause()
    assert opened == []


async def test_a_model_is_downloaded_behind_the_chat_and_answers_after_one_key(
    store, tmp_path, monkeypatch, tiny_model_path
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "laguna-tui").mkdir(parents=True)
    (tmp_path / "config" / "laguna-tui" / "models.toml").write_text(ENTRY)
    settings = Settings(model=str(tiny_model_path), context=8192, threads=1, max_tokens=4)
    session = Session(settings, tmp_path)
    with LoopbackHub() as hub:
        hub.repositories["somebody/Tiny-GGUF"] = Repository({"tiny.gguf": tiny_model_path.read_bytes()})
        async with running(session, model_setup=ModelSetup(settings, store, hub.url)) as (app, pilot):
            await ask(app, pilot, "hello")
            app.models.set_up("tiny")
            await until(pilot, lambda: "Enter" in screen(app) and "Tiny Laguna" in screen(app))
            await pilot.press("enter", "y")
            await until(pilot, lambda: "Tiny Laguna is downloaded." in screen(app))
            assert store.status(_catalogue()["tiny"]).state is ModelState.COMPLETE
            await pilot.press("enter")
            await until(pilot, lambda: app.status_bar.status.model == "Tiny Laguna")
            await ask(app, pilot, "and now?")
            said = [each.text for each in session.parts.agent.conversation.items() if each.text]
        session.close()
    assert "hello" in said[0]
    assert said[1] == "and now?"


def test_discarding_a_model_leaves_a_complete_drafter(store, monkeypatch):
    model_setup, removed = ModelSetup(Settings(), store), []
    whole = replace(store.status(_catalogue()["nano"]), state=ModelState.COMPLETE)
    states = {"xs-2.1": replace(whole, state=ModelState.PARTIAL), "xs-2.1-dflash": whole}
    monkeypatch.setattr(store, "status", lambda entry: states.get(entry.name, replace(whole, path=None)))
    monkeypatch.setattr(store, "remove", lambda entry: removed.append(entry.name))
    model_setup.discard("xs-2.1")
    assert removed == ["xs-2.1"]


def _catalogue():
    from laguna_tui.models.catalogue import load_catalogue

    return load_catalogue()
