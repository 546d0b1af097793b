"""Marker lines: their text, their comment syntax, and that nothing else is inserted."""

import pytest

from laguna_tui.context.compression.elision import comment, render
from laguna_tui.context.compression.spans import Document, Span, SpanRole, SpanUnit
from tests.app.context.compression.paragraphs import cut, filler

TEXT = "import os\n\ndef one():\n    return 1\n\ndef two():\n    return 2\n\ndef three():\n    return 3\n"


def test_the_first_says_how_to_read_it_and_the_others_which_lines():
    assert render(cut("src/a.py", TEXT), {0, 3, 4})[0] == (
        "import os\n"
        "# … not shown (one): read path=src/a.py start=3 end=4\n"
        "def two():\n    return 2\n"
        "# … read 9-10 (three)\n"
    )


def test_a_body_is_marked_where_it_was_and_named_by_its_head():
    assert "def two():\n    # … read 7-10 (three)\n" in render(cut("a.py", TEXT), {0, 3})[0]


def test_many_names_are_counted():
    text = render(cut("a.py", filler(20)), {0, 1}, names=2)[0]
    assert "(thing1, thing2 and 17 more)" in text
    assert "thing1" not in render(cut("a.py", filler(20)), {0, 1}, names=0)[0].split("\n", 2)[2]


def test_everything_kept_is_the_text_itself():
    document = cut("a.py", "\n\n" + TEXT + "\n \n")
    text, copies = render(document, range(len(document.spans)))
    assert text == document.text
    assert copies == ((0, 0, len(document.text)),)


def test_a_text_of_blanks_is_kept():
    assert render(cut("a.py", "\n\n"), ())[0] == "\n\n"


def test_a_part_of_a_line_is_called_that():
    unit = SpanUnit("", frozenset(), frozenset(), 1, 1)
    text = "abcdef\n"
    document = Document("a.txt", text, (Span(0, 3, SpanRole.TEXT, 0), Span(3, 7, SpanRole.TEXT, 0)), (unit,))
    assert render(document, {0})[0] == "abc\n… partly not shown: read path=a.txt start=1 end=1\n"


def test_lines_end_as_the_file_ends_them():
    document = cut("a.py", TEXT.replace("\n", "\r\n").replace("\r\n\r\n", "\r\n\n"))
    assert "\n" not in render(document, {0})[0].replace("\r\n", "")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# x"), ("b/c.RS", "// x"), ("q.sql", "-- x"), ("s.css", "/* x */"), ("p.html", "<!-- x -->"),
        ("Makefile", "# x"), ("data.json", "x"), ("no_suffix", "x"),
    ],
)  # fmt: skip
def test_the_comment_is_the_language_s(path, line):
    assert comment(path, "x") == line


def test_no_name_ends_the_comment_or_the_line():
    assert comment("a.css", "x */ y").count("*/") == 1
    assert "\n" not in render(cut("a\nb.py", TEXT), {0})[0].split("\n", 1)[1].rstrip("\n")
