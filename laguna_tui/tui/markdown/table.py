"""Tables to rows: columns share the width fairly, cells wrap, and a table that cannot fit becomes a list of cards."""

from collections.abc import Sequence

from laguna_tui.tui.markdown.flow import Line, Run, Runs, Table, plain
from laguna_tui.tui.markdown.wrap import cells, wrap

SEPARATOR = Run(" │ ", "rule")
# A column squeezed below this breaks almost every word; the table is drawn as cards instead.
MIN_COLUMN = 6


def lay_table(table: Table, width: int) -> list[Line]:
    """The table's rows in at most `width` cells."""
    every = (table.head, *table.rows)
    natural = [max(cells(plain(row[i])) for row in every) for i in range(len(table.head))]
    room = width - len(SEPARATOR.text) * (len(natural) - 1)
    widths = share(natural, room)
    if widths is None:
        return _cards(table, width)
    lines = _row(table.head, widths, table.align, "strong")
    lines.append(_rule(widths))
    ruled = sum(natural) > room
    for number, row in enumerate(table.rows):
        if ruled and number:
            lines.append(_rule(widths, "·"))
        lines.extend(_row(row, widths, table.align))
    return lines


def share(natural: Sequence[int], room: int) -> list[int] | None:
    """Column widths that fit into `room`: narrow columns keep theirs, the wide ones share what is left.

    None when a shared column would be narrower than `MIN_COLUMN`.
    """
    widths = [max(1, cells) for cells in natural]
    if sum(widths) <= room:
        return widths
    wide = set(range(len(widths)))
    while wide:
        each = (room - sum(widths[i] for i in range(len(widths)) if i not in wide)) // len(wide)
        if each < MIN_COLUMN:
            return None
        narrow = {i for i in wide if widths[i] <= each}
        if not narrow:
            for i in wide:
                widths[i] = each
            return widths
        wide -= narrow
    return widths


def _rule(widths: Sequence[int], dash: str = "─") -> Line:
    joint = "┼" if dash == "─" else "│"
    return Line((Run(f"{dash}{joint}{dash}".join(dash * width for width in widths), "rule"),))


def _row(row: Sequence[Runs], widths: Sequence[int], align: Sequence[str], tone: str = "") -> list[Line]:
    columns = [[line.runs for line in wrap(cell, width)] for cell, width in zip(row, widths, strict=True)]
    lines: list[Line] = []
    for at in range(max(len(column) for column in columns)):
        runs: list[Run] = []
        for column, width, side in zip(columns, widths, align, strict=True):
            runs.extend([SEPARATOR] if runs else [])
            runs.extend(_aligned(column[at] if at < len(column) else (), width, side, tone))
        lines.append(Line(tuple(runs)))
    return lines


def _aligned(runs: Runs, width: int, side: str, tone: str) -> Runs:
    spare = max(0, width - cells(plain(runs)))
    left = {"right": spare, "center": spare // 2}.get(side, 0)
    toned = tuple(Run(run.text, f"{run.tone} {tone}") for run in runs) if tone else runs
    return (Run(" " * left), *toned, Run(" " * (spare - left)))


def _cards(table: Table, width: int) -> list[Line]:
    lines: list[Line] = []
    for row in table.rows:
        lines.extend([Line((Run("─" * min(width, MIN_COLUMN * 2), "rule"),))] if lines else [])
        for head, cell in zip(table.head, row, strict=True):
            label = tuple(Run(run.text, f"{run.tone} strong") for run in head)
            lines.extend(wrap((*label, Run(": "), *cell), width, rest=(Run("  "),)))
    return lines
