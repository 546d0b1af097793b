"""Whole files of any bytes, paths and texts: exactly what was proposed is made, or nothing is; and no line is lost."""

import re
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.base.text_diff import Sign, diff_texts
from laguna_tui.repo.edits.file_changes import apply_change, propose_delete, propose_move, propose_write
from laguna_tui.repo.edits.symbol_edits import propose_symbol
from laguna_tui.repo.files.text_files import decode
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

LINE_BREAK = re.compile("\r\n|\n|\r")
PATHS = st.sampled_from(
    ["f", "./f", "g", "d", "d/", "d/g", "new/deep/g", "f/g", "../f", ".git/x", "", " f", "f\0", "l"]
)
BYTES = st.binary(max_size=40) | st.text("ab\r\n \ufeff\u20ac", max_size=40).map(str.encode)
TEXT = st.text("ab \r\n\ufeff\u20ac\0\ud800", max_size=40)


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "project").mkdir()
    return Workspace(tmp_path / "project")


def files(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@given(st.lists(st.tuples(st.sampled_from(["write", "move", "delete"]), PATHS, PATHS, TEXT), max_size=6), BYTES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_change_is_made_exactly_or_refused(workspace, changes, data):
    for left in workspace.root.iterdir():
        shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
    (workspace.root / "d").mkdir()
    (workspace.root / "l").symlink_to("f")
    (workspace.root / "f").write_bytes(data)
    for kind, path, target, text in changes:
        before = files(workspace.root)
        try:
            if kind == "write":
                proposal = propose_write(workspace, path, text)
            elif kind == "move":
                proposal = propose_move(workspace, path, target)
            else:
                proposal = propose_delete(workspace, path)
            apply_change(proposal)
        except WorkspaceError as error:
            assert "\n" not in str(error)
            assert files(workspace.root) == before
            continue
        expected = {name: old for name, old in before.items() if name not in (proposal.path, "l")}
        if kind != "delete":
            expected[proposal.target or proposal.path] = proposal.new
        after = files(workspace.root)
        after.pop("l", None)
        assert after == expected
        assert (workspace.root / "l").is_symlink()
    assert not list(workspace.root.rglob("*.tmp"))


@given(st.text("ab \r\n", max_size=60), st.text("ab \r\n", max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_overwritten_file_has_the_lines_that_were_written(workspace, old, new):
    (workspace.root / "f").write_bytes(old.encode())
    try:
        after = propose_write(workspace, "f", new).after
    except WorkspaceError:
        after = decode(old.encode()).text
    assert LINE_BREAK.split(after) == LINE_BREAK.split(new)
    if old and "\r" not in old:
        assert "\r" not in after


@given(st.text("ab \r\n", max_size=80), st.text("ab \r\n", max_size=80))
def test_the_diff_of_two_texts_has_the_lines_of_both(before, after):
    hunks = diff_texts(before, after)
    assert bool(hunks) == (before != after)
    for hunk in hunks:
        lines = [line for line in hunk.lines if line.sign is not Sign.KEPT]
        assert lines
        assert all(line.text in before for line in lines if line.sign is Sign.REMOVED)
        assert all(line.text in after for line in lines if line.sign is Sign.ADDED)


@given(
    st.sampled_from(["f.py", "f.js", "f.go", "f.rb", "f.txt"]),
    st.text("def cas(){}:;\n\r\t .@#=1\"'`", max_size=80),
    st.text("abc.:#(*) ", max_size=8),
    st.text("def cas(){}:;\n\t .1\"'`\0", max_size=40),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_replacing_a_definition_keeps_what_is_around_it_or_is_refused(workspace, path, text, symbol, new):
    source = f"class A:\n    def c(self):\n        return 1\n{text}"
    (workspace.root / path).write_bytes(source.encode())
    try:
        proposal = propose_symbol(workspace, path, symbol or "A.c", new)
    except WorkspaceError as error:
        assert "\n" not in str(error)
    else:
        assert proposal.before != proposal.after
        assert proposal.new == decode(source.encode()).encode(proposal.after)
