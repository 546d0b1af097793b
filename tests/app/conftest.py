"""A tiny real model for the tests of the app, made once a run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.llama.model import Model
from tests.engine import tiny


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole tiny Laguna with random weights."""
    return tiny.laguna().write(tmp_path_factory.mktemp("models") / "tiny-laguna.gguf")


@pytest.fixture(scope="session")
def model(tiny_path: Path) -> Iterator[Model]:
    """The tiny Laguna, opened for its vocabulary."""
    opened = Model.open(tiny_path)
    yield opened
    opened.close()
