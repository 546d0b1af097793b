"""The file of a run is written by one process, also on a disk whose locks exclude nobody."""

import fcntl
from dataclasses import dataclass
from pathlib import Path

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.evals.record_file import RecordFile, read_records


@dataclass(frozen=True)
class Head:
    title: str


@dataclass(frozen=True)
class Record:
    number: int


def opened(path: Path) -> RecordFile[Head, Record]:
    return RecordFile.open(path, Head("run"), Record, lambda head: None)


def test_a_file_is_continued_with_what_is_missing(tmp_path: Path):
    path = tmp_path / "out.jsonl"
    for number in (1, 2):
        file = opened(path)
        file.add(Record(number))
        file.close()
    assert read_records(path, Head, Record, "test") == (Head("run"), [Record(1), Record(2)])


@pytest.mark.parametrize("sorted_", [False, True], ids=["a record was added", "the file was sorted"])
def test_where_locks_exclude_nobody_a_second_process_is_refused(tmp_path: Path, monkeypatch, sorted_: bool):
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)
    path = tmp_path / "out.jsonl"
    one, other = opened(path), opened(path)
    if sorted_:
        one.sort(lambda record: record.number)
    else:
        one.add(Record(1))
    before = path.read_bytes()
    said = f"{path}: another laguna-tui writes to it; wait for its end, or give another file with --out"
    with pytest.raises(UserError) as refused:
        other.add(Record(2))
    assert str(refused.value) == said
    with pytest.raises(UserError) as refused:
        other.sort(lambda record: record.number)
    assert str(refused.value) == said
    assert path.read_bytes() == before
    one.close()
    other.close()
