"""Model files without weights, made once per run."""

from pathlib import Path

import pytest

from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.gguf import header
from tests.engine import tiny
from tests.engine.fit import outlines


@pytest.fixture(scope="session")
def xs_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Laguna XS file without weights."""
    return outlines.write(tmp_path_factory.mktemp("outlines") / "xs.gguf", tiny.XS, outlines.q4_k_m)


@pytest.fixture(scope="session")
def xs(xs_path: Path) -> ModelShape:
    """Its shape."""
    return ModelShape.of(header.check(xs_path))
