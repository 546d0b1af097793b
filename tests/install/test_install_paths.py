"""Every way to install a release works in a clean environment: `pytest -m install`, after `make installer`."""

from pathlib import Path

import pytest

from tests.install.paths import ANSWER, PATHS, Clean, install
from tests.test_manual import TOP

DIST = TOP / "dist"
pytestmark = [pytest.mark.install, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("path", PATHS)
def test_the_bundled_model_answers_after_it(path: str, tmp_path: Path):
    if not list(DIST.glob("*-offline-*.tar.gz")):
        pytest.skip("there is no release to install; make one: make release wheels installer")
    assert ANSWER in install(path, Clean(tmp_path, DIST)).answer
