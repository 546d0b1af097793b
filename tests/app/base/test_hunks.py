"""Hunks in the unified format, and the numbers of their lines."""

import pytest

from laguna_tui.base.hunks import unified
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
