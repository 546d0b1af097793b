"""Exchanging builds: with a real pip, in an environment of its own, from an index on loopback."""

import os
from pathlib import Path

import pytest

from laguna_tui.machine.setup_gpu.builds import BUILDS
from laguna_tui.machine.setup_gpu.installer import BuildOffer
from laguna_tui.machine.setup_gpu.pip import Pip, SetupFailed
from laguna_tui.machine.setup_gpu.trial import Trial
from tests.app.machine.setup_gpu import fake_builds


def test_a_build_that_does_not_work_is_never_installed(place, index, offers):
    index.offer("cu124", fake_builds.wheel(place.folder / "new", fake_builds.CPU))
    before = fake_builds.listing(place.site)
    exchange = place.exchange()
    with pytest.raises(SetupFailed) as failure:
        exchange.set_up(index.address, offers("cu124"))
    assert str(failure.value) == (
        "the downloaded build does not work here: it finds no graphics card (backends: CPU). Nothing was "
        "changed; try another build (laguna-tui setup gpu --tag vulkan), or see: laguna-tui doctor"
    )
    assert "Nothing was changed" in str(failure.value)
    assert fake_builds.listing(place.site) == before
    assert exchange.rollback.last() is None
    assert not exchange.rollback.work.exists()


def test_a_build_that_fails_once_installed_is_uninstalled(place, offers, monkeypatch):
    def attempt(python, beside):
        if beside is not None:
            return fake_builds.try_build(python, beside)
        assert fake_builds.says(python) == fake_builds.GPU
        return Trial(trouble="the card fell out")

    # Where a wheel comes from does not matter here, and asking an index takes its time.
    monkeypatch.setattr(Pip, "fetch", lambda pip, *_: fake_builds.wheel(pip.wheels, fake_builds.GPU))
    with pytest.raises(SetupFailed) as error:
        place.exchange(attempt).set_up("", offers("cu124"))
    assert str(error.value) == "the installed build does not work: the card fell out; the previous build was restored"
    assert fake_builds.says(place.python) == fake_builds.CPU
    assert place.exchange().rollback.pending() is None


def test_what_was_tried_and_nothing_else_is_installed(place, index, offers):
    """Between the trial and the installation the fetched file is changed: its hash no longer fits."""

    def attempt(python, beside):
        tried = fake_builds.try_build(python, beside)
        fake_builds.wheel(exchange.pip.wheels, {**fake_builds.GPU, "tokens": 99})
        return tried

    index.offer("cu124", fake_builds.wheel(place.folder / "new", fake_builds.GPU))
    exchange = place.exchange(attempt)
    with pytest.raises(SetupFailed, match="THESE PACKAGES DO NOT MATCH THE HASHES"):
        exchange.set_up(index.address, offers("cu124"))
    assert fake_builds.says(place.python) == fake_builds.CPU


def test_an_interrupted_setup_is_undone_by_the_next_one(place):
    exchange = place.exchange()
    exchange.rollback.prepare()
    exchange.rollback.set_aside(exchange.rollback.begin(place.site, "cu124", ()))
    fake_builds.wheel(exchange.pip.wheels, fake_builds.GPU)
    exchange.pip.stage(exchange.pip.work / "site")
    exchange.pip.install()
    assert fake_builds.says(place.python) == fake_builds.GPU
    later = place.exchange()
    assert later.recover()
    assert fake_builds.says(place.python) == fake_builds.CPU
    assert not later.recover()


def test_an_interrupted_setup_whose_previous_build_is_missing_uninstalls_nothing(place):
    exchange = place.exchange()
    exchange.rollback.prepare()
    record = exchange.rollback.begin(place.site, "cu124", ())
    fake_builds.without(Path(record.folder))
    later = place.exchange()
    with pytest.raises(SetupFailed) as error:
        later.recover()
    assert str(error.value) == (
        f"{record.folder}, the folder of the previous build, is missing, so the new build stays installed; "
        "if laguna-tui no longer starts, reinstall it"
    )
    assert fake_builds.says(place.python) == fake_builds.CPU
    assert not later.recover()


def test_an_unreachable_index_is_distinguished_from_one_without_the_version(place, index, offers):
    index.close()
    with pytest.raises(SetupFailed, match="check the connection"):
        place.exchange().set_up(index.address, offers("cu124", "cu123"))
    assert place.said == []


def test_a_wheel_that_is_not_what_its_index_promises_is_refused(place, index, offers):
    index.offer("cu124", fake_builds.wheel(place.folder / "new", fake_builds.GPU), sha256="0" * 64)
    with pytest.raises(SetupFailed, match="could not be downloaded"):
        place.exchange().set_up(index.address, offers("cu124"))
    assert fake_builds.says(place.python) == fake_builds.CPU


def test_pips_settings_for_other_indexes_are_ignored(place, index, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(place.folder / "old"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    config = place.folder / "pip.conf"
    config.write_text(f"[global]\nextra-index-url = {index.address}/elsewhere\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    new = fake_builds.wheel(place.folder / "new", fake_builds.GPU)
    index.offer("cu124", new)
    exchange = place.exchange()
    exchange.rollback.prepare()
    exchange.pip.fetch(index.address, BUILDS["cu124"], lambda: None)
    assert [path.read_bytes() for path in exchange.pip.wheels.iterdir()] == [new.read_bytes()]
    assert not [path for path in index.asked if "elsewhere" in path]


def test_the_cuda_runtime_is_installed_and_removed_with_the_build(place, index, monkeypatch):
    fake_builds.without(place.site / "llama_cpp")
    fake_builds.without(next(place.site.glob("llama_cpp_python-*")))
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/pypi")
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    packages = BUILDS["cu124"].packages
    for requirement, package in zip(packages, ("cuda_runtime_of_test", "cublas_of_test"), strict=True):
        project = requirement.partition("==")[0]
        name = project.replace("-", "_")
        made = fake_builds.wheel(place.folder / "cuda", "pass", name=name, package=package, version="12.4.5")
        index.offer("pypi", made, project=project)
    index.offer("cu124", fake_builds.wheel(place.folder / "new", fake_builds.GPU))
    exchange = place.exchange()
    exchange.set_up(index.address, [BuildOffer(BUILDS["cu124"], packages)])
    assert (place.site / "cublas_of_test").is_dir()
    exchange.roll_back(exchange.rollback.last())
    assert not (place.site / "cublas_of_test").exists()
    assert fake_builds.says(place.python) is None


def test_nothing_is_downloaded_without_enough_disk_space(place, index, offers, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1 << 20})())
    with pytest.raises(SetupFailed, match="make room"):
        place.exchange().set_up(index.address, offers("cu124"))
    assert index.asked == []


PLUGIN = BuildOffer(BUILDS["sm86"], ())


@pytest.fixture
def plugin(place):
    """A folder with the plug-ins' wheels, from which the environment's pip takes them."""
    folder = place.folder / "plugins"
    for name in ("laguna_ggml_cuda_sm86", "laguna_ggml_vulkan"):
        fake_builds.wheel(folder, "pass", name=name, package="laguna_ggml_plugins")

    def exchange(attempt):
        installer = place.exchange(attempt)
        installer.pip.folder = folder
        return installer

    return exchange


def computes(python, beside):
    return Trial(("Some Card",), 16, 0.5)


@pytest.mark.parametrize("name", ["sm86", "vulkan-plugin"])
def test_a_plug_in_is_installed_beside_the_build_and_removed_alone(place, plugin, name):
    exchange = plugin(computes)
    before = fake_builds.listing(place.site)
    exchange.set_up("", [BuildOffer(BUILDS[name], ())])
    assert (place.site / "laguna_ggml_plugins/lib/libllama.so").exists()
    assert fake_builds.says(place.python) == fake_builds.CPU
    exchange.roll_back(exchange.rollback.last())
    assert fake_builds.listing(place.site) == before
    assert exchange.rollback.last() is None


def test_a_plug_in_that_fails_once_installed_leaves_the_build_as_it_was(place, plugin):
    before = fake_builds.listing(place.site)
    exchange = plugin(
        lambda python, beside: Trial(trouble="the card fell out") if beside is None else computes("", beside)
    )
    with pytest.raises(SetupFailed) as error:
        exchange.set_up("", [PLUGIN])
    assert str(error.value) == "the installed build does not work: the card fell out; the previous build was restored"
    assert fake_builds.listing(place.site) == before


def test_an_interrupted_setup_of_a_plug_in_does_not_uninstall_the_build(place, plugin):
    exchange = plugin(computes)
    exchange.rollback.prepare()
    exchange.rollback.begin(place.site, "sm86", ("laguna-ggml-cuda-sm86",), plugin=True)
    assert plugin(computes).recover()
    assert fake_builds.says(place.python) == fake_builds.CPU
