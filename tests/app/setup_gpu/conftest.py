"""An environment with a CPU build, and an index with a GPU build."""

from types import SimpleNamespace

import pytest

from laguna_tui.network import Network
from laguna_tui.setup_gpu.environment import Environment
from laguna_tui.setup_gpu.exchange import Exchange, Offer
from laguna_tui.setup_gpu.kept import Kept
from laguna_tui.setup_gpu.pip import Pip
from laguna_tui.setup_gpu.tags import TAGS
from tests.app.setup_gpu import builds


@pytest.fixture
def index():
    server = builds.Index()
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
    python = builds.environment(tmp_path, builds.wheel(tmp_path / "old", builds.CPU))
    said = []

    def exchange(attempt=builds.try_build):
        environment = Environment.of(python)
        kept = Kept(tmp_path / "state", environment.prefix)
        return Exchange(
            environment, kept, Pip(environment, kept.work, Network()), attempt, said.append, lambda text: None
        )

    return SimpleNamespace(python=python, site=builds.site_of(tmp_path), exchange=exchange, said=said, folder=tmp_path)


@pytest.fixture
def offers():
    """Offers for tags by name, with nothing needed besides."""
    return lambda *names: [Offer(TAGS[name], ()) for name in names]
