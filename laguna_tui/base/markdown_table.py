"""Tables in Markdown that read well as plain text, too."""

from collections.abc import Sequence

_NARROWEST = 3
"""Characters of a column, so that its rule is one."""


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, the first column left-aligned and the others right-aligned."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (head, *rows)]
    widths = [max(_NARROWEST, *map(len, column)) for column in zip(*cells, strict=True)]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = []
    for first, *others in (cells[0], rule, *cells[1:]):
        padded = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append(f"| {' | '.join(padded)} |")
    return lines
