"""A few letters find the names that people mean by them, and many names at once are searched like one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from laguna_tui.repo.corpus import Corpus, Lines
from laguna_tui.repo.fuzzy import Fit, fit, folded, marked
from laguna_tui.repo.spellings import folders, places

NAMES = st.lists(st.text(st.sampled_from("abcABC12_-. \n\x01éÉßİ"), max_size=12), max_size=30)
TYPED = st.text(st.sampled_from("abcAB1_-.é^]\\"), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("name", "typed", "how"),
    [
        ("ShoppingCart", "shoppingcart", Fit.SAME),
        ("shopping_cart", "ShoppingCart", Fit.SAME),
        ("laguna-tui", "laguna_tui", Fit.SAME),
        ("ShoppingCart", "shop", Fit.BEGINS),
        ("_private", "priv", Fit.BEGINS),
        ("ShoppingCart", "cart", Fit.WORD),
        ("HTTPServer", "server", Fit.WORD),
        ("utf8_decode", "8dec", Fit.WORD),
        ("ShoppingCart", "sc", Fit.WORDS),
        ("ShoppingCart", "shca", Fit.WORDS),
        ("parse_config_file.py", "pcf", Fit.WORDS),
        ("parse_config_file.py", "pfpy", Fit.WORDS),
        ("ShoppingCart", "ping", Fit.INSIDE),
        ("codebase", "cdb", Fit.SCATTERED),
        ("ShoppingCart", "x", None),
        ("ShoppingCart", "trac", None),
        ("a_long_name_in_which_letters_are_met_by_chance", "ochc", None),
    ],
)
def test_how_letters_fit_a_name(name, typed, how):
    assert fit(name, folded(typed)) == how


@given(NAMES, TYPED)
@example(["ab", "ba", "xab", "a_b", "aab"], "ab")
@example(["", "a", "\n", "a\nb"], "a")
def test_many_names_are_searched_as_each_is_alone(names, typed):
    alone = {place: fit(name, folded(typed)) for place, name in enumerate(names) if folded(typed)}
    assert Corpus(names).best(typed, len(names) + 1) == {place: how for place, how in alone.items() if how is not None}


@given(NAMES, TYPED, st.integers(1, 5))
def test_searching_less_closely_drops_only_the_worst(names, typed, enough):
    found, whole = Corpus(names).best(typed, enough), Corpus(names).best(typed, len(names) + 1)
    assert found.items() <= whole.items()
    dropped = [how for place, how in whole.items() if place not in found]
    assert not dropped or max(found.values()) <= min(dropped)
    assert len(found) >= min(enough, len(whole))


@given(
    st.lists(st.text(st.sampled_from("ab^].*"), max_size=6)), st.text(st.sampled_from("ab^].*"), min_size=1, max_size=3)
)
def test_lines_are_found_once_and_in_order(texts, wanted):
    lines = Lines(texts)
    assert [lines[number] for number in range(len(texts))] == texts
    assert list(lines.containing(wanted)) == [number for number, text in enumerate(texts) if wanted in text]
    assert list(lines.containing("\n" + wanted)) == [n for n, text in enumerate(texts) if text.startswith(wanted)]
    spread = [n for n, text in enumerate(texts) if _has(text, wanted)]
    assert list(lines.scattered(wanted)) == spread


def _has(text, letters):
    rest = iter(text)
    return all(letter in rest for letter in letters)


@given(st.text(max_size=300))
def test_marks_say_nothing_but_where_words_begin(name):
    assert marked(name).replace("\x01", "") == folded(name)


def test_every_folder_above_a_file_is_a_place():
    assert folders(["a/b/c.py", "a/d.py", "e.py"]) == ["a/", "a/b/"]
    found = places(["a/b/c.py", "a/d.py", "e.py"])
    assert list(found.whole) == ["a/", "a/b/", "a/b/c.py", "a/d.py", "e.py"]
    assert found.has("e.py")
    assert not found.has("a/")
    assert not found.has("zz.py")
