"""Tables that Markdown understands."""

from laguna_tui.bench.measurement import MarkdownTable, number, percent


def test_every_line_has_the_columns_of_the_head_at_equal_width():
    lines = MarkdownTable(("a", "bb"), [("plain", "1.0"), ("x|y\nz", "12.25")]).lines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].replace("-", "").replace(" ", "") == "|:|:|"
    assert "x\\|y z" in lines[3]


def test_a_missing_figure_is_a_dash():
    assert (number(None), percent(None)) == ("–", "–")
    assert (number(1234.567, 1), percent(0.256)) == ("1,234.6", "26%")
