"""What the app sets for a process of its own is not set in that of the tests, and the terminal has all colours."""

from collections.abc import Iterator

import pytest

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
