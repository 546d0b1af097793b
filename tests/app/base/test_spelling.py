"""What a misspelt word may have meant."""

from laguna_tui.base.spelling import did_you_mean, nearest


def test_only_a_word_that_is_near_is_proposed():
    assert did_you_mean("contxt", ["kv", "context"]) == " (did you mean context?)"
    assert did_you_mean("zebra", ["kv", "context"]) == ""


def test_the_nearest_words_come_first_up_to_the_number_requested():
    assert nearest("cart.py", ["tart.py", "cart.py", "cars.py", "shop.rs"], 2) == ["cart.py", "tart.py"]
