"""An environment with a CPU build, and an index with a GPU build."""

from types import SimpleNamespace

import pytest

from laguna_tui.base.network import Network
from laguna_tui.machine.setup_gpu.builds import BUILDS
from laguna_tui.machine.setup_gpu.installer import BuildOffer, Installer
from laguna_tui.machine.setup_gpu.pip import Pip, PythonEnvironment
from laguna_tui.machine.setup_gpu.rollback import Rollback
from tests.app.machine.setup_gpu import fake_builds


@pytest.fixture
def index():
    server = fake_builds.Index()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """Loopback goes through no proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def place(tmp_path):
    """An environment that holds a CPU build: `python`, its `site`, and `exchange(attempt)` to change it."""
    python = fake_builds.environment(tmp_path, fake_builds.wheel(tmp_path / "old", fake_builds.CPU))
    said = []

    def exchange(attempt=fake_builds.try_build):
        environment = PythonEnvironment.of(python)
        rollback = Rollback(tmp_path / "state", environment.prefix)
        return Installer(
            environment, rollback, Pip(environment, rollback.work, Network()), attempt, said.append, lambda text: None
        )

    return SimpleNamespace(
        python=python, site=fake_builds.site_of(tmp_path), exchange=exchange, said=said, folder=tmp_path
    )


@pytest.fixture
def offers():
    """Offers for tags by name, with nothing needed besides."""
    return lambda *names: [BuildOffer(BUILDS[name], ()) for name in names]
