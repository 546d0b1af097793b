"""Hunks written as a unified diff."""

import re

from laguna_tui.base.text_diff import Hunk, HunkLine, Sign


def hunks_of(*lines: str) -> tuple[Hunk, ...]:
    """The hunks of a diff's lines; each begins with `@@`, a blank, `-` or `+`."""
    hunks: list[Hunk] = []
    for line in lines:
        head = re.fullmatch(r"@@ -(\d+)(,0)?(?:,\d+)? \+(\d+)(,0)?(?:,\d+)? @@", line)
        if head:
            # Without lines, the format has the number of the one before.
            hunks.append(Hunk(int(head[1]) + bool(head[2]), int(head[3]) + bool(head[4]), ()))
        else:
            last = hunks.pop()
            hunks.append(Hunk(last.before, last.after, (*last.lines, HunkLine(Sign(line[0]), line[1:]))))
    return tuple(hunks)
