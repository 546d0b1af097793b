"""The shop of the index's tests, and its codebase."""

import pytest

from laguna_tui.context.codebase import Codebase
from tests.app.repo.conftest import cache, shop

__all__ = ["cache", "shop"]

READY_S = 60.0


@pytest.fixture
def codebase(shop, cache):
    """Of the shop as it is when this is first asked for, ready."""
    opened = Codebase(shop, cache)
    opened.start()
    assert opened.wait(READY_S)
    yield opened
    opened.close()
