"""The file of a run is written by one process, also on a disk whose locks do not work."""

import fcntl
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.evals.samples import RunFacts, RunFile, Sample, read_samples

FACTS = RunFacts("tiny", {}, 1)


def sample(index: int) -> Sample:
    return Sample("a", "functions", index, 1, 1.0, "answered", 1, 1, 1, 0, 0, 0.1, 0.1, "", "")


def opened(path: Path) -> RunFile[Sample]:
    return RunFile.open(path, FACTS, Sample)


def test_a_file_is_continued_with_what_is_missing(tmp_path: Path):
    path = tmp_path / "out.jsonl"
    for index in (1, 2):
        file = opened(path)
        file.add(sample(index))
        file.close()
    facts, samples = read_samples(path)
    assert facts == FACTS
    assert [replace(each, tokens=()) for each in samples] == [sample(1), sample(2)]


def test_where_locks_exclude_nobody_a_second_process_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)
    path = tmp_path / "out.jsonl"
    one, other = opened(path), opened(path)
    one.add(sample(1))
    before = path.read_bytes()
    with pytest.raises(UserError) as refused:
        other.add(sample(2))
    said = f"{path}: another laguna-tui is writing to it; wait until it ends, or give another file with --out"
    assert str(refused.value) == said
    assert path.read_bytes() == before
    one.close()
    other.close()
