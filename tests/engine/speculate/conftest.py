"""A tiny target with a drafter that reads its layers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.llama.model import Model
from tests.engine import drafters, tiny


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The target and its drafter."""
    folder = tmp_path_factory.mktemp("pair")
    drafter = drafters.make(drafters.Variant(window=64, taps=(0, 1, 2))).write(folder / "drafter.gguf")
    return tiny.laguna().write(folder / "target.gguf"), drafter


@pytest.fixture(scope="module")
def model(files: tuple[Path, Path]) -> Iterator[Model]:
    """The target alone."""
    opened = Model.open(files[0])
    yield opened
    opened.close()
