"""Verdicts of child processes are stored for this build and processor; a damaged file counts as empty."""

import json
import os
import stat
from pathlib import Path

import pytest

from laguna_engine.native import verdicts as module
from laguna_engine.native.verdicts import Verdicts, build_identity


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "native.json"


def kept(path: Path) -> Verdicts:
    found = Verdicts()
    found.store_in(path)
    return found


def test_without_a_file_a_verdict_lasts_as_long_as_the_process() -> None:
    found = Verdicts()
    assert found.get("buffer AMX") is None
    found.put("buffer AMX", "works")
    assert found.get("buffer AMX") == "works"


def test_a_verdict_is_found_by_the_next_process(path: Path) -> None:
    kept(path).put("buffer AMX", "it crashes with SIGSEGV")
    assert kept(path).get("buffer AMX") == "it crashes with SIGSEGV"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_two_processes_do_not_lose_each_others_verdicts(path: Path) -> None:
    first, second = kept(path), kept(path)
    first.put("one", "works")
    second.put("two", "works")
    assert (kept(path).get("one"), kept(path).get("two")) == ("works", "works")


def test_what_this_process_saw_counts_more_than_the_file(path: Path) -> None:
    kept(path).put("one", "works")
    found = Verdicts()
    found.put("one", "it crashes with SIGSEGV")
    found.store_in(path)
    assert found.get("one") == "it crashes with SIGSEGV"


def test_another_build_knows_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(path).put("one", "works")
    monkeypatch.setattr(module, "build_identity", lambda: "another")
    assert kept(path).get("one") is None


def test_the_build_is_known_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "libggml-cpu.so"
    library.write_bytes(b"one build")
    monkeypatch.setattr(module, "library_folders", lambda: (tmp_path,))
    build_identity.cache_clear()
    before = build_identity()
    build_identity.cache_clear()
    assert build_identity() == before
    os.utime(library, ns=(0, 0))
    build_identity.cache_clear()
    assert build_identity() != before
    build_identity.cache_clear()


def test_the_processor_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "cpuinfo"
    identities = set()
    for flags in ("avx2", "avx2 amx_tile"):
        info.write_text(
            f"processor\t: 0\nmodel name\t: A\ncpu MHz\t\t: {len(flags)}\nflags\t\t: {flags}\n\nprocessor\t: 1\n"
        )
        monkeypatch.setattr(module, "_CPU_INFO", info)
        build_identity.cache_clear()
        identities.add(build_identity())
        info.write_text(info.read_text().replace("cpu MHz\t\t: ", "cpu MHz\t\t: 9"))
        build_identity.cache_clear()
        identities.add(build_identity())
    build_identity.cache_clear()
    assert len(identities) == 2


BAD = {
    "empty": b"",
    "torn": b'{"format": 1, "verdicts": {"a',
    "not text": b"\xff\xfe\x00",
    "another format": b'{"format": 2, "verdicts": {"k": "works"}}',
    "a list": b"[1, 2]",
    "verdicts that are a list": b'{"format": 1, "verdicts": ["k"]}',
    "deep": b"[" * 100_000,
    "large": b'{"format": 1, "verdicts": {"k": "' + b"x" * (1 << 19) + b'"}}',
    "numbers": b'{"format": 1, "verdicts": {"k": 5}}',
    "a long verdict": b'{"format": 1, "verdicts": {"k": "' + b"x" * 300 + b'"}}',
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_as_none_and_is_replaced(path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_key", lambda subject: subject)
    path.parent.mkdir()
    path.write_bytes(content)
    found = kept(path)
    assert found.get("k") is None
    found.put("one", "works")
    assert json.loads(path.read_text())["verdicts"] == {"one": "works"}


def test_a_fifo_in_its_place_does_not_block(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    assert kept(path).get("one") is None


def test_where_nothing_can_be_written_it_lasts_as_long_as_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = kept(tmp_path / "file" / "native.json")
    found.put("one", "works")
    assert found.get("one") == "works"


def test_the_oldest_verdicts_go_first(path: Path) -> None:
    found = kept(path)
    for index in range(600):
        found.put(f"file {index}", "opens")
    again = kept(path)
    assert (again.get("file 0"), again.get("file 599")) == (None, "opens")
    assert path.stat().st_size < 1 << 18
