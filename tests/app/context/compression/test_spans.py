"""Documents refuse spans that would lose or repeat text, and count lines as the `read` tool does."""

import pytest

from laguna_tui.context.compression.spans import Document, Span, SpanRole, SpanUnit

UNIT = SpanUnit("", frozenset(), frozenset(), 1, 1)


def document(text, *places, units=1):
    return Document("a.txt", text, tuple(Span(a, b, SpanRole.TEXT, 0) for a, b in places), (UNIT,) * units)


def test_blanks_need_no_span():
    assert document(" \n ab \n", (3, 5)).spans[0].stop == 5


@pytest.mark.parametrize("places", [[(0, 2), (1, 4)], [(2, 4), (0, 2)], [(0, 5)], [(2, 1)]])
def test_spans_are_sorted_disjoint_and_inside(places):
    with pytest.raises(ValueError, match="overlap or leave"):
        document("abcd", *places)


@pytest.mark.parametrize("places", [[], [(0, 3)], [(1, 4)], [(0, 1), (2, 4)]])
def test_no_character_is_missed(places):
    with pytest.raises(ValueError, match="miss a character"):
        document("abcd", *places)


def test_every_span_has_a_unit():
    with pytest.raises(ValueError, match="no unit"):
        document("abcd", (0, 4), units=0)


@pytest.mark.parametrize(
    ("text", "offset", "line"),
    [("a\nb\n", 0, 1), ("a\nb\n", 1, 1), ("a\nb\n", 2, 2), ("a\r\nb", 2, 1), ("a\r\nb", 3, 2), ("a\rb", 2, 2)],
)
def test_lines_end_where_the_read_tool_ends_them(text, offset, line):
    assert document(text, (0, len(text))).line(offset) == line


def test_a_carriage_return_ends_no_line_where_newlines_do():
    assert document("a\rb\nc", (0, 5)).line(2) == 1


def test_a_method_lies_in_its_class():
    def unit(name, first, last):
        return SpanUnit(name, frozenset({name}), frozenset(), first, last)

    units = (unit("A", 1, 9), unit("A.f", 2, 4), unit("A.g", 5, 9), unit("h", 10, 12), UNIT)
    assert list(Document("a.py", "", (), units).outer) == [None, 0, 0, None, None]
