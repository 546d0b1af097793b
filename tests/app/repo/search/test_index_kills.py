"""A process that is killed while it writes leaves an index that fits together (200 moments: `index_kills.py`)."""

import random

import pytest

from tests.app.repo.search.index_kills import killed


@pytest.mark.parametrize("writers", [1, 2])
def test_an_index_fits_together_after_its_writers_were_killed(tmp_path, writers):
    root, cache = tmp_path / "root", tmp_path / "cache"
    root.mkdir()
    rng = random.Random(writers)
    assert [killed(root, cache, rng, writers) for _ in range(3)] == [[], [], []]
