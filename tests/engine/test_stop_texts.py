"""Stop texts are found however tokens split them, and no part of them is shown."""

from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.detokenizer import StopTextFilter
from laguna_engine.events import Source, Token


def tokens(texts: list[str]) -> list[Token]:
    return [Token(index, text, Source.TARGET, index) for index, text in enumerate(texts)]


def run(texts: list[str], *stops: str) -> tuple[list[str], bool]:
    """The text shown, and whether a stop text was found."""
    watch, shown = StopTextFilter(stops), []
    for token in tokens(texts):
        released, stopped = watch.push(token)
        shown += released
        if stopped:
            return [token.text for token in shown], True
    return [token.text for token in shown + watch.flush()], False


def test_a_stop_text_inside_one_token_is_cut_away():
    assert run(["ab", "cSTOPd", "never"], "STOP") == (["ab", "c"], True)


def test_a_stop_text_across_tokens_is_cut_away_and_its_tokens_remain():
    assert run(["ab", "cS", "TO", "P", "never"], "STOP") == (["ab", "c", "", ""], True)


def test_the_beginning_of_a_stop_text_waits_and_comes_back_when_it_leads_nowhere():
    watch = StopTextFilter(("STOP",))
    first, second, third = tokens(["aS", "T", "x"])
    assert watch.push(first) == ([], False)
    assert watch.push(second) == ([], False)
    assert watch.push(third) == ([first, second, third], False)


def test_what_cannot_begin_a_stop_text_is_shown_at_once():
    watch = StopTextFilter(("STOP",))
    (token,) = tokens(["SOS?"])
    assert watch.push(token) == ([token], False)


def test_the_end_shows_what_was_still_waiting():
    assert run(["a", "ST"], "STOP") == (["a", "ST"], False)


def test_the_earliest_of_several_stop_texts_counts():
    assert run(["xENDySTOP"], "STOP", "END") == (["x"], True)


def test_a_stop_text_that_repeats_its_own_beginning_is_found():
    assert run(["a", "a", "a", "b"], "aab") == (["a", "", "", ""], True)


@given(st.text("ab", max_size=30), st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_shown_is_the_text_before_the_first_stop(text, stops, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    shown, stopped = run(pieces, *stops)
    complete = [text[:end] for end in range(len(text) + 1) if any(text[:end].endswith(stop) for stop in stops)]
    assert stopped == bool(complete)
    if stopped:
        assert any(text.startswith("".join(shown) + stop) for stop in stops)
        assert not any(stop in "".join(shown) for stop in stops)
    else:
        assert "".join(shown) == text
