"""Text as shown in a question for permission: nothing hidden, nothing ambiguous, its end as visible as its start.

Hidden characters and letters that look like others are named where they are; long runs of blank lines and of spaces
become one note with their number; of what does not fit, head and tail are shown, with the number of lines between them.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from laguna_tui.base.text import code_point, hidden_characters, reveal
from laguna_tui.base.units import plural

T = TypeVar("T")

MARK = re.compile(r"<U\+[0-9A-F]{4,6}>(?:×[0-9,]+)?|<[0-9,]+ spaces>")
"""Finds the notes that a review puts into a line."""

# Fewer blank lines separate paragraphs, and fewer spaces indent.
_BLANK_LINES, _SPACES = 3, 60
# They look like the space, or like nothing.
_BLANKS = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")
# Letters that most fonts draw like an ASCII letter: Cyrillic, Greek, Armenian, Cherokee, phonetic. Those that Unicode
# itself maps to an ASCII letter, such as full-width and mathematical ones, are found by that.
_LIKE_LETTERS = frozenset(
    "\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u04cf\u043e\u0440\u051b\u0455\u051d\u0445\u0443\u04af"
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u051c\u0425\u04ae\u04c0\u051a"
    "\u03b1\u03b3\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03f2\u03f3"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03f9"
    "\u0585\u0578\u057d\u0570\u0581\u0566"
    "\u13aa\u13a0\u13a1\u13a2\u13ab\u13b3\u13b7\u13bb\u13c0\u13c3\u13d2\u13da\u13df\u13e2\u13de\u13d9\u13e6\u13f4\u13ac"
    "\u0251\u0261\u0269\u028f\u1d04\u1d0f\u1d20\u1d21\u1d22\ua731"
)
# Signs that look like those of paths and options: slashes, dots, hyphens, colons and bars.
_LIKE_SIGNS = frozenset(
    "\u2044\u2215\u29f8\u2571\uff0f\u2024\uff0e\u2010\u2011\u2212\ufe63\uff0d\u02d7\u2236\ua789\u01c0\u2223\u037e"
)
_WORD = re.compile(r"\w+|[^\w\s]")
_MANY_SPACES = re.compile(rf" {{{_SPACES + 1},}}")
_MANY_MARKS = re.compile(r"(<U\+[0-9A-F]{4,6}>)\1{4,}")
# A compatibility form of these kinds does not look like the letter.
_DISTINCT_FORMS = ("<super>", "<sub>", "<circle>", "<square>", "<fraction>")
_LISTED = 4
_UNUSUAL = "It contains hidden or look-alike characters, marked where they are: {names}."


class ReviewLine(NamedTuple):
    """A line of a text under review.

    Attributes:
        text: without anything hidden.
        is_note: whether it says what stands here, instead of being part of the text.
    """

    text: str
    is_note: bool = False


def review_lines(text: str) -> list[ReviewLine]:
    """Return the lines of a text as they are shown."""
    return fold_blank_lines(map(review_line, text.split("\n")))


def fold_blank_lines(lines: Iterable[str]) -> list[ReviewLine]:
    """Return lines that are already as they are shown, with a note for a long run of blank ones."""
    folded: list[ReviewLine] = []
    blank = 0
    for line in lines:
        if not line.strip(" \t"):
            blank += 1
            continue
        folded += _blank_lines(blank)
        folded.append(ReviewLine(line))
        blank = 0
    return folded + _blank_lines(blank)


def review_line(text: str) -> str:
    """Return a text on one line, with hidden and look-alike characters named and long runs of spaces counted."""
    marked = _BLANKS.sub(lambda blank: f"<{code_point(blank[0])}>", _WORD.sub(_marked_word, text))
    shown = reveal(marked).replace("\n", " ").replace("\t", "    ")
    counted = _MANY_MARKS.sub(lambda marks: f"{marks[1]}×{len(marks[0]) // len(marks[1]):,}", shown)
    return _MANY_SPACES.sub(lambda spaces: f" <{len(spaces[0]):,} spaces> ", counted)


def content_line(text: str) -> str:
    """Return a line of a file's contents on one line, tabs as they are, with hidden characters named."""
    return reveal(text.removesuffix("\r")).replace("\n", " ")


def unusual_characters(*texts: str, contents: Iterable[str] = ()) -> str:
    """Return a sentence about the unusual characters of what is shown; empty if there are none.

    Args:
        texts: commands, paths and arguments.
        contents: lines of files, in which only hidden characters count.
    """
    found = dict.fromkeys(
        character
        for text in texts
        for character in (
            *hidden_characters(text),
            *_BLANKS.findall(text),
            *(each for word in _WORD.findall(text) for each in sorted(_alike(word))),
        )
    )
    found |= dict.fromkeys(each for line in contents for each in hidden_characters(line.removesuffix("\r")))
    if not found:
        return ""
    names = [f"{code_point(each)} {unicodedata.name(each, 'control character')}".strip() for each in found]
    more = [f"{len(names) - _LISTED:,} more"] if len(names) > _LISTED else []
    return _UNUSUAL.format(names=", ".join([*names[:_LISTED], *more]))


def head_and_tail(rows: Sequence[T], room: int) -> tuple[Sequence[T], int, Sequence[T]]:
    """Return the first rows, how many are left out, and the last rows, so that they fit with a note between them."""
    if len(rows) <= room:
        return rows, 0, ()
    head = max(1, (room - 1) // 2)
    tail = max(1, room - 1 - head)
    return rows[:head], len(rows) - head - tail, rows[-tail:]


def _blank_lines(count: int) -> list[ReviewLine]:
    if count <= _BLANK_LINES:
        return [ReviewLine("")] * count
    return [ReviewLine(f"[{count:,} blank {plural(count, 'line')}]", is_note=True)]


def _marked_word(match: re.Match[str]) -> str:
    word = match[0]
    alike = _alike(word)
    return "".join(f"{each}<{code_point(each)}>" if each in alike else each for each in word) if alike else word


def _alike(word: str) -> frozenset[str]:
    """Return the characters of a word that may be taken for ASCII ones."""
    if word.isascii():
        return frozenset()
    letters = [each for each in word if each.isalpha()]
    alike = {each for each in word if each in _LIKE_SIGNS or _is_form_of_ascii(each)}
    # A word of a language that has these letters has others too.
    like_letters = _LIKE_LETTERS.intersection(letters)
    if like_letters and (any(map(str.isascii, letters)) or like_letters.issuperset(letters)):
        alike |= like_letters
    return frozenset(alike)


def _is_form_of_ascii(character: str) -> bool:
    if character.isascii() or not character.isalnum():
        return False
    plain = unicodedata.normalize("NFKC", character)
    return plain.isascii() and not unicodedata.decomposition(character).startswith(_DISTINCT_FORMS)
