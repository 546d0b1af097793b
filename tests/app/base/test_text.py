"""Nothing untrusted reaches the screen with power over the terminal."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.base.text import TextSanitizer, hidden_characters, reveal, sanitize, sanitize_line

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


ENGLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"
FAMILY = "\u200d".join("👨👩👧👦")
WHOLE_EMOJI = ["👩\u200d💻", "👩🏽\u200d💻", FAMILY, "🏳\ufe0f\u200d🌈", "❤\ufe0f\u200d🔥", "👍🏽", "🇩🇪", ENGLAND]
WHOLE_EMOJI.append("1\ufe0f\u20e3")


@pytest.mark.parametrize("emoji", WHOLE_EMOJI, ids=ascii)
def test_an_emoji_of_several_characters_stays_whole(emoji):
    assert sanitize(f"a {emoji}b") == f"a {emoji}b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u200dpal", "paypal"),
        ("👩\u200da", "👩a"),
        ("\u200d👩", "👩"),
        ("a\ufe0f\u200d👩", "a\ufe0f👩"),
        ("👩\u200d\u200d💻", "👩💻"),
        ("👩\u200d\u202e💻", "👩\ufffd💻"),
        (ENGLAND[:-1], "🏴"),
        (ENGLAND.replace("🏴", "x"), "x"),
        ("🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all") + "\U000e007f", "🏴"),
    ],
    ids=ascii,
)
def test_what_joins_emoji_is_dropped_everywhere_else(text, shown):
    assert sanitize(text) == shown


JOINED = ["می\u200cشود", "ه\u200dه", "क्\u200dष", "क्\u200cष", "র\u200d্য", "ක්\u200dෂ", "ന്\u200d\u0d31"]


@pytest.mark.parametrize("word", JOINED, ids=ascii)
def test_joiners_stay_in_arabic_and_indic_scripts(word):
    assert sanitize(f"a {word}.") == f"a {word}."
    assert reveal(word) == word
    assert hidden_characters(word) == ()


@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"], ids=ascii)
def test_a_joiner_stays_between_two_letters_only(joiner):
    beh, digit, sign = "ب", "٣", "\u0600"
    for left, right in ((beh, "a"), ("a", beh), (beh, digit), (beh, sign), (beh, " "), (beh, joiner), ("", beh)):
        assert sanitize(f"{left}{joiner}{right}") == sanitize(left + right)


SCRIPTS = ((0x600, 0x6FF), (0x750, 0x77F), (0x870, 0x8FF), (0x900, 0xDFF), (0xA8E0, 0xA8FF))


def test_no_letter_of_these_scripts_is_missing():
    every = [chr(code) for first, last in SCRIPTS for code in range(first, last + 1)]
    assigned = [each for each in every if unicodedata.category(each) != "Cn"]
    joining = [each for each in assigned if len(sanitize(f"{each}\u200c{each}")) == 3]
    assert joining == [each for each in assigned if unicodedata.category(each)[0] in "LM"]


WHOLE = [*JOINED, *WHOLE_EMOJI]


@given(st.lists(st.sampled_from([*WHOLE, *"".join(WHOLE), "a", " ", "\x1b", "\u202e", "\r"])), st.randoms())
def test_the_pieces_of_a_stream_are_together_what_the_whole_is(parts, random):
    text, pieces, out = "".join(parts), TextSanitizer(), []
    while text:
        cut = random.randint(1, 4)
        out.append(pieces.sanitize(text[:cut]))
        text = text[cut:]
    assert "".join(out) == sanitize("".join(parts))


def test_tabs_can_be_expanded():
    assert sanitize("a\tb\n\tc", tab_columns=4) == "a   b\n    c"
