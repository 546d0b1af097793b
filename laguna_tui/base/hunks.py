"""A text's changes as hunks: what a diff shows, as values and in the unified format.

Format: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html, without the two lines of names.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Sign(StrEnum):
    """Which of the two texts a line is in."""

    KEPT = " "
    REMOVED = "-"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line without its line break."""

    sign: Sign
    text: str

    def __str__(self) -> str:
        return f"{self.sign}{self.text}"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changed lines that lie together, with some of those around them.

    Attributes:
        before: the number of its first line in the text before, from 1; where it has no line there, of the next one.
        after: the same in the text after.
    """

    before: int
    after: int
    lines: tuple[HunkLine, ...]

    @property
    def header(self) -> str:
        """Its position in the unified format: `@@ -5,2 +5,3 @@`."""
        added = sum(line.sign is Sign.ADDED for line in self.lines)
        removed = sum(line.sign is Sign.REMOVED for line in self.lines)
        before, after = _range(self.before, len(self.lines) - added), _range(self.after, len(self.lines) - removed)
        return f"@@ -{before} +{after} @@"

    def numbered(self) -> Iterator[tuple[int, HunkLine]]:
        """Each line with its number in the text that it is in: the one after, if in both."""
        before, after = self.before, self.after
        for line in self.lines:
            yield before if line.sign is Sign.REMOVED else after, line
            before, after = before + (line.sign is not Sign.ADDED), after + (line.sign is not Sign.REMOVED)


def unified(hunks: Iterable[Hunk]) -> tuple[str, ...]:
    """The lines of a unified diff: each begins with `@@`, a blank, `-` or `+`."""
    return tuple(line for hunk in hunks for line in (hunk.header, *map(str, hunk.lines)))


def _range(first: int, count: int) -> str:
    """Line numbers as the format has them: the first and how many; the line before where there are none."""
    return f"{first if count else first - 1},{count}" if count != 1 else f"{first}"
