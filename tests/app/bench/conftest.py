"""A tiny pair of random weights whose context holds the app's own prompt."""

from pathlib import Path

import pytest

from tests.engine import drafters, tiny


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A target and its drafter."""
    folder = tmp_path_factory.mktemp("pair")
    target = tiny.laguna(tiny.Shape(n_ctx=16384)).write(folder / "target.gguf")
    return target, drafters.make(drafters.Variant()).write(folder / "drafter.gguf")


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    """A user's own prompts."""
    path = tmp_path / "prompts.txt"
    path.write_text("where is add defined?\n\nwhat does it return,\nand why?\n")
    return path
