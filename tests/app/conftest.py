"""The tiny real models of the engine's tests, for the tests of the app."""

from tests.engine.conftest import tiny_model, tiny_model_path

__all__ = ["tiny_model", "tiny_model_path"]
