"""Splits a stream of Markdown into top-level blocks, line by line, so that each is converted once, when it closes.

Fences, headings, quotes and paragraphs follow CommonMark. A list is split into its items, so that a long list is never
one long open block; each item keeps its number. No text is lost: the sources of the blocks, joined by newlines, are the
text without the blank lines between blocks.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

# A line indented this far is code, even if it looks like another block.
INDENTED_CODE = 4
_FENCE = re.compile(r"(?P<indent> {0,3})(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
_INNER_FENCE = re.compile(r"\s*(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_SETEXT = re.compile(r" {0,3}(=+|-+)\s*$")
_ITEM = re.compile(r"(?P<lead> {0,3}(?:[-*+]|\d{1,9}[.)]))(?P<blank> {1,4}|\s*$)")
_INTERRUPTING_ITEM = re.compile(r" {0,3}(?:[-*+]|1[.)]) +\S")
_QUOTE = re.compile(r" {0,3}>")


class BlockType(Enum):
    """The type of the open block."""

    NONE = auto()
    PARAGRAPH = auto()
    FENCE = auto()
    ITEM = auto()
    QUOTE = auto()


@dataclass(frozen=True, slots=True)
class ClosedBlock:
    """A closed block.

    Attributes:
        source: its Markdown.
        gap: whether a blank row precedes it.
    """

    source: str
    gap: bool


class Splitter:
    """Splits text that is fed in.

    Attributes:
        kind: type of the open block.
        lines: complete lines of the open block.
        partial: the unfinished line.
        gap: whether a blank row precedes the open block.
    """

    def __init__(self) -> None:
        self.kind = BlockType.NONE
        self.lines: list[str] = []
        self.partial = ""
        self.gap = False
        self._started = False
        self._blank = False
        self._mark = ""  # the open fence, of the block or inside a list item
        self._depth = 0  # the column at which a list item's content starts
        self._closed: list[ClosedBlock] = []

    @property
    def tail(self) -> str:
        """The source of the open block, including the unfinished line."""
        return "\n".join([*self.lines, self.partial] if self.partial else self.lines)

    @property
    def tail_gap(self) -> bool:
        """Whether a blank row precedes the open block, as far as its first characters show."""
        if self.lines:
            return self.gap
        return self._started and (self._blank or not _ITEM.match(self.partial))

    def feed(self, text: str) -> list[ClosedBlock]:
        """Add text. Returns the blocks that it closes."""
        *whole, self.partial = (self.partial + text).split("\n")
        for line in whole:
            self._line(line)
        closed, self._closed = self._closed, []
        return closed

    def finish(self) -> list[ClosedBlock]:
        """End the stream. Returns the remaining blocks."""
        closed = self.feed("\n") if self.partial else []
        self._close()
        closed, self._closed = closed + self._closed, []
        return closed

    def _line(self, line: str) -> None:
        if self.kind is BlockType.FENCE:
            self._in_fence(line)
        elif not line.strip():
            self._blank_line()
        elif self.kind is BlockType.ITEM and self._continues_item(line):
            self._in_item(line)
        elif self.kind in (BlockType.PARAGRAPH, BlockType.QUOTE) and not self._interrupts(line):
            self.lines.append(line)
            if self.kind is BlockType.PARAGRAPH and _SETEXT.match(line):
                self._close()
        else:
            self._close()
            self._open(line)

    def _in_fence(self, line: str) -> None:
        self.lines.append(line)
        if closes_fence(line, self._mark):
            self._close()

    def _blank_line(self) -> None:
        self._blank = True
        if self.kind is BlockType.ITEM:
            self.lines.append("")
        elif self.kind is not BlockType.NONE:
            self._close()

    def _continues_item(self, line: str) -> bool:
        if len(line) - len(line.lstrip()) >= self._depth:
            return True
        lazy = not (self._blank or self._mark or _ITEM.match(line))
        return lazy and not self._interrupts(line)

    def _in_item(self, line: str) -> None:
        self.lines.append(line)
        self._blank = False
        inner = _INNER_FENCE.match(line)
        if self._mark:
            self._mark = "" if closes_fence(line, self._mark, self._depth) else self._mark
        elif inner is not None:
            self._mark = inner["mark"]

    def _interrupts(self, line: str) -> bool:
        """Return whether the line ends a paragraph because another block starts."""
        if self.kind is BlockType.QUOTE:
            return not _QUOTE.match(line)
        starts = (_FENCE, _HEADING, _QUOTE, _INTERRUPTING_ITEM)
        return any(start.match(line) for start in starts) or bool(_RULE.match(line) and not _SETEXT.match(line))

    def _open(self, line: str) -> None:
        fence, item = _FENCE.match(line), _ITEM.match(line)
        single = bool(_HEADING.match(line) or _RULE.match(line))
        self.lines = [line]
        if fence is not None:
            self.kind, self._mark = BlockType.FENCE, fence["mark"]
        elif item is not None and not single:
            self.kind, self._mark = BlockType.ITEM, ""
            self._depth = len(item["lead"]) + max(1, len(item["blank"]))
        else:
            self.kind = BlockType.QUOTE if _QUOTE.match(line) else BlockType.PARAGRAPH
        tight = self.kind is BlockType.ITEM and not self._blank
        self.gap = self._started and not tight
        self._started, self._blank = True, False
        if single:
            self._close()

    def _close(self) -> None:
        if self.lines:
            source = "\n".join(self.lines).rstrip("\n") if self.kind is not BlockType.FENCE else "\n".join(self.lines)
            self._closed.append(ClosedBlock(source, self.gap))
        self.kind, self.lines, self._mark = BlockType.NONE, [], ""


def closes_fence(line: str, mark: str, depth: int = 0) -> bool:
    """Return whether the line closes a fence opened with `mark`, in content that starts at column `depth`."""
    stripped = line.strip()
    near = len(line) - len(line.lstrip()) - depth < INDENTED_CODE
    return near and len(stripped) >= len(mark) and stripped == mark[0] * len(stripped)
