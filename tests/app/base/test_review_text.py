"""What the user is asked to allow is shown with nothing hidden in it, and its end as visible as its start."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.base.review_text import head_and_tail, review_line, review_lines, unusual_characters
from laguna_tui.base.text import hidden_characters, reveal, sanitize


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # Hidden characters.
        ("p\u200bytest", "p<U+200B>ytest"),
        ("a\u202eb\u2066c", "a<U+202E>b<U+2066>c"),
        ("a\U000e0041b", "a<U+E0041>b"),
        ("a\ufe01b", "a<U+FE01>b"),
        ("a\u00a0b\u3000c\u2800d", "a<U+00A0>b<U+3000>c<U+2800>d"),
        ("a\u2028b\x85c", "a<U+2028>b<U+0085>c"),
        ("a\udcffb", "a<U+DCFF>b"),
        ("a" + "\u200b" * 5000 + "b", "a<U+200B>×5,000b"),
        # Control characters.
        ("make\r\x1b[2Kls\x00\x7f", "make␍␛[2Kls␀␡"),
        # Look-alikes: of another script among ASCII letters, alone, in another form, and as signs.
        ("\u0440ytest", "\u0440<U+0440>ytest"),
        ("./\u0441\u043e\u0440\u0443", "./\u0441<U+0441>\u043e<U+043E>\u0440<U+0440>\u0443<U+0443>"),
        ("\uff50ytest", "\uff50<U+FF50>ytest"),
        ("\U0001d42c\U0001d42e", "\U0001d42c<U+1D42C>\U0001d42e<U+1D42E>"),
        ("a\u2215b\uff0fc", "a\u2215<U+2215>b\uff0f<U+FF0F>c"),
        ("rm \u2010rf", "rm \u2010<U+2010>rf"),
        # Long runs of spaces.
        ("ls" + " " * 300 + "; rm", "ls <300 spaces> ; rm"),
        # What is no look-alike stays: other languages, accents, emoji, signs, indentation.
        ("привет мир 你好，世界； café naïve Straße", "привет мир 你好，世界； café naïve Straße"),
        ("👩\u200d💻 ❤️ 1️⃣ – “quoted” ² ①", "👩\u200d💻 ❤️ 1️⃣ – “quoted” ² ①"),
        (" " * 40 + "x", " " * 40 + "x"),
    ],
)
def test_a_line_is_shown_with_its_unusual_characters_named(text: str, shown: str) -> None:
    assert review_line(text) == shown
    assert bool(unusual_characters(text)) == (shown != text and "spaces>" not in shown)


def test_the_sentence_names_a_few_of_them() -> None:
    assert unusual_characters("a\u200bb", "\u0440m") == (
        "It contains hidden or look-alike characters, marked where they are: "
        "U+200B ZERO WIDTH SPACE, U+0440 CYRILLIC SMALL LETTER ER."
    )
    assert unusual_characters("".join(map(chr, range(0x2060, 0x2065)))).endswith("1 more.")


def test_in_the_contents_of_a_file_only_hidden_characters_count() -> None:
    assert unusual_characters("a.py", contents=["\u0441\u0435", "\u3000a\u00a0b", "a\r"]) == ""
    assert "U+200B" in unusual_characters("a.py", contents=["a\u200b"])


def test_blank_lines_are_counted_and_the_last_line_is_there() -> None:
    lines = review_lines("ls" + "\n" * 301 + "rm -rf ~" + "\n" * 5)
    assert [line.text for line in lines] == ["ls", "[300 blank lines]", "rm -rf ~", "[5 blank lines]"]
    assert [line.is_note for line in lines] == [False, True, False, True]


def test_a_few_blank_lines_stay_and_a_line_of_hidden_characters_is_none() -> None:
    assert [line.text for line in review_lines("a\n\n \n\nb\n\u200b\n\u00a0\nc")] == [
        *("a", "", "", "", "b"),
        *("<U+200B>", "<U+00A0>", "c"),
    ]


@given(st.lists(st.integers(), max_size=40), st.integers(3, 12))
def test_head_and_tail_fit_and_nothing_is_lost(rows: list[int], room: int) -> None:
    head, hidden, tail = head_and_tail(rows, room)
    assert len(head) + hidden + len(tail) == len(rows)
    assert len(head) + len(tail) + bool(hidden) <= room
    assert list(head) == rows[: len(head)]
    assert not hidden or (list(tail) == rows[-len(tail) :] and head and tail)


@given(st.text())
def test_nothing_that_is_revealed_is_obeyed_by_a_terminal_or_dropped(text: str) -> None:
    shown = reveal(text)
    assert sanitize(shown) == shown
    assert all(unicodedata.category(each) != "Cf" for each in shown if each not in "\u200c\u200d")
    assert (shown == text) == (not hidden_characters(text))
