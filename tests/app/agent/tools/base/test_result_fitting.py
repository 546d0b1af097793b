"""A result is cut to the tokens there are, and never grows beyond them."""

from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.agent.tools.base.results import fitted, places_of
from laguna_tui.base.messages import Place

texts = st.lists(st.text("ab \t", max_size=40), min_size=1, max_size=60).map("\n".join)


@given(texts, st.integers(-10, 4000))
def test_it_fits_or_says_that_it_cannot(text, room):
    shown = fitted(text, len, room)
    assert len(shown) <= room or shown.startswith("error: ")


@given(texts)
def test_what_fits_is_not_touched(text):
    assert fitted(text, len, len(text)) == text


def test_whole_lines_are_kept_from_the_start():
    text = "\n".join(f"line {n}" for n in range(200))
    first, *_, last = fitted(text, len, 600).splitlines()
    assert (first, last) == ("line 0", "… the rest does not fit in the context that is left")


def test_an_answer_that_is_nested_too_deeply_for_a_command_s_is_one_like_any_other():
    assert places_of('{"a":' * 100_000) == (Place.KEPT, Place.DROPPED)
