"""The lines that search and find answer with: `symbol path:line: code`, the symbol first.

A model picks the right line far more often when the name stands before the path than after it.
"""

from laguna_tui.repo.outline import Outline

# Enough for any signature's first line.
CODE_CHARS = 120
NO_SYMBOL = "-"


def symbol_line(symbol: str, path: str, line: int, code: str) -> str:
    """One result line; the code is stripped and cut."""
    shown = code[: CODE_CHARS * 4].strip()
    if len(shown) > CODE_CHARS:
        shown = shown[: CODE_CHARS - 1] + "…"
    return f"{symbol} {path}:{line}: {shown}"


def symbol_at(outline: Outline, line: int) -> str:
    """The name defined on a line, else that of the definition around it, else `-`."""
    found = outline.enclosing(line)
    return found.name if found else NO_SYMBOL
