"""Edits of any file by any texts: exactly what was asked for, or a refusal; and a diff that says what was done."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.base.text_diff import diff_texts, unified
from laguna_tui.repo.edits.edit_files import propose_edit
from laguna_tui.repo.edits.file_changes import apply_change
from laguna_tui.repo.edits.text_replacement import find_replacements, replace_text
from laguna_tui.repo.files.text_files import decode
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "project").mkdir()
    return Workspace(tmp_path / "project")


PATHS = st.sampled_from(["f", "./f", "f/", "../f", "/etc/passwd", ".git/config", "", " f", "f\0", "\udcff", "a/../f"])
BYTES = st.binary(max_size=40) | st.text("ab\r\n \ufeff\u20ac", max_size=40).map(str.encode)


@given(PATHS, BYTES, st.text(max_size=3), st.text(max_size=8), st.booleans(), st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_for_is_done_exactly_or_refused(workspace, path, data, old, new, every, at):
    file = workspace.root / "f"
    file.write_bytes(data)
    text = decode(data).text
    old = old or text[at : at + 3]
    try:
        proposal = propose_edit(workspace, path, old, new, every)
        apply_change(proposal)
    except WorkspaceError as error:
        assert "\n" not in str(error)
        assert file.read_bytes() == data
    else:
        assert file.read_bytes() == proposal.new
        assert proposal.new == decode(data).encode(proposal.after)
        assert [each.name for each in workspace.root.iterdir() if each.is_file()] == ["f"]


TEXT = st.text("ab \n", max_size=60)


@given(TEXT, st.text("ab \n", min_size=1, max_size=3), TEXT, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_an_edit_does_what_replacing_does_in_any_text(text, old, new, newline, every):
    file = text.replace("\n", newline)
    made = find_replacements(file, old, new, every=every, limit=100)
    if every:
        # Whole words have tests of their own.
        old, made = f"{old} ", find_replacements(file, f"{old} ", new, every=True, limit=100)
        expected = text.replace(old, new).replace("\n", newline) if "\n" in text else text.replace(old, new)
        assert replace_text(file, made) == expected
    elif len(made) == 1:
        assert replace_text(file, made).replace(newline, "\n") == text.replace(old, new)


@given(st.lists(st.sampled_from("abc"), max_size=40), st.data())
def test_a_diff_applied_to_the_text_gives_the_changed_text(lines, data):
    text = "".join(f"{line}\n" for line in lines)
    old = data.draw(st.sampled_from(["a\n", "b", "c\nc", "a"]))
    made = find_replacements(text, old, data.draw(st.sampled_from(["", "x", "x\ny", "a\na\na"])), every=True, limit=100)
    if made:
        after = replace_text(text, made)
        assert applied(text, unified(diff_texts(text, after))) == after


def applied(text, diff):
    """The text after a unified diff, as a patch program would make it."""
    before, after, at = text.split("\n"), [], 0
    for line in diff:
        kind, rest = line[0], line[1:]
        if kind == "@":
            first, _, count = line.split()[1][1:].partition(",")
            begin = int(first) - (count != "0")
            after += before[at:begin]
            at = begin
        elif kind == "+":
            after.append(rest)
        else:
            assert before[at] == rest
            after += [rest] if kind == " " else []
            at += 1
    return "\n".join([*after, *before[at:]])
