"""Tokens become text, never a partial character."""

from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.detokenizer import Detokenizer


def decoder(pieces: list[bytes], silent: frozenset[int] = frozenset()) -> Detokenizer:
    return Detokenizer(pieces.__getitem__, silent)


def texts(pieces: list[bytes]) -> list[str]:
    feed = decoder(pieces).feed
    return [feed(index) for index in range(len(pieces))]


def test_a_character_appears_with_the_token_that_completes_it():
    assert texts([b"a\xf0\x9f", b"\x98", b"\x80!"]) == ["a", "", "😀!"]


def test_bytes_that_can_never_become_a_character_are_replaced():
    assert texts([b"\xff", b"a\xc3", b"b"]) == ["\ufffd", "a", "\ufffdb"]


def test_a_character_left_open_is_dropped():
    assert texts([b"ok\xe2\x82"]) == ["ok"]


def test_silent_tokens_have_no_text_and_others_are_shown_as_they_are():
    feed = decoder([b"</assistant>", b"<tool_call>"], silent=frozenset({0})).feed
    assert [feed(0), feed(1)] == ["", "<tool_call>"]


@given(st.lists(st.binary(min_size=1, max_size=3)), st.data())
def test_a_text_of_any_bytes_goes_on_where_another_detokenizer_ended(pieces, data):
    cut = data.draw(st.integers(0, len(pieces)))
    said = "".join(texts(pieces[:cut]))
    resumed = Detokenizer(pieces.__getitem__, frozenset(), range(cut))
    said += "".join(resumed.feed(index) for index in range(cut, len(pieces)))
    assert said == "".join(texts(pieces))


@given(st.text(), st.data())
def test_any_cut_gives_the_text_back(text, data):
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert "".join(texts(pieces)) == text
