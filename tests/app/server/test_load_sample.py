"""A short sample of `python -m tests.bench.server_load`."""

from pathlib import Path

from tests.bench.server_load import load
from tests.engine import tiny


def test_many_clients_with_different_prompts_are_all_answered_alike(tmp_path: Path):
    file = tiny.laguna(tiny.Shape(n_ctx=16_384)).write(tmp_path / "tiny.gguf")
    report = load(file, clients=8, rounds=3)
    assert report.failures == {}
    assert set(report.answers.values()) == {3}
    assert report.held["held_conversations"] == 7
    assert report.held["held_dropped_total"] == 0
    # Each conversation was in memory when its next message came: only the last token of a prompt is computed again.
    assert report.read_again <= 8 * 3
