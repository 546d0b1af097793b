"""The tiny real models of the engine's tests, for the tests of the app."""

import pytest

from tests.engine import tiny
from tests.engine.conftest import tiny_model

__all__ = ["tiny_model", "tiny_model_path"]


@pytest.fixture(scope="session")
def tiny_model_path(tmp_path_factory):
    """A random model. With a vocabulary as small as its own, the app's prompt alone takes 3,300 tokens."""
    return tiny.laguna(tiny.Shape(n_ctx=8192)).write(tmp_path_factory.mktemp("models") / "tiny-laguna.gguf")
