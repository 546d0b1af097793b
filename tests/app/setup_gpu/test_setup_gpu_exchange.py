"""Exchanging builds: with a real pip, in an environment of its own, from an index on loopback."""

import os

import pytest

from laguna_tui.setup_gpu.exchange import Offer
from laguna_tui.setup_gpu.faults import SetupFailed
from laguna_tui.setup_gpu.pip import Pip
from laguna_tui.setup_gpu.tags import TAGS
from laguna_tui.setup_gpu.trial import Trial
from tests.app.setup_gpu import builds


def test_a_build_that_does_not_work_is_never_installed(place, index, offers):
    index.offer("cu124", builds.wheel(place.folder / "new", builds.CPU))
    before = builds.listing(place.site)
    exchange = place.exchange()
    with pytest.raises(SetupFailed, match=r"it finds no graphics card \(backends: CPU\)") as failure:
        exchange.set_up(index.address, offers("cu124"))
    assert "Nothing was changed" in str(failure.value)
    assert builds.listing(place.site) == before
    assert exchange.kept.way_back() is None
    assert not exchange.kept.work.exists()


def test_a_build_that_fails_once_installed_is_taken_out_again(place, offers, monkeypatch):
    def attempt(python, beside):
        if beside is not None:
            return builds.try_build(python, beside)
        assert builds.says(python) == builds.GPU
        return Trial(trouble="the card fell out")

    # Where a wheel comes from does not matter here, and asking an index takes its time.
    monkeypatch.setattr(Pip, "fetch", lambda pip, *_: builds.wheel(pip.wheels, builds.GPU))
    with pytest.raises(SetupFailed, match=r"the card fell out; what was there before is back"):
        place.exchange(attempt).set_up("", offers("cu124"))
    assert builds.says(place.python) == builds.CPU
    assert place.exchange().kept.unfinished() is None


def test_what_was_tried_and_nothing_else_is_installed(place, index, offers):
    """Between the trial and the installation the fetched file is changed: its hash no longer fits."""

    def attempt(python, beside):
        tried = builds.try_build(python, beside)
        builds.wheel(exchange.pip.wheels, {**builds.GPU, "tokens": 99})
        return tried

    index.offer("cu124", builds.wheel(place.folder / "new", builds.GPU))
    exchange = place.exchange(attempt)
    with pytest.raises(SetupFailed, match="THESE PACKAGES DO NOT MATCH THE HASHES"):
        exchange.set_up(index.address, offers("cu124"))
    assert builds.says(place.python) == builds.CPU


def test_a_setup_that_was_cut_off_is_undone_by_the_next_one(place):
    exchange = place.exchange()
    exchange.kept.prepare()
    exchange.kept.begin(place.site, "cu124", "0" * 64, ())
    exchange.pip.put_back(builds.wheel(place.folder / "new", builds.GPU))
    assert builds.says(place.python) == builds.GPU
    later = place.exchange()
    assert later.recover()
    assert builds.says(place.python) == builds.CPU
    assert not later.recover()


def test_where_the_wheel_of_a_setup_that_was_cut_off_is_gone_nothing_is_taken_out(place):
    exchange = place.exchange()
    exchange.kept.prepare()
    record = exchange.kept.begin(place.site, "cu124", "0" * 64, ())
    (exchange.kept.folder / "incoming" / record.wheel).unlink()
    later = place.exchange()
    with pytest.raises(SetupFailed, match=r"is gone from .*, so what is installed stays"):
        later.recover()
    assert builds.says(place.python) == builds.CPU
    assert not later.recover()


def test_an_index_that_cannot_be_reached_is_not_taken_for_one_without_the_version(place, index, offers):
    index.close()
    with pytest.raises(SetupFailed, match="look at the connection"):
        place.exchange().set_up(index.address, offers("cu124", "cu123"))
    assert place.said == []


def test_a_wheel_that_is_not_what_its_index_promises_is_refused(place, index, offers):
    index.offer("cu124", builds.wheel(place.folder / "new", builds.GPU), sha256="0" * 64)
    with pytest.raises(SetupFailed, match="could not be fetched"):
        place.exchange().set_up(index.address, offers("cu124"))
    assert builds.says(place.python) == builds.CPU


def test_what_pip_is_told_about_other_indexes_does_not_decide(place, index, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(place.folder / "old"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    config = place.folder / "pip.conf"
    config.write_text(f"[global]\nextra-index-url = {index.address}/elsewhere\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    new = builds.wheel(place.folder / "new", builds.GPU)
    index.offer("cu124", new)
    exchange = place.exchange()
    exchange.kept.prepare()
    exchange.pip.fetch(index.address, TAGS["cu124"], lambda: None)
    assert [path.read_bytes() for path in exchange.pip.wheels.iterdir()] == [new.read_bytes()]
    assert not [path for path in index.asked if "elsewhere" in path]


def test_the_cuda_runtime_comes_along_and_goes_again_and_where_nothing_was_nothing_is_left(place, index, monkeypatch):
    builds.without(place.site / "llama_cpp")
    builds.without(next(place.site.glob("llama_cpp_python-*")))
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/pypi")
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    packages = TAGS["cu124"].packages
    for requirement, package in zip(packages, ("cuda_runtime_of_test", "cublas_of_test"), strict=True):
        project = requirement.partition("==")[0]
        name = project.replace("-", "_")
        made = builds.wheel(place.folder / "cuda", "pass", name=name, package=package, version="12.4.5")
        index.offer("pypi", made, project=project)
    index.offer("cu124", builds.wheel(place.folder / "new", builds.GPU))
    exchange = place.exchange()
    exchange.set_up(index.address, [Offer(TAGS["cu124"], packages)])
    assert (place.site / "cublas_of_test").is_dir()
    exchange.roll_back(exchange.kept.way_back())
    assert not (place.site / "cublas_of_test").exists()
    assert builds.says(place.python) is None


def test_without_room_on_the_disk_nothing_is_fetched(place, index, offers, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1 << 20})())
    with pytest.raises(SetupFailed, match="make room"):
        place.exchange().set_up(index.address, offers("cu124"))
    assert index.asked == []
