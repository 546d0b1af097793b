"""Sizes, times, rates and counts as people read them."""

from laguna_tui.base import units


def test_sizes_of_files_are_decimal():
    sizes = [units.size(count) for count in (5, 12_345, 300_000, 1_500_000, 20_274_300_032)]
    assert sizes == ["5 B", "12 kB", "300 kB", "1.5 MB", "20.3 GB"]


def test_memory_is_binary():
    assert units.memory(24 << 30) == "24.0 GiB"
    assert units.memory(24 << 30, 0) == "24 GiB"


def test_times_are_short_and_never_nothing():
    assert [units.duration(seconds) for seconds in (0.0, 0.31, 1.94, 4.4, 59, 90, 3599, 7500)] == [
        "0.1 s",
        "0.3 s",
        "1.9 s",
        "4 s",
        "59 s",
        "2 min",
        "1 h 0 min",
        "2 h 5 min",
    ]


def test_a_noun_agrees_with_its_number():
    assert [units.plural(number, "line") for number in (0, 1, 2)] == ["lines", "line", "lines"]
    assert units.plural(2, "match", "matches") == "matches"
