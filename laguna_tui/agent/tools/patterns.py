"""A search pattern, judged before it runs: what text every match must contain, and whether it can take for ever.

Python's `re` backtracks and cannot be interrupted, so a pattern that may explode is run by the `regex` package, whose
searches take a time limit. The language is `re`'s all the same: what only `regex` knows is taken literally. The
judgement reads the pattern's text and errs on the side of caution.
"""

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

# No program text needs more; compiling and judging stay instant.
PATTERN_LIMIT_CHARS = 500
# One open repeat costs at most the square of a line's length; a second one would cost the cube.
_TAME_REPEATS = 1
# Each optional or alternative part can double the work.
_TAME_CHOICES = 6
_SET = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_ESCAPE = r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|\d{1,3}|[\s\S])"
_PIECE = re.compile(rf"{_ESCAPE}|{_SET}|\{{[\d,]*\}}|[\s\S]")
# Escapes of letters and digits are classes, anchors and references; of anything else, the character itself.
_PLAIN_ESCAPE = re.compile(r"\\[^\w\s]", re.ASCII)
_QUANTIFIERS = "*+?{"
# What `regex` reads in another way than `re`: braces that are no repeat (fuzzy matching), and brackets in a set.
_REPEAT = re.compile(r"\{(\d*),?(\d*)\}")
_IN_SET = re.compile(r"\\.|\[", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SearchPattern:
    """A compiled pattern.

    Attributes:
        compiled: `re`'s when it is tame; else `regex`'s, to be searched with a timeout.
        needle: bytes that a file in an ASCII-compatible encoding must contain to match at all; may be empty.
        tame: whether matching one line surely ends soon.
    """

    compiled: "re.Pattern[str] | regex.Pattern[str]"
    needle: bytes
    tame: bool


def prepare(pattern: str) -> SearchPattern:
    """Compile a pattern; one that is no valid regular expression is taken literally."""
    source = pattern
    try:
        with warnings.catch_warnings():
            # Advice about a pattern's style would land on the user's screen.
            warnings.simplefilter("ignore")
            compiled = re.compile(source)
    except (re.error, OverflowError, RecursionError):
        source = re.escape(pattern)
        compiled = re.compile(source)
    pieces: list[str] = _PIECE.findall(source)
    needle = _needle(pieces).encode("ascii")
    return SearchPattern(compiled, needle, True) if _is_tame(pieces) else SearchPattern(_limited(pieces), needle, False)


def _limited(pieces: list[str]) -> "regex.Pattern[str]":
    """The pattern for the engine with a time limit."""
    # Imported for such a pattern only: it takes longer than most searches.
    import regex

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return regex.compile("".join(map(_as_regex, pieces)), regex.VERSION0)


def _as_regex(piece: str) -> str:
    """A piece of a pattern as `regex` has to be told it to understand what `re` does."""
    if piece[0] == "[" and len(piece) > 1:
        return piece[0] + _IN_SET.sub(lambda found: found[0] if len(found[0]) > 1 else r"\[", piece[1:])
    if piece[0] != "{":
        return piece
    repeat = _REPEAT.fullmatch(piece)
    if repeat is None or piece == "{}":
        return "\\" + piece
    return "*" if piece == "{,}" else piece.replace("{,", "{0,")


def _needle(pieces: list[str]) -> str:
    """The longest run of characters that every match contains; empty when there are groups or alternatives."""
    if "|" in pieces or "(" in pieces:
        return ""
    runs = [""]
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        character = _character(piece)
        if character is None or following[:1] in ("*", "?", "{"):
            runs.append("")
        else:
            runs[-1] += character
    return max(runs, key=len)


def _character(piece: str) -> str | None:
    """The ASCII character that a piece of a pattern stands for, or None when it is not just one."""
    if _PLAIN_ESCAPE.fullmatch(piece):
        piece = piece[1]
    elif len(piece) > 1 or piece in ".^$*+?{}[]\\|()":
        return None
    return piece if piece.isascii() else None


def _is_tame(pieces: list[str]) -> bool:
    """Whether there are few repeats and choices, no repeated group and no reference to a group."""
    repeats = choices = depth = 0
    previous = ""
    for piece in pieces:
        depth += (piece == "(") - (piece == ")")
        quantified = piece[0] in _QUANTIFIERS and previous not in ("", "(", "|") and previous[0] not in "*+{"
        if quantified and piece != "?":
            repeats += 1
        if quantified and piece != "?" and previous == ")":
            return False
        choices += (quantified and piece == "?") or (piece == "|" and depth > 0)
        if re.fullmatch(r"\\[1-9]\d*", piece):
            return False
        previous = piece
    has_reference = "(?P=" in "".join(pieces) or "(?(" in "".join(pieces)
    return repeats <= _TAME_REPEATS and choices <= _TAME_CHOICES and not has_reference
