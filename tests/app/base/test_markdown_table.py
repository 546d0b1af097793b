"""Tables that Markdown understands."""

from laguna_tui.base.markdown_table import markdown_table


def test_every_line_has_the_columns_of_the_head_at_equal_width():
    lines = markdown_table(("a", "bb"), [("plain", "1.0"), ("x|y\nz", "12.25")])
    assert len({len(line) for line in lines}) == 1
    assert lines[1].replace("-", "").replace(" ", "") == "|:|:|"
    assert "x\\|y z" in lines[3]
