"""A tiny pair of random weights whose context holds the app's own prompt."""

import sys
from pathlib import Path

import pytest

# Where pytest itself looks for them once it has collected the engine's tests.
sys.path.insert(0, str(Path(__file__).parents[2] / "engine"))

import drafters
import tiny


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
