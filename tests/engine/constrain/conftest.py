"""One engine a module for the constraints' tests; each test begins with an empty context."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.engine import Engine, EngineOptions


@pytest.fixture(scope="module")
def opened(tiny_model_path: Path) -> Iterator[Engine]:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=768, threads=1)) as engine:
        yield engine


@pytest.fixture
def engine(opened: Engine) -> Engine:
    opened.clear()
    return opened
