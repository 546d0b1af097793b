r"""What a message names with an `@`: files, folders, lines of files, definitions. Works on text alone.

    @src/cart.py   @src/   @src/cart.py:10-20   @src/cart.py:10   @src/cart.py#L10-L20
    @ShoppingCart   @ShoppingCart.total_price   @"with blanks.py":10

Code in a message names nothing: text between backticks or in a fenced block is ignored, so decorators can be pasted.
An `@` inside a word (an e-mail address) begins nothing either. In quotes, `\"` and `\\` stand for `"` and `\`.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# The longest path that systems accept.
NAME_CHARS = 4096
_STOPS = "\\s\"'`<>|*?,;“”„‘’«»…。，、；：？！（）「」【】\x00-\x1f"
_QUOTED = rf'"(?P<quoted>(?:[^"\\\n]|\\.){{1,{NAME_CHARS}}})"(?P<after>(?::|#L)\d{{1,9}}(?:-L?\d{{1,9}})?)?'
_BARE = f"(?P<bare>[^{_STOPS}@][^{_STOPS}]{{0,{NAME_CHARS - 1}}})"
_MENTION = re.compile(f"@(?:{_QUOTED}|{_BARE})")
# An unfinished mention ends at the cursor: its quotes may be open, and it may be empty.
_OPEN = re.compile(rf'@(?:"(?P<quoted>(?:[^"\\\n]|\\.){{0,{NAME_CHARS}}})|(?P<bare>(?:[^{_STOPS}@][^{_STOPS}]*)?))\Z')
# Written by people (10-20), web pages (L10-L20) and compilers (line and column).
_LINES = re.compile(r"(?:(?::(\d{1,9})(?:-(\d{1,9}))?(?::\d{1,9})?)|(?:#L(\d{1,9})(?:-L?(\d{1,9}))?))\Z")
_TRAILING = ".,:;!?"
_CLOSING = {")": "(", "]": "[", "}": "{"}
_ESCAPED = re.compile(r'\\(["\\])')
_BACKTICKS = re.compile("`+")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
# After these an "@" is part of an address, a path, a package's version or an escape.
_JOINING = "_.+-/\\@#&="


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention.

    Attributes:
        text: as written, the "@" included; message[start:stop].
        start: index of the "@".
        stop: past its last character.
        name: what it names, without quotes and lines, odd bytes as `base.paths.escaped` shows them.
        first: first line, from 1, as written; None without any.
        last: last line.
    """

    text: str
    start: int
    stop: int
    name: str
    first: int | None = None
    last: int | None = None

    @property
    def plain(self) -> str:
        """Return the name, and its lines as compilers write them."""
        if self.first is None:
            return self.name
        last = "" if self.last == self.first else f"-{self.last}"
        return f"{self.name}:{self.first}{last}"


@dataclass(frozen=True, slots=True)
class OpenMention:
    """A mention up to the cursor: the index of the "@", and the name without quotes, which may be empty."""

    start: int
    name: str
    quoted: bool


def mentions(message: str) -> tuple[Mention, ...]:
    """Return every mention of a message, in order; takes time in proportion to its length."""
    code = _code(message)
    found = []
    at = message.find("@")
    while at >= 0:
        # Checked first, because most "@" are inside words.
        match = _MENTION.match(message, at) if _begins(message, at) else None
        mention = _mention(match) if match else None
        if mention is not None and not _inside(code, at):
            found.append(mention)
        at = message.find("@", at + 1 if mention is None else mention.stop)
    return tuple(found)


def unmarked(message: str) -> str:
    """Return the message with its mentions as plain names."""
    for mention in reversed(mentions(message)):
        message = message[: mention.start] + mention.plain + message[mention.stop :]
    return message


def open_mention(message: str, cursor: int) -> OpenMention | None:
    """Return the mention that the cursor is in or directly behind, or None."""
    before = message[:cursor]
    begin = before.rfind("\n") + 1
    # An open quote may hold blanks and another "@"; the first "@" of the line that reaches the cursor is meant.
    for at in range(max(begin, cursor - NAME_CHARS - 2), len(before)):
        if before[at] == "@" and _begins(message, at) and (match := _OPEN.match(before, at)):
            name = match["bare"]
            if _inside(_code(before), at):
                return None
            return OpenMention(at, _unescaped(match["quoted"]) if name is None else name, name is None)
    return None


def written(name: str, first: int | None = None, last: int | None = None) -> str:
    """Return the mention of a name, in quotes where it needs them. The name must be one line (`base.paths.escaped`)."""
    lines = "" if first is None else f":{first}" if last in (None, first) else f":{first}-{last}"
    plain = f"@{name}{lines}"
    read = mentions(plain)
    if len(read) == 1 and read[0] == Mention(plain, 0, len(plain), name, first, last if last is not None else first):
        return plain
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'@"{quoted}"{lines}'


def _mention(match: re.Match[str]) -> Mention | None:
    if match["quoted"] is not None:
        name, lines = _unescaped(match["quoted"]), _LINES.match(match["after"] or "")
        text = match.group()
    else:
        name = _untrailed(match["bare"])
        text = f"@{name}"
        lines = _LINES.search(name)
        name = name[: lines.start()] if lines else name
    if not name:
        return None
    numbers = [int(number) for number in lines.groups() if number] if lines else [None]
    return Mention(text, match.start(), match.start() + len(text), name, numbers[0], numbers[-1])


def _begins(message: str, at: int) -> bool:
    """Return whether an "@" is where a mention may begin: not in the middle of a word."""
    before = message[at - 1] if at else " "
    if before in _JOINING:
        return False
    # Chinese and Japanese have no blanks between words.
    return not before.isalnum() or unicodedata.east_asian_width(before) in "WF"


def _untrailed(bare: str) -> str:
    """Strip what belongs to the sentence: marks at the end, and brackets that were opened before the mention."""
    opened = {bracket: bare.count(bracket) for bracket in "()[]{}"}
    stop = len(bare)
    while stop:
        last = bare[stop - 1]
        surplus = last in _CLOSING and opened[last] > opened[_CLOSING[last]]
        if last not in _TRAILING and not surplus:
            break
        if surplus:
            opened[last] -= 1
        stop -= 1
    return bare[:stop]


def _unescaped(quoted: str) -> str:
    return _ESCAPED.sub(r"\1", quoted)


def _inside(code: Sequence[tuple[int, int]], at: int) -> bool:
    span = bisect_right(code, at, key=lambda begun: begun[0]) - 1
    return span >= 0 and code[span][0] <= at < code[span][1]


def _code(message: str) -> list[tuple[int, int]]:
    """Return where code is: fenced blocks (an open one reaches to the end), and text between backticks in a line."""
    found: list[tuple[int, int]] = []
    fence, begun = "", 0
    at = 0
    for line in message.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                found.append((begun, at))
                fence = ""
        elif mark and "`" not in line[mark.end() :]:
            fence, begun = mark[1], at
        else:
            found += [(at + start, at + stop) for start, stop in _spans(line)]
        at += len(line) + 1
    return [*found, (begun, at)] if fence else found


def _spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between a run of backticks and the next run of the same length."""
    runs = [match.span() for match in _BACKTICKS.finditer(line)]
    following: dict[int, int] = {}
    closes = [0] * len(runs)
    for index in reversed(range(len(runs))):
        length = runs[index][1] - runs[index][0]
        closes[index] = following.get(length, 0)
        following[length] = index
    index = 0
    while index < len(runs):
        if closes[index]:
            yield runs[index][0], runs[closes[index]][1]
            index = closes[index]
        index += 1
