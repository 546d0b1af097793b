"""The lines that search and find answer with: `symbol path:line: code`, the symbol first.

A model picks the right line far more often when the name stands before the path than after it.
"""

from laguna_tui.repo.names import shown
from laguna_tui.repo.outline import Outline

# Enough for any signature's first line.
CODE_CHARS = 120
NO_SYMBOL = "-"


def incomplete(count: int) -> str:
    """The last line when the folder has more files than could be looked at in time."""
    return f"… only the first {count:,} files were looked at; start in a smaller folder"


def symbol_line(symbol: str, path: str, line: int, code: str) -> str:
    """One result line; the code is stripped and cut."""
    return f"{symbol} {shown(path)}:{line}: {shortened(code.strip())}"


def shortened(code: str) -> str:
    """The code, or its beginning and a mark where it is longer than a line of a result shows."""
    return code if len(code) <= CODE_CHARS else code[: CODE_CHARS - 1] + "…"


def symbol_at(outline: Outline, line: int) -> str:
    """The name defined on a line, else that of the definition around it, else `-`."""
    found = outline.enclosing(line)
    return found.name if found else NO_SYMBOL
