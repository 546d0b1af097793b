"""The lines in which two texts differ, however long they are, and hunks in the unified format."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.base import text_diff
from laguna_tui.base.text_diff import Sign, diff_texts, line_runs, unified
from tests.app.hunks import hunks_of


@pytest.mark.parametrize(
    "lines",
    [
        ("@@ -5 +5 @@", "-one", "+two"),
        ("@@ -1,2 +1,3 @@", " a", "+b", " c"),
        ("@@ -0,0 +1,2 @@", "+a", "+b"),
        ("@@ -1,2 +0,0 @@", "-a", "-b"),
    ],
)
def test_the_unified_format_counts_the_lines_of_each_side(lines):
    assert unified(hunks_of(*lines)) == lines


def test_each_line_has_its_number_in_the_text_that_it_is_in():
    (hunk,) = hunks_of("@@ -5,3 +8,3 @@", " a", "-b", "+c", " d")
    assert [(number, str(line)) for number, line in hunk.numbered()] == [(8, " a"), (6, "-b"), (9, "+c"), (10, " d")]


def test_places_far_apart_in_a_long_file_are_hunks_of_their_own():
    lines = [f"line {number}" if number % 3 else "" for number in range(20_000)]
    changed = [*lines]
    changed[10] = changed[9_999] = "new"
    del changed[15_000:15_002]
    found = [str(line) for hunk in diff(lines, changed) for line in hunk.lines if line.sign is not Sign.KEPT]
    assert found == ["-line 10", "+new", "-", "+new", "-", "-line 15001"]


def test_a_long_file_of_equal_lines_shows_only_the_changed_ones():
    lines = ["same"] * 20_000
    changed = [*lines]
    changed[10] = changed[9_999] = "new"
    assert [len(hunk.lines) for hunk in diff(lines, changed)] == [8, 8]


def test_long_files_without_common_lines_are_compared_quickly():
    hunks = diff([f"a {number}" for number in range(50_000)], [f"b {number}" for number in range(50_001)])
    assert [len(hunk.lines) for hunk in hunks] == [100_001]


LINES = st.lists(st.sampled_from("abcde"), max_size=30) | st.lists(st.integers(0, 40).map(str), max_size=60)


@pytest.mark.parametrize("compared", [0, 10, 1_000])
@given(before=LINES, after=LINES)
def test_the_runs_of_two_texts_are_all_of_their_lines(compared, before, after):
    with patch.object(text_diff, "_COMPARED_LINES", compared):
        runs = list(line_runs(before, after))
    assert [line for run in runs for line in before[run.a : run.b]] == before
    assert [line for run in runs for line in after[run.c : run.d]] == after
    assert all((before[run.a : run.b] == after[run.c : run.d]) == run.same for run in runs)


def diff(before, after):
    return diff_texts("\n".join(before), "\n".join(after))
