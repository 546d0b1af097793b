"""Vim's keys for the input: what a key does to a text and a cursor, without a screen.

Positions are indices of the text. Beside the usual keys of the input there are: counts; `h j k l w b e 0 ^ $ gg G`,
`f F t T` with `;` and `,`; `d c y` with a motion, `iw`, `aw` or doubled; `x X s S D C Y r p P ~ J u Ctrl+R`;
`i a I A o O`; `v` and `V`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

_WHAT = r"(?P<what>gg|[fFtTr].|[ia]w|.)"
_COMMAND = re.compile(rf"(?P<count>[1-9]\d*)?(?:(?P<operator>[dcy])(?P<more>[1-9]\d*)?)?{_WHAT}", re.DOTALL)
_COMMAND_VISUAL = re.compile(rf"(?P<count>[1-9]\d*)?(?P<operator>)(?P<more>){_WHAT}", re.DOTALL)
_BEGUN = re.compile(r"([1-9]\d*)?([dcy]([1-9]\d*)?)?([gfFtTr]|(?<=[dcy])[ia])?")
_BEGUN_VISUAL = re.compile(r"([1-9]\d*)?[gfFtTria]?")
# The same as other commands.
_SHORT = {"x": "dl", "X": "dh", "s": "cl", "S": "cc", "D": "d$", "C": "c$", "Y": "yy"}
_BACK = {"f": "F", "F": "f", "t": "T", "T": "t"}


class VimMode(Enum):
    """The mode; the value is shown."""

    INSERT = "INSERT"
    NORMAL = "NORMAL"
    VISUAL = "VISUAL"
    LINES = "VISUAL LINE"


@dataclass(frozen=True, slots=True)
class VimChange:
    """What a key does.

    Attributes:
        start, end, text: what is replaced, and by what; None for `text` replaces nothing.
        cursor: where the cursor is then.
        selects: whether `start` and `end` are selected instead.
        action: an action of the input instead: `undo`, `redo`, `up` or `down`; else empty.
    """

    cursor: int
    start: int = 0
    end: int = 0
    text: str | None = None
    selects: bool = False
    action: str = ""


@dataclass(frozen=True, slots=True)
class _Span:
    """What a motion moves over: from the cursor to `to`; `start` if it begins elsewhere, as a text object does."""

    to: int
    start: int | None = None
    inclusive: bool = False
    lines: bool = False


@dataclass(frozen=True, slots=True)
class _Count:
    """How often; `given` if it was typed."""

    number: int
    given: bool


class Vim:
    """The mode, the keys of a command that is not complete, and the register.

    Attributes:
        mode: the mode.
    """

    def __init__(self) -> None:
        self.mode = VimMode.INSERT
        self._typed = self._find = ""
        self._register, self._register_lines = "", False
        self._anchor = self._at = 0

    @property
    def is_pending(self) -> bool:
        """Whether a command is begun, or text selected, so that Esc ends that."""
        return bool(self._typed) or self.mode in (VimMode.VISUAL, VimMode.LINES)

    def escape(self, text: str, at: int) -> VimChange:
        """End the command that is begun, the selection, or typing."""
        if self.mode is VimMode.INSERT and at > _line_start(text, at):
            at -= 1
        self._typed, self.mode = "", VimMode.NORMAL
        return VimChange(_clamped(text, at))

    def key(self, key: str, text: str, at: int) -> VimChange | None:
        """Take a character in any mode but insert; None if it only begins a command, or is none."""
        self._typed += key
        visual = self.mode is not VimMode.NORMAL
        if (_BEGUN_VISUAL if visual else _BEGUN).fullmatch(self._typed):
            return None
        parsed = (_COMMAND_VISUAL if visual else _COMMAND).fullmatch(self._typed)
        self._typed = ""
        if parsed is None:
            return None
        operator, what = parsed["operator"] or "", parsed["what"]
        count = _Count(int(parsed["count"] or 1) * int(parsed["more"] or 1), bool(parsed["count"] or parsed["more"]))
        if visual:
            return self._visual(what, count, text)
        if not operator and what in _SHORT:
            operator, what = _SHORT[what][0], _SHORT[what][1:]
        if operator:
            return self._operate_over(operator, what, count, text, at)
        span = self._motion(what, count, text, at)
        if span is None:
            return self._command(what, count.number, text, at)
        if what in "jk" and _line_start(text, span.to) == _line_start(text, at):
            return VimChange(at, action="down" if what == "j" else "up")
        return VimChange(_clamped(text, span.to)) if span.start is None else None

    def _command(self, what: str, count: int, text: str, at: int) -> VimChange | None:
        """Do what is neither a motion nor an operator."""
        start, end = _line_start(text, at), _line_end(text, at)
        inserting = {"i": at, "a": min(at + 1, end), "I": _first_letter(text, start), "A": end}
        if what in inserting:
            self.mode = VimMode.INSERT
            return VimChange(inserting[what])
        match what:
            case "o" | "O":
                self.mode = VimMode.INSERT
                to = end if what == "o" else start
                return VimChange(to + (what == "o"), to, to, "\n")
            case "v" | "V":
                self.mode, self._anchor = VimMode.VISUAL if what == "v" else VimMode.LINES, at
                return self._selected(text, at)
            case "p" | "P":
                return self._put(text, at, count, before=what == "P")
            case "u":
                return VimChange(at, action="undo")
        return self._replaced(what, count, text, at)

    @staticmethod
    def _replaced(what: str, count: int, text: str, at: int) -> VimChange | None:
        end = _line_end(text, at)
        if what == "~" and at < end:
            to = min(at + count, end)
            return VimChange(_clamped(text, to), at, to, text[at:to].swapcase())
        if what == "J" and end < len(text):
            return VimChange(end, end, _first_letter(text, end + 1), " ")
        if what[0] == "r" and len(what) > 1 and at + count <= end:
            return VimChange(at + count - 1, at, at + count, what[1] * count)
        return None

    def _visual(self, what: str, count: _Count, text: str) -> VimChange | None:
        at = self._at
        if what in "dxcsy":
            first, last = sorted((self._anchor, at))
            span = _Span(last, first, inclusive=True, lines=self.mode is VimMode.LINES)
            self.mode = VimMode.NORMAL
            return self._operate({"x": "d", "s": "c"}.get(what, what), span, text, first)
        if what in "vV":
            mode = VimMode.VISUAL if what == "v" else VimMode.LINES
            if mode is self.mode:
                return self.escape(text, at)
            self.mode = mode
            return self._selected(text, at)
        if what == "o":
            self._anchor, at = at, self._anchor
            return self._selected(text, at)
        span_to = self._motion(what, count, text, at)
        if span_to is None:
            return None
        if span_to.start is not None:
            self._anchor = span_to.start
        return self._selected(text, span_to.to - (span_to.start is not None))

    def _selected(self, text: str, at: int) -> VimChange:
        """Return the selection from the anchor to a position, both included."""
        self._at = max(0, min(at, len(text)))
        first, last = sorted((self._anchor, self._at))
        if self.mode is VimMode.LINES:
            return VimChange(self._at, _line_start(text, first), _line_end(text, last), selects=True)
        return VimChange(self._at, first, min(last + 1, len(text)), selects=True)

    def _operate_over(self, operator: str, what: str, count: _Count, text: str, at: int) -> VimChange | None:
        if what == operator:
            return self._operate(operator, _Span(_lines_below(text, at, count.number - 1), lines=True), text, at)
        if what in "wW" and operator == "c" and at < len(text) and not text[at].isspace():
            # As vim does: the blanks behind the word stay.
            what = what.replace("w", "e").replace("W", "E")
        span = self._motion(what, count, text, at)
        if span is None:
            return None
        gone = text[at : span.to]
        if what in "wW" and "\n" in gone:
            # The last word of a line ends before the line does.
            span = _Span(at + len(gone.rstrip()))
        return self._operate(operator, span, text, at)

    def _operate(self, operator: str, span: _Span, text: str, at: int) -> VimChange:
        start, end = sorted((at if span.start is None else span.start, span.to))
        if span.lines:
            start, end = _line_start(text, start), _line_end(text, end)
        else:
            end = min(end + span.inclusive, len(text))
        self._register, self._register_lines = text[start:end], span.lines
        if operator == "y":
            return VimChange(_clamped(text, at if span.lines else start))
        if operator == "c":
            self.mode = VimMode.INSERT
            start = _first_letter(text, start) if span.lines else start
            return VimChange(start, start, end, "")
        if not span.lines:
            return VimChange(_clamped(text[:start] + text[end:], start), start, end, "")
        # With one of the newlines beside it.
        if end < len(text):
            end += 1
        elif start:
            start -= 1
        rest = text[:start] + text[end:]
        line = _line_start(rest, start if end < len(text) else len(rest))
        return VimChange(_clamped(rest, _first_letter(rest, line)), start, end, "")

    def _put(self, text: str, at: int, count: int, *, before: bool) -> VimChange | None:
        if not self._register:
            return None
        if self._register_lines:
            put = "\n".join([self._register] * count)
            to = _line_start(text, at) if before else _line_end(text, at)
            return VimChange(to + (not before), to, to, f"{put}\n" if before else f"\n{put}")
        put = self._register * count
        to = at if before else min(at + 1, _line_end(text, at))
        return VimChange(to + len(put) - 1, to, to, put)

    def _motion(self, what: str, count: _Count, text: str, at: int) -> _Span | None:
        if what[0] in _BACK and len(what) > 1:
            self._find = what
            return self._found(what, count.number, text, at)
        if what in ";," and self._find:
            find = self._find if what == ";" else _BACK[self._find[0]] + self._find[1]
            return self._found(find, count.number, text, at)
        if what in ("gg", "G"):
            line = count.number - 1 if count.given else 0 if what == "gg" else text.count("\n")
            return _Span(_first_letter(text, _lines_below(text, 0, line)), lines=True)
        if what in ("iw", "aw"):
            first, last = _word_around(text, at)
            rest = text[last : _line_end(text, last)]
            return _Span(last + (len(rest) - len(rest.lstrip()) if what == "aw" else 0), first)
        if what in _WORDS:
            for _ in range(count.number):
                at = _WORDS[what](text, at, big=what.isupper())
            return _Span(at, inclusive=what in "eE")
        return _MOTIONS[what](text, at, count.number) if what in _MOTIONS else None

    def _found(self, find: str, count: int, text: str, at: int) -> _Span | None:
        """Return the motion to a character of the line."""
        kind, wanted = find[0], find[1]
        start, end = _line_start(text, at), _line_end(text, at)
        to = at
        for _ in range(count):
            to = text.find(wanted, to + 1, end) if kind in "ft" else text.rfind(wanted, start, to)
            if to < 0:
                return None
        to += {"t": -1, "T": 1}.get(kind, 0)
        return _Span(to, inclusive=kind in "ft")


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _indent(text: str, start: int) -> int:
    line = text[start : _line_end(text, start)]
    return len(line) - len(line.lstrip())


def _first_letter(text: str, start: int) -> int:
    return start + _indent(text, start)


def _clamped(text: str, at: int) -> int:
    """Return the position that a cursor may have outside of insert mode: on a character, if its line has any."""
    at = max(0, min(at, len(text)))
    return at - 1 if at == _line_end(text, at) and at > _line_start(text, at) else at


def _lines_below(text: str, at: int, count: int) -> int:
    """Return the start of the line that many lines below, or of the last or first one."""
    start = _line_start(text, at)
    for _ in range(abs(count)):
        if count > 0 and _line_end(text, start) < len(text):
            start = _line_end(text, start) + 1
        elif count < 0 and start:
            start = _line_start(text, start - 1)
    return start


def _line_below(text: str, at: int, count: int) -> int:
    """Return the position in the same column that many lines below."""
    start = _lines_below(text, at, count)
    return min(start + at - _line_start(text, at), _line_end(text, start))


def _kind(character: str, *, big: bool) -> int:
    """Return 0 for a blank, 1 for what words are made of, 2 for other characters."""
    return 0 if character.isspace() else 1 if big or character.isalnum() or character == "_" else 2


def _next_word(text: str, at: int, *, big: bool) -> int:
    kind = _kind(text[at], big=big) if at < len(text) else 0
    while at < len(text) and kind and _kind(text[at], big=big) == kind:
        at += 1
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _word_before(text: str, at: int, *, big: bool) -> int:
    at -= 1
    while at > 0 and text[at].isspace():
        at -= 1
    while at > 0 and _kind(text[at - 1], big=big) == _kind(text[at], big=big):
        at -= 1
    return max(at, 0)


def _word_end(text: str, at: int, *, big: bool) -> int:
    at += 1
    while at < len(text) - 1 and text[at].isspace():
        at += 1
    while at < len(text) - 1 and _kind(text[at + 1], big=big) == _kind(text[at], big=big):
        at += 1
    return max(0, min(at, len(text) - 1))


def _word_around(text: str, at: int) -> tuple[int, int]:
    """Return where the word, or the run of other characters, at a position begins and ends, within its line."""
    start, end = _line_start(text, at), _line_end(text, at)
    if at >= end:
        return at, at
    first = last = at
    kind = _kind(text[at], big=False)
    while first > start and _kind(text[first - 1], big=False) == kind:
        first -= 1
    while last < end and _kind(text[last], big=False) == kind:
        last += 1
    return first, last


_WORDS = {"w": _next_word, "W": _next_word, "b": _word_before, "B": _word_before, "e": _word_end, "E": _word_end}
_MOTIONS: Mapping[str, Callable[[str, int, int], _Span]] = {
    "h": lambda text, at, count: _Span(max(_line_start(text, at), at - count)),
    "l": lambda text, at, count: _Span(min(_line_end(text, at), at + count)),
    " ": lambda text, at, count: _Span(min(_line_end(text, at), at + count)),
    "j": lambda text, at, count: _Span(_line_below(text, at, count), lines=True),
    "k": lambda text, at, count: _Span(_line_below(text, at, -count), lines=True),
    "0": lambda text, at, count: _Span(_line_start(text, at)),
    "^": lambda text, at, count: _Span(_first_letter(text, _line_start(text, at))),
    "$": lambda text, at, count: _Span(_line_end(text, _lines_below(text, at, count - 1))),
}
