"""Figures as text."""

from laguna_tui.bench.measurement import number, percent


def test_a_missing_figure_is_a_dash():
    assert (number(None), percent(None)) == ("–", "–")
    assert (number(1234.567, 1), percent(0.256)) == ("1,234.6", "26%")
