"""Drafts and snapshots change no answer: byte for byte in strict mode, for every type of the KV cache."""

from pathlib import Path

from tests.engine.runs import in_a_strict_process


def test_strict_answers_are_the_plain_ones(model: Path, tmp_path: Path):
    printed = in_a_strict_process(Path(__file__).with_name("strict_child.py"), str(model), str(tmp_path))
    found = [line.split() for line in printed.splitlines()]
    # Two questions, each drafted from two sources and behind a snapshot.
    assert [(kv, equal) for kv, equal, _ in found] == [("f16", "6"), ("q8_0", "6"), ("q4_0", "6")]
    assert all(int(accepted) > 10 for *_, accepted in found)
