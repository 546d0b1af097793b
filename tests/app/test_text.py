"""Nothing untrusted reaches the screen with power over the terminal."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.text import sanitize, sanitize_line

FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
hostile = st.text(st.characters(), max_size=60) | st.lists(
    st.sampled_from(["\x1b]52;c;aGk=\x07", "\x1b[2J", "\x9b31m", "\u202e", "\u200b", "\r\n", "\ud800", "a", "\t"])
).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text\twith\nlines", "plain text\twith\nlines"),
        ("\x1b[2Jgone", "␛[2Jgone"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("a\x9b31mb", "a\ufffd31mb"),
        ("dos\r\nline", "dos\nline"),
        ("safe\rrm", "saferm"),
        ("user\u202etxt.exe", "user\ufffdtxt.exe"),
        ("pay\u200bpal", "paypal"),
        ("a\u2028b", "a\nb"),
        ("\x7f", "␡"),
        ("name\udce9", "name\ufffd"),
        ("é 漢字 👍 naïve", "é 漢字 👍 naïve"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_or_dropped(text, shown):
    assert sanitize(text) == shown


def test_no_character_of_unicode_slips_through():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {c for c in sanitize(everything) if unicodedata.category(c) in FORBIDDEN}
    assert left == {"\n", "\t"}


def test_letters_marks_and_symbols_of_all_scripts_stay():
    blank_letters = set("\u115f\u1160\u3164\uffa0\u17b4\u17b5\u034f") | {chr(c) for c in range(0xE0100, 0xE01F0)}
    kept = [
        c
        for c in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(c)[0] in "LMNPS" and c not in blank_letters
    ]
    assert sanitize("".join(kept)) == "".join(kept)


@given(hostile)
def test_sanitizing_twice_changes_nothing_more(text):
    assert sanitize(sanitize(text)) == sanitize(text)


@given(hostile, st.integers(0, 60))
def test_a_stream_may_be_cut_anywhere(text, cut):
    assert sanitize(text[:cut]) + sanitize(text[cut:]) == sanitize(text)


@given(hostile)
def test_a_line_is_one_line(text):
    assert not {"\n", "\t", "\r"} & set(sanitize_line(text))
    assert len(sanitize_line(text).splitlines()) <= 1


def test_tabs_can_be_expanded():
    assert sanitize("a\tb\n\tc", tab_columns=4) == "a   b\n    c"
