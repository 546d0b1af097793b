"""Flows to lines for one width. Prose stays readable on a wide screen; code and tables may use all of it."""

from laguna_tui.tui.markdown.flow import BLANK, Code, Flow, Flows, Indent, Line, Prose, Rule, Run, Runs, Table, plain
from laguna_tui.tui.markdown.table import lay_table
from laguna_tui.tui.markdown.wrap import MIN_WIDTH, cells, fold, wrap

# Longer lines of running text are hard to read (typography asks for 45 to 90 characters).
MAX_PROSE = 96
CODE_PAD = Run(" ", "code")


def lay_out(flows: Flows, width: int) -> list[Line]:
    """The lines of a block at a width. The first flow's gap is the transcript's business, not the block's."""
    lines: list[Line] = []
    for flow in flows:
        if flow.gap and lines:
            lines.append(_gap(flow.indent))
        lines.extend(_lay(flow, width))
    return lines


def _gap(indent: Indent) -> Line:
    """A blank row; a quote's bar runs through it."""
    return Line(indent.rest, lead=cells(plain(indent.rest))) if plain(indent.rest).strip() else BLANK


def _lay(flow: Flow, width: int) -> list[Line]:
    match flow:
        case Prose(runs, indent):
            return wrap(runs, min(width, MAX_PROSE), indent.first, indent.rest)
        case Code(code, language, indent):
            room = width - cells(plain(indent.rest))
            reach = code_reach(code, room)
            return indented([*language_row(language, reach), *lay_code(code, room, reach)], indent)
        case Table(indent=indent):
            return indented(lay_table(flow, width - cells(plain(indent.rest))), indent)
        case Rule(indent):
            room = min(width, MAX_PROSE) - cells(plain(indent.rest))
            return indented([Line((Run("─" * max(1, room), "rule"),))], indent)


def code_reach(code: tuple[Runs, ...], width: int) -> int:
    """How wide the ground of a code block is: as its longest line, not less than prose, not more than the screen."""
    longest = max((cells(plain(line)) for line in code), default=0) + 2
    return min(width, max(MAX_PROSE, longest))


def language_row(language: str, reach: int) -> list[Line]:
    """The row above a fence that names its language, if it has one."""
    if not language:
        return []
    return [Line((Run(f" {language}", "code code-label"),), lead=len(language) + 1, fill="code", reach=reach)]


def lay_code(code: tuple[Runs, ...], width: int, reach: int) -> list[Line]:
    """Rows of code with a cell of padding on both sides, folded where they are too long."""
    rows: list[Line] = []
    for line in code:
        for number, runs in enumerate(fold(line, max(MIN_WIDTH, width - 2))):
            rows.append(Line((CODE_PAD, *runs), "" if number else None, 1, "code", reach))
    return rows


def indented(lines: list[Line], indent: Indent) -> list[Line]:
    """The lines with the indent before them; copying leaves it out."""
    if not indent.rest:
        return lines
    out: list[Line] = []
    for line in lines:
        lead: Runs = indent.rest if out else indent.first
        wide = cells(plain(lead))
        out.append(line._replace(runs=lead + line.runs, lead=line.lead + wide, reach=line.reach + wide))
    return out
