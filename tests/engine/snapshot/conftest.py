"""The tiny model of the snapshot tests."""

from pathlib import Path

import pytest

from tests.engine import tiny


@pytest.fixture(scope="session")
def tiny_model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Laguna whose answers end only where a request says so."""
    return tiny.never_ends(tiny.laguna()).write(tmp_path_factory.mktemp("models") / "tiny-laguna.gguf")
