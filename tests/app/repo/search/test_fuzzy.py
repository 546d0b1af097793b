"""A few letters find the names that people mean by them, and many names at once are searched like one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from laguna_tui.repo.search.fuzzy import (
    FuzzyMatch,
    FuzzyNames,
    _NameLines,
    folded,
    folders_of,
    fuzzy_match,
    fuzzy_paths,
    marked,
)

NAMES = st.lists(st.text(st.sampled_from("abcABC12_-. \n\x01éÉßİ"), max_size=12), max_size=30)
TYPED = st.text(st.sampled_from("abcAB1_-.é^]\\"), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("name", "typed", "how"),
    [
        ("ShoppingCart", "shoppingcart", FuzzyMatch.SAME),
        ("shopping_cart", "ShoppingCart", FuzzyMatch.SAME),
        ("laguna-tui", "laguna_tui", FuzzyMatch.SAME),
        ("ShoppingCart", "shop", FuzzyMatch.BEGINS),
        ("_private", "priv", FuzzyMatch.BEGINS),
        ("ShoppingCart", "cart", FuzzyMatch.WORD),
        ("HTTPServer", "server", FuzzyMatch.WORD),
        ("utf8_decode", "8dec", FuzzyMatch.WORD),
        ("ShoppingCart", "sc", FuzzyMatch.WORDS),
        ("ShoppingCart", "shca", FuzzyMatch.WORDS),
        ("parse_config_file.py", "pcf", FuzzyMatch.WORDS),
        ("parse_config_file.py", "pfpy", FuzzyMatch.WORDS),
        ("ShoppingCart", "ping", FuzzyMatch.INSIDE),
        ("codebase", "cdb", FuzzyMatch.SCATTERED),
        ("ShoppingCart", "x", None),
        ("ShoppingCart", "trac", None),
        ("a_long_name_in_which_letters_are_met_by_chance", "ochc", None),
    ],
)
def test_how_letters_fit_a_name(name, typed, how):
    assert fuzzy_match(name, folded(typed)) == how


@given(NAMES, TYPED)
@example(["ab", "ba", "xab", "a_b", "aab"], "ab")
@example(["", "a", "\n", "a\nb"], "a")
def test_many_names_are_searched_as_each_is_alone(names, typed):
    alone = {place: fuzzy_match(name, folded(typed)) for place, name in enumerate(names) if folded(typed)}
    assert FuzzyNames(names).best(typed, len(names) + 1) == {
        place: how for place, how in alone.items() if how is not None
    }


@given(NAMES, TYPED, st.integers(1, 5))
def test_searching_less_closely_drops_only_the_worst(names, typed, enough):
    found, whole = FuzzyNames(names).best(typed, enough), FuzzyNames(names).best(typed, len(names) + 1)
    assert found.items() <= whole.items()
    dropped = [how for place, how in whole.items() if place not in found]
    assert not dropped or max(found.values()) <= min(dropped)
    assert len(found) >= min(enough, len(whole))


@given(
    st.lists(st.text(st.sampled_from("ab^].*"), max_size=6)), st.text(st.sampled_from("ab^].*"), min_size=1, max_size=3)
)
def test_lines_are_found_once_and_in_order(texts, wanted):
    lines = _NameLines(texts)
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
    assert folders_of(["a/b/c.py", "a/d.py", "e.py"]) == ["a/", "a/b/"]
    found = fuzzy_paths(["a/b/c.py", "a/d.py", "e.py"])
    assert list(found.whole) == ["a/", "a/b/", "a/b/c.py", "a/d.py", "e.py"]
    assert found.has("e.py")
    assert not found.has("a/")
    assert not found.has("zz.py")
