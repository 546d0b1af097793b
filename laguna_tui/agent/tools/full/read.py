"""`read`: some lines of one file, each with its number."""

from dataclasses import dataclass

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.result_lines import read_lines
from laguna_tui.agent.tools.base.results import Answer
from laguna_tui.agent.tools.base.tool import Tool
from laguna_tui.agent.tools.base.tool_arguments import LAST_LINE, ArgumentError
from laguna_tui.base.schema import declared
from laguna_tui.repo.relative_paths import escaped

# A screen or four of code: enough for a function and what is around it.
LINES_A_CALL = 200


@dataclass(frozen=True, slots=True)
class ReadArguments:
    """A file and the lines to show of it, both included."""

    path: str = declared()
    start: int | None = declared(None, "first line", minimum=1, maximum=LAST_LINE, unit="line number")
    end: int | None = declared(None, minimum=1, maximum=LAST_LINE, unit="line number")


def read(run: ToolRun, wanted: ReadArguments) -> Answer:
    """The lines `start` to `end` of `path`, at most 200 of them, then a line that says what is not shown.

    Raises:
        ArgumentError: an argument is wrong, or `start` is behind the last line or behind `end`.
        WorkspaceError: the path cannot be used.
    """
    inside, start, end = run.workspace.locate(wanted.path), wanted.start or 1, wanted.end
    lines = read_lines(run.workspace, inside)
    if not lines:
        return Answer(f"{escaped(inside)} is empty")
    if start > len(lines):
        raise ArgumentError(f"{escaped(inside)} has {len(lines)} lines; call again with a start in them")
    if end is not None and end < start:
        raise ArgumentError(f"end {end} is before start {start}; call again with end at or after start")
    end = len(lines) if end is None else min(end, len(lines))
    last = min(end, start + LINES_A_CALL - 1)
    return Answer("\n".join(_numbered(lines, start, last, end)), excerpt="\n".join(lines[start - 1 : last]))


def _numbered(lines: list[str], start: int, last: int, end: int) -> list[str]:
    shown = [f"{number}: {lines[number - 1]}" for number in range(start, last + 1)]
    if last < end:
        shown.append(f"… lines {last + 1}-{end} not shown; read them with start={last + 1}")
    return shown


READ = Tool.stateless(
    "read",
    "Show lines of a file.",
    ReadArguments,
    read,
)
