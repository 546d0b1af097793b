"""What is remembered is bounded by its weight, and forgets what was used longest ago."""

from laguna_tui.context.bounded_cache import BoundedCache


def test_what_was_used_longest_ago_is_forgotten_first():
    held = BoundedCache[str, int](10)
    held.put("a", 1, 4)
    held.put("b", 2, 4)
    assert held.get("a") == 1
    held.put("c", 3, 4)
    assert [held.get(key) for key in "abc"] == [1, None, 3]


def test_a_value_that_is_put_again_weighs_once():
    held = BoundedCache[str, int](10)
    for value in range(5):
        held.put("a", value, 6)
    held.put("b", 9, 4)
    assert [held.get(key) for key in "ab"] == [4, 9]


def test_what_is_too_heavy_for_all_of_the_room_is_not_kept():
    held = BoundedCache[str, int](10)
    held.put("a", 1, 11)
    held.put("b", 2, 10)
    assert [held.get(key) for key in "ab"] == [None, 2]
