"""Tiny real models for the engine's tests, made once per run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.llama.model import Model
from tests.engine import tiny


@pytest.fixture(scope="session")
def tiny_model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete tiny Laguna with random weights."""
    return tiny.laguna().write(tmp_path_factory.mktemp("models") / "tiny-laguna.gguf")


@pytest.fixture(scope="session")
def tiny_model(tiny_model_path: Path) -> Iterator[Model]:
    """The tiny Laguna, opened; shared by the whole run, so close contexts but not the model."""
    model = Model.open(tiny_model_path)
    yield model
    model.close()
