"""The lines in which two texts differ, however long they are, and hunks in the unified format."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.base import text_diff
from laguna_tui.base.text_diff import Sign, accept_hunks, diff_texts, line_runs, unified
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


PLACES = (2, 20, 40, 60)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("ends", ["", "newline"])
@given(accepted=st.sets(st.integers(0, 3)))
def test_exactly_the_accepted_hunks_are_in_the_text(newline, ends, accepted):
    def text(changed):
        lines = [f"line {number}{'!' if number in changed else ''}" for number in range(61)]
        return newline.join(lines) + (newline if ends else "")

    assert accept_hunks(text(()), text(PLACES), accepted) == text({PLACES[index] for index in accepted})


@pytest.mark.parametrize(
    ("before", "after", "last_only"),
    [
        ("0\r\n" + "a\r\n" * 9 + "b", "1\r\n" + "a\r\n" * 9 + "b\r\nc", "0\r\n" + "a\r\n" * 9 + "b\r\nc"),
        ("0\r\n" + "a\r\n" * 9 + "b\r\nc", "1\r\n" + "a\r\n" * 9 + "b", "0\r\n" + "a\r\n" * 9 + "b"),
        ("0\n" + "a\n" * 9 + "b", "1\n" + "a\n" * 9 + "b\n", "0\n" + "a\n" * 9 + "b\n"),
        ("0\n" + "a\n" * 9 + "b\n", "1\n" + "a\n" * 9 + "b", "0\n" + "a\n" * 9 + "b"),
    ],
)
def test_a_hunk_at_the_end_brings_or_takes_the_line_break_before_it(before, after, last_only):
    assert accept_hunks(before, after, {1}) == last_only
    assert accept_hunks(before, after, {0}) == before.replace("0", "1")


@given(before=st.text("ab\n\r", max_size=80), after=st.text("ab\n", max_size=80))
def test_without_hunks_a_text_is_as_before_and_with_all_of_them_as_after(before, after):
    assert accept_hunks(before, after, ()) == before
    plain = before.replace("\r", "")
    assert accept_hunks(plain, after, range(80)) == after


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
