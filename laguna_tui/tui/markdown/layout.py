"""Lays out flows as lines for a width. Prose has a maximum width; code and tables may use the whole screen.

The columns of a table share the width, cells wrap, and a table that does not fit becomes a list of cards.
"""

from collections.abc import Sequence

from laguna_tui.tui.markdown.flow import CodeFlow, Flow, Flows, Indent, ProseFlow, RuleFlow, TableFlow
from laguna_tui.tui.text_lines import (
    BLANK,
    MIN_WIDTH,
    TextLine,
    TextRun,
    TextRuns,
    cells,
    fold,
    plain,
    width_of_runs,
    wrap,
)

# Longer lines of running text are hard to read (typography asks for 45 to 90 characters).
MAX_PROSE = 96
CODE_PAD = TextRun(" ", "code")


def lay_out(flows: Flows, width: int) -> list[TextLine]:
    """Return the lines of a block for a width. The gap before the first flow is left to the transcript."""
    lines: list[TextLine] = []
    for flow in flows:
        if flow.gap and lines:
            lines.append(_gap(flow.indent))
        lines.extend(_lay(flow, width))
    return lines


def _gap(indent: Indent) -> TextLine:
    """Return a blank row, with the bar of an enclosing quote."""
    return TextLine(indent.rest, lead=cells(plain(indent.rest))) if plain(indent.rest).strip() else BLANK


def _lay(flow: Flow, width: int) -> list[TextLine]:
    match flow:
        case ProseFlow(runs, indent):
            return wrap(runs, min(width, MAX_PROSE), indent.first, indent.rest)
        case CodeFlow(code, language, indent):
            room = width - cells(plain(indent.rest))
            reach = code_reach(code, room)
            return indented([*language_row(language, reach), *lay_code(code, room, reach)], indent)
        case TableFlow(indent=indent):
            return indented(lay_table(flow, width - cells(plain(indent.rest))), indent)
        case RuleFlow(indent):
            room = min(width, MAX_PROSE) - cells(plain(indent.rest))
            return indented([TextLine((TextRun("─" * max(1, room), "rule"),))], indent)


def code_reach(code: tuple[TextRuns, ...], width: int) -> int:
    """Return the width of a code block's background: its longest line, at least as wide as prose, at most `width`."""
    longest = max(map(width_of_runs, code), default=0) + 2
    return min(width, max(MAX_PROSE, longest))


def language_row(language: str, reach: int) -> list[TextLine]:
    """Return the row above a code block that names its language, if any."""
    if not language:
        return []
    # Nothing of it is copied, not even a line break.
    label = TextRun(f" {language}", "code code-label")
    return [TextLine((label,), "", len(language) + 1, "code", reach)]


def lay_code(code: tuple[TextRuns, ...], width: int, reach: int) -> list[TextLine]:
    """Return the rows of code with a cell of padding on both sides; long lines are folded."""
    rows: list[TextLine] = []
    for line in code:
        for number, runs in enumerate(fold(line, max(MIN_WIDTH, width - 2))):
            rows.append(TextLine((CODE_PAD, *runs), "" if number else None, 1, "code", reach))
    return rows


def indented(lines: list[TextLine], indent: Indent) -> list[TextLine]:
    """Return the lines with an indent, which copying leaves out."""
    if not indent.rest:
        return lines
    out: list[TextLine] = []
    for line in lines:
        lead: TextRuns = indent.rest if out else indent.first
        wide = cells(plain(lead))
        out.append(line._replace(runs=lead + line.runs, lead=line.lead + wide, reach=line.reach + wide))
    return out


SEPARATOR = TextRun(" │ ", "rule")
# Below this width almost every word breaks; the table is drawn as cards instead.
MIN_COLUMN = 6


def lay_table(table: TableFlow, width: int) -> list[TextLine]:
    """Return the table's rows in at most `width` cells."""
    every = (table.head, *table.rows)
    natural = [max(width_of_runs(row[i]) for row in every) for i in range(len(table.head))]
    room = width - len(SEPARATOR.text) * (len(natural) - 1)
    widths = column_widths(natural, room)
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


def column_widths(natural: Sequence[int], room: int) -> list[int] | None:
    """Return the column widths that fit into `room`: narrow columns keep theirs, wide ones share the rest.

    Returns None if a shared column would be narrower than `MIN_COLUMN`.
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


def _rule(widths: Sequence[int], dash: str = "─") -> TextLine:
    joint = "┼" if dash == "─" else "│"
    return TextLine((TextRun(f"{dash}{joint}{dash}".join(dash * width for width in widths), "rule"),))


def _row(row: Sequence[TextRuns], widths: Sequence[int], align: Sequence[str], tone: str = "") -> list[TextLine]:
    columns = [[line.runs for line in wrap(cell, width)] for cell, width in zip(row, widths, strict=True)]
    lines: list[TextLine] = []
    for at in range(max(len(column) for column in columns)):
        runs: list[TextRun] = []
        for column, width, side in zip(columns, widths, align, strict=True):
            runs.extend([SEPARATOR] if runs else [])
            runs.extend(_aligned(column[at] if at < len(column) else (), width, side, tone))
        while runs and runs[-1].text.isspace():
            runs.pop()  # nothing is copied that the table does not say
        lines.append(TextLine(tuple(runs)))
    return lines


def _aligned(runs: TextRuns, width: int, side: str, tone: str) -> TextRuns:
    spare = max(0, width - cells(plain(runs)))
    left = {"right": spare, "center": spare // 2}.get(side, 0)
    toned = tuple(TextRun(run.text, f"{run.tone} {tone}") for run in runs) if tone else runs
    return (TextRun(" " * left), *toned, TextRun(" " * (spare - left)))


def _cards(table: TableFlow, width: int) -> list[TextLine]:
    lines: list[TextLine] = []
    for row in table.rows:
        lines.extend([TextLine((TextRun("─" * min(width, MIN_COLUMN * 2), "rule"),))] if lines else [])
        for head, cell in zip(table.head, row, strict=True):
            label = tuple(TextRun(run.text, f"{run.tone} strong") for run in head)
            lines.extend(wrap((*label, TextRun(": "), *cell), width, rest=(TextRun("  "),)))
    return lines
