"""What the app sets for a process of its own is not set in that of the tests, and the terminal has all colours.

The fixture `chat` makes sessions with a scripted model, which share an engine.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from laguna_tui.session.session import Session
from laguna_tui.session.session_pool import SharedEngine
from laguna_tui.tui.process_setup import GcTuner


@pytest.fixture(autouse=True)
def python_collects_garbage_by_itself(request: pytest.FixtureRequest) -> Iterator[None]:
    """A heap of hundreds of tests takes a second to visit, and each app here would do that after every answer."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.name != "test_gc_tuning.py":
            patch.setattr(GcTuner, "collect_and_freeze", lambda self: None)
        yield


@pytest.fixture(autouse=True)
def all_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in most terminals, whatever the one is that the tests run in."""
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture(scope="session")
def engine() -> Iterator[SharedEngine]:
    """The engine of a scripted model, which one session after another uses."""
    shared = SharedEngine(0)
    yield shared
    shared.end()


@pytest.fixture
def chat(engine: SharedEngine, tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Makes sessions about an empty folder with a model that says these turns; see `scripted_session`."""
    # Imported late: it brings the engine.
    from tests.scripted_model import Script, scripted_session

    folder = tmp_path / "project"
    folder.mkdir()
    usual = {"context": 8192, "thinking": False}
    with ExitStack() as opened:

        def made(*script: Any, **settings: Any) -> Session:
            lines = script[0] if len(script) == 1 and isinstance(script[0], Script) else script
            session = scripted_session(folder, lines, source=engine, **{**usual, **settings})
            opened.callback(session.close)
            return session

        yield made
