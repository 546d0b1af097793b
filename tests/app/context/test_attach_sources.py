"""Files as text: read as far as needed, never torn, and again as soon as they change."""

import os

import pytest

from laguna_tui.context import source_files as module
from laguna_tui.context.source_files import SourceFiles, read_source
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("limit", range(60, 68))
def test_a_beginning_is_never_torn_inside_a_character_or_line(workspace, encoding, limit):
    text = "größe 😀\n" * 40
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (workspace.root / "a.txt").write_bytes((mark + text).encode(encoding))
    source = read_source(workspace, "a.txt", limit)
    assert not source.complete
    assert source.text
    assert set(source.lines) == {"größe 😀"}


def test_a_single_line_longer_than_the_limit_is_cut_between_characters(workspace):
    (workspace.root / "min.js").write_bytes(("é" * 100).encode())
    assert read_source(workspace, "min.js", 51).text == "é" * 25 + "\n"


def test_a_latin_file_longer_than_the_limit_stays_latin(workspace):
    (workspace.root / "latin.txt").write_bytes("Jürgen\n".encode("latin-1") * 50)
    assert set(read_source(workspace, "latin.txt", 100).lines) == {"Jürgen"}


def test_lines_are_those_of_the_tools(workspace):
    (workspace.root / "a.py").write_bytes(b"one\r\n\x0ctwo\r\nthree")
    assert SourceFiles(workspace).read("a.py").lines == ["one", "\x0ctwo", "three"]


def test_an_unchanged_file_is_read_once_and_a_changed_one_again(workspace):
    path = workspace.root / "a.py"
    path.write_text("x = 1\n")
    sources = SourceFiles(workspace)
    first = sources.read("a.py")
    assert sources.read("a.py") is first
    stamp = path.stat()
    path.write_text("x = 2\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert sources.read("a.py").text == "x = 2\n"


def test_a_file_that_is_gone_is_not_remembered(workspace):
    (workspace.root / "a.py").write_text("x = 1\n")
    sources = SourceFiles(workspace)
    sources.read("a.py")
    (workspace.root / "a.py").unlink()
    with pytest.raises(WorkspaceError) as error:
        sources.read("a.py")
    assert str(error.value) == "there is no file a.py; use find to see which files there are"


def test_a_binary_file_is_refused_with_its_name(workspace):
    (workspace.root / "a.png").write_bytes(b"\x89PNG\0")
    with pytest.raises(WorkspaceError) as error:
        SourceFiles(workspace).read("a.png")
    assert str(error.value) == "a.png is a binary file; try another file"


def test_what_is_remembered_is_bounded(workspace, monkeypatch):
    monkeypatch.setattr(module, "_CACHED_CHARS", 100)
    sources = SourceFiles(workspace)
    for number in range(10):
        (workspace.root / f"{number}.py").write_text("x" * 39 + "\n")
    read = [sources.read(f"{number}.py") for number in range(10)]
    assert sources.read("9.py") is read[9]
    assert sources.read("8.py") is read[8]
    assert sources.read("0.py") is not read[0]


def test_a_text_is_counted_once():
    counted = []
    count = CachedTokenCounter(lambda text: counted.append(text) or len(text))
    assert [count("abc"), count("abc"), count.within("abc", 3), count.within("abc", 2)] == [3, 3, 3, None]
    assert counted == ["abc"]


def test_a_text_that_is_far_too_long_is_not_counted_at_all():
    def never(text):
        raise AssertionError("it was counted")

    assert CachedTokenCounter(never).within("x" * 10_000, 10) is None
