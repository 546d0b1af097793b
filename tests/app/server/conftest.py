"""Servers for the tests of the doors to other programs."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from laguna_tui.server.http_app import Timing
from laguna_tui.server.http_server import ServerOptions
from tests.app.server.serving import NANO, Served, scripted, served


@pytest.fixture(scope="session")
def nano() -> Iterator[Served]:
    """The bundled model; what a test leaves in its cache must not matter to another."""
    with served(NANO) as found:
        yield found


@pytest.fixture
def tiny(tiny_model_path: Path) -> Iterator[Served]:
    """A random model, which continues for as long as it may; one request waits beside the one that is answered."""
    options = ServerOptions(port=0, waiting=1, timing=Timing(send_s=0.5))
    with served(tiny_model_path, options, context=8192) as found:
        yield found


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Serves a script."""
    with ExitStack() as stack:
        yield lambda script, *more, **settings: _opened(stack, tmp_path, script, *more, **settings)


def _opened(stack: ExitStack, folder: Path, script: Any, *more: Any, **settings: Any) -> Served:
    return stack.enter_context(scripted(folder, script, *more, **settings))
