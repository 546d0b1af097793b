"""The chat templates of real models: those that llama.cpp has for its own tests, in the sdist that the app is built on.

Read where pip has left the sdist, or from the file that LAGUNA_TUI_SDIST names; without either the tests skip.
"""

import functools
import os
import tarfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from laguna_engine.chat.chat_template import ChatTemplate

_SIZES = range(60_000_000, 120_000_000)
_FOLDER = "/vendor/llama.cpp/models/templates/"
NAMES = {"bos_token": "<s>", "eos_token": "</s>"}


def open_template(source: str) -> ChatTemplate:
    """A template on the day on which all tests take place."""
    return ChatTemplate(source, datetime(2026, 1, 2))


@functools.cache
def templates() -> Mapping[str, str]:
    """The templates by name; skips the test where there is no sdist."""
    given = os.environ.get("LAGUNA_TUI_SDIST")
    cache = Path(os.environ.get("PIP_CACHE_DIR", "~/.cache/pip")).expanduser()
    for path in [Path(given)] if given else cache.glob("http*/**/*"):
        if path.is_file() and (given or path.stat().st_size in _SIZES) and (found := _read(path)):
            return found
    pytest.skip("needs the sdist of llama-cpp-python in pip's cache, or LAGUNA_TUI_SDIST")


def _read(path: Path) -> dict[str, str]:
    try:
        with tarfile.open(path, "r:gz") as archive:
            return {
                Path(each.name).stem: part.read().decode()
                for each in archive
                if _FOLDER in each.name and each.name.endswith(".jinja") and (part := archive.extractfile(each))
            }
    except (tarfile.TarError, OSError, EOFError):
        return {}
