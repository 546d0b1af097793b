"""The chat templates of real models: those that llama.cpp has for its own tests, in the sdist that the app is built on.

`make real-templates` downloads the sdist; LAGUNA_TUI_SDIST names another file. Without either the tests skip.
"""

import functools
import os
import sys
import tarfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from laguna_engine.chat.chat_template import ChatTemplate

_FOLDER = "/vendor/llama.cpp/models/templates/"
NAMES = {"bos_token": "<s>", "eos_token": "</s>"}


def open_template(source: str) -> ChatTemplate:
    """A template on the day on which all tests take place."""
    return ChatTemplate(source, datetime(2026, 1, 2))


@functools.cache
def templates() -> Mapping[str, str]:
    """The templates by name; skips the test where there is no sdist."""
    given = os.environ.get("LAGUNA_TUI_SDIST")
    files = [Path(given)] if given else sorted(Path(sys.prefix, "real-templates").glob("*.tar.gz"))
    if not files:
        pytest.skip("llama-cpp-python's sdist is not here; download its 77 MB with: make real-templates")
    with tarfile.open(files[0], "r:gz") as archive:
        return {
            Path(each.name).stem: part.read().decode()
            for each in archive
            if _FOLDER in each.name and each.name.endswith(".jinja") and (part := archive.extractfile(each))
        }
