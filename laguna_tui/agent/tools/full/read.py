"""`read`: some lines of one file, each with its number."""

from collections.abc import Sequence
from dataclasses import dataclass

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.results import RESULT_LIMIT_CHARS, ToolResult
from laguna_tui.agent.tools.base.tool import LAST_LINE, ArgumentError, Tool, ToolServices, Value
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import declared
from laguna_tui.repo.files.text_files import decode, is_binary, split_lines
from laguna_tui.repo.files.workspace import UnreadableError

# A screen or four of code: enough for a function and what is around it.
LINES_A_CALL = 200
# The rest of a longer line is data, or minified code.
LINE_CHARS = 2_000
# Leaves room for the last line, which says what is not shown.
_ROOM_CHARS = RESULT_LIMIT_CHARS - 200


@dataclass(frozen=True, slots=True)
class ReadArguments:
    """A file, the first line to show of it, and how many."""

    path: str = declared()
    offset: int | None = declared(None, "first line", minimum=1, maximum=LAST_LINE, unit="line number")
    limit: int | None = declared(
        None, f"lines, {LINES_A_CALL} if not given", minimum=1, maximum=LAST_LINE, unit="number of lines"
    )


def read(services: ToolServices, run: ToolRun, wanted: ReadArguments) -> ToolResult:
    """Return `limit` lines from `offset` on, as many as fit, then a line that says what is not shown.

    Raises:
        ArgumentError: `offset` is behind the last line.
        ToolError, WorkspaceError: The path cannot be used.
    """
    inside = run.workspace.locate(wanted.path)
    run.check_readable(inside)
    data = run.workspace.read(inside)
    if is_binary(data):
        raise UnreadableError(f"{escaped(inside)} is a binary file; try another file")
    lines = split_lines(decode(data).text)
    start = wanted.offset or 1
    if lines and start > len(lines):
        raise ArgumentError(f"{escaped(inside)} has {len(lines)} lines; call again with an offset in them")
    services.changes.seen.note(inside, data)
    if not lines:
        return ToolResult(f"{escaped(inside)} is empty")
    asked = min(len(lines), start + (wanted.limit or LINES_A_CALL) - 1)
    shown = _numbered(lines[start - 1 : asked], start)
    last = start + len(shown) - 1
    if last < len(lines):
        shown.append(f"… lines {last + 1}-{len(lines)} not shown; read them with offset={last + 1}")
    return ToolResult("\n".join(shown), excerpt="\n".join(lines[start - 1 : last]))


def _numbered(lines: Sequence[str], start: int) -> list[str]:
    """Return the first of the lines with their numbers, as many as fit; at least one."""
    shown: list[str] = []
    room = _ROOM_CHARS
    for number, line in enumerate(lines, start):
        more = len(line) - LINE_CHARS
        text = f"{number}: {line}" if more <= 0 else f"{number}: {line[:LINE_CHARS]}… {more:,} more characters"
        room -= len(text) + 1
        if room < 0 and shown:
            break
        shown.append(text)
    return shown


READ = Tool("read", "Show lines of a file.", ReadArguments, read, read_only=True, values={"path": Value.FILE})
