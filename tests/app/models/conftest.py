"""A hub on loopback, a store in a temporary folder, and an environment in which nothing else is asked."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from laguna_tui.base.network import Network
from laguna_tui.models.download import Download
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.hub import Hub
from laguna_tui.models.store import Store
from tests.app.models.loopback_hub import LoopbackHub, Repository
from tests.app.models.sample_model import DATA, FILE, HASTY, REPOSITORY, model


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No token, proxy or endpoint of whoever runs the tests."""
    for name in ("HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    """A hub with one model of one file."""
    with LoopbackHub() as loopback:
        loopback.repositories[REPOSITORY] = Repository({FILE: DATA, "README.md": b"hello"})
        yield loopback


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store(tmp_path / "store")


@pytest.fixture
def get(hub: LoopbackHub, store: Store, tmp_path: Path) -> Callable[..., Download]:
    """Makes downloads from the loopback hub."""

    def make(*entries: ModelEntry, **changes: object) -> Download:
        known = {
            "store": store,
            "hub": Hub(hub.url, network=Network()),
            "retry_policy": HASTY,
            "cache": tmp_path / "cache",
            "free": lambda folder: 1 << 40,
        }
        return Download(entries or [model()], **{**known, **changes})  # type: ignore[arg-type]

    return make
