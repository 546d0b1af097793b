"""What a scorer takes on its device stays below what its header says, however its windows come."""

from pathlib import Path

import pytest

from laguna_engine.compress import scorer_file
from laguna_engine.compress.scorer import Scorer
from laguna_engine.compress.scorer_graph import ScorerModel
from laguna_engine.compress.scorer_memory import graph_size, graphs_room, scorer_room, weights_size
from laguna_engine.compress.scorer_windows import Query, Window, sizes
from laguna_engine.gguf import header
from tests.engine import scorers
from tests.engine.scorers import Variant

VARIANTS = {
    "separate head": Variant(),
    "tied": Variant(tied=True, n_vocab=1000),
    "wide": Variant(n_embd=128, n_ff=512, heads=8, kv_heads=2),
    "many heads": Variant(n_embd=64, heads=16, kv_heads=16, n_ff=32),
    "narrow heads": Variant(heads=2, kv_heads=1, n_ff=640),
}
WINDOW = 1024


@pytest.fixture(params=VARIANTS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return scorers.make(VARIANTS[request.param]).write(tmp_path / "scorer.gguf")


def run(model: ScorerModel, rows: int, query: int) -> None:
    """One window of so many rows, a single block in it."""
    asked = Query(tuple(10 + number % 200 for number in range(query)), model.newline)
    model.run(Window(rows, asked, [[20] * (rows - asked.length([0]) + 1)]))


def test_a_graph_takes_no_more_than_is_said_and_not_much_less(path: Path) -> None:
    file = scorer_file.describe(header.check(path))
    model = ScorerModel.open(path, None, 1, WINDOW, 0)
    try:
        for rows in sizes(WINDOW):
            for query in (8, rows // 3):
                run(model, rows, query)
                newest = list(model._bodies.values())[-1].nbytes
                assert graph_size(file, rows) / 3 < newest <= graph_size(file, rows)
    finally:
        model.close()


def test_all_together_stay_below_the_room_whatever_sizes_come(path: Path) -> None:
    file = scorer_file.describe(header.check(path))
    model = ScorerModel.open(path, None, 1, WINDOW, 0)
    try:
        for turn in range(3):
            for rows in sizes(WINDOW)[:: -1 if turn % 2 else 1]:
                for query in (8, rows // 3, rows // 2 + 8 if rows > 300 else 8):
                    run(model, rows, query)
                    assert sum(body.nbytes for body in model._bodies.values()) <= graphs_room(file, WINDOW)
                    assert model.nbytes <= scorer_room(file, WINDOW)
    finally:
        model.close()


def test_weights_are_counted_to_the_byte(path: Path) -> None:
    file = scorer_file.describe(header.check(path))
    model = ScorerModel.open(path, None, 1, WINDOW, 0)
    try:
        assert model._weights is not None
        assert model._weights.nbytes == pytest.approx(weights_size(file), rel=0.02)
    finally:
        model.close()


def test_scores_are_the_same_when_graphs_had_to_make_room(path: Path) -> None:
    texts = ["def f(a):\n    return a\n" * count for count in (1, 90, 3, 40, 1)]
    with Scorer.open(path, threads=1, window=WINDOW) as scorer:
        assert scorer.score(texts, "what does f return?") == scorer.score(texts, "what does f return?")
