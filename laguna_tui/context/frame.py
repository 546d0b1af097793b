"""The frame of a file in a user's message: one line that says what it is, then its text between two fences.

    src/cart.py (lines 9-12 of 30: ShoppingCart.total_price)
    ```
        def total_price(self):
    ```

The form of a code block in Markdown, because every model has read millions of them and a fence is one token. The fence
is longer than any run of its character in the text (CommonMark 0.31, section 4.5), so no text can end its own block.
The line above is one line whatever the path is called. Text that imitates a turn of the conversation is handled by the
safe encoder.
"""

import re
from collections.abc import Sequence

from laguna_tui.base.paths import escaped
from laguna_tui.base.units import clipped, plural
from laguna_tui.repo.files.text_files import split_lines

_SHORTEST_FENCE = 3
_RUNS = re.compile("`+|~+")
_BLANKS = re.compile(r"\s+")
# Names are short; longer text is not a name.
_PLACE_CHARS = 120


def framed(path: str, text: str, facts: str) -> str:
    """Return a file's text, or a part of it, as it stands in a message; ends in a newline.

    Args:
        path: relative to the folder, any name that a file can have.
        text: its newlines are "\n".
        facts: how much of the file this is, from `whole`, `lines`, `stretches` or `shortened`.
    """
    return headed(f"{escaped(path)} ({facts})", text)


def headed(head: str, text: str) -> str:
    """Return a text in fences under a line that says what it is; ends in a newline."""
    fence = fence_for(text)
    line_end = "" if text.endswith("\n") or not text else "\n"
    return f"{head}\n{fence}\n{text}{line_end}{fence}\n"


def unframed(block: str) -> str:
    """Return the text in a block of `framed` or `headed`, with the newline added at its end."""
    _, fence, text = block.split("\n", 2)
    return text[: -len(f"{fence}\n")]


def fence_for(text: str) -> str:
    """Return a fence that the text does not contain: of backticks, or of tildes where those are shorter."""
    longest = {"`": 0, "~": 0}
    for run in _RUNS.findall(text):
        longest[run[0]] = max(longest[run[0]], len(run))
    return min((mark * max(_SHORTEST_FENCE, length + 1) for mark, length in longest.items()), key=len)


def whole(count: int) -> str:
    return "empty" if count == 0 else f"{count} {plural(count, 'line')}"


def lines(first: int, last: int, count: int, what: str = "") -> str:
    """Return the facts of some lines of a file that has `count`; `what` names the definition that they are."""
    numbers = f"line {first}" if first == last else f"lines {first}-{last}"
    return f"{numbers} of {count}: {one_line(what)}" if what else f"{numbers} of {count}"


def stretches(ranges: Sequence[tuple[int, int]], count: int) -> str:
    """Return the facts of several ranges of lines of a file that has `count`."""
    if len(ranges) == 1:
        return lines(*ranges[0], count)
    return f"lines {', '.join(f'{first}-{last}' for first, last in ranges)} of {count}"


def shortened(kept: int, count: int) -> str:
    """Return the facts of a file with gaps, which marker lines in the text show."""
    return f"{kept} of {count} lines"


def one_line(text: str) -> str:
    """Return text from a file on one line, cut if it is long."""
    return escaped(clipped(_BLANKS.sub(" ", text).strip(), _PLACE_CHARS))


def plain(text: str) -> str:
    r"""Return a file's text as it is shown: its lines as the tools count them, each ending in "\n"."""
    return "".join(line.rstrip("\r") + "\n" for line in split_lines(text))
