"""`find`: paths by a part of them or by a glob; few matches come with their outlines."""

from dataclasses import dataclass
from itertools import islice

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.regex_search import BUDGET_S, Clock
from laguna_tui.agent.tools.base.result_lines import coverage, matching_paths, read_lines, symbol_line
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import declared
from laguna_tui.base.units import plural
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import WorkspaceError
from laguna_tui.repo.syntax.analysis import file_outline

# For a longer listing a narrower pattern is the better answer.
MAX_PATHS = 100
# Up to this many files are shown with their definitions.
OUTLINED_FILES = 3
OUTLINE_LINES = 12


@dataclass(frozen=True, slots=True)
class FindArguments:
    """pattern: A part of a path, or a glob."""

    pattern: str = declared()


def find(services: ToolServices, run: ToolRun, wanted: FindArguments) -> ToolResult:
    """Return the matching paths, one a line, sorted."""
    pattern = wanted.pattern.strip()
    listing = run.workspace.files(Clock(run.cancelled, BUDGET_S).is_over)
    paths = matching_paths(pattern.removeprefix("./"), [entry.path for entry in listing.entries])
    notes = coverage(listing, found=bool(paths), elsewhere="use list")
    if not paths:
        return ToolResult("\n".join([f"no files match {pattern}", *notes]))
    if len(paths) <= OUTLINED_FILES:
        lines = [line for path in paths for line in (escaped(path), *_outlined(run, path))]
        return ToolResult("\n".join([*lines, *notes]))
    listed = [escaped(path) for path in paths]
    if len(paths) <= MAX_PATHS:
        return ToolResult("\n".join([*listed, *notes]))
    more = f"… {len(paths) - MAX_PATHS} more files; use a longer pattern"
    return ToolResult("\n".join([*listed[:MAX_PATHS], more, *notes]), whole="\n".join(listed))


def _outlined(run: ToolRun, path: str) -> list[str]:
    """Return the file's top-level definitions as result lines; none if it cannot be read."""
    if run.readable(path):
        return []
    try:
        lines = read_lines(run.workspace, path, SEARCH_LIMIT_BYTES)
    except WorkspaceError:
        return []
    definitions = file_outline(path, lines).top_level()
    first = [symbol_line(d.name, path, d.line, lines[d.line - 1]) for d in islice(definitions, OUTLINE_LINES)]
    more = len(definitions) - len(first)
    return [*first, f"… {more} more {plural(more, 'definition')}"] if more else first


FIND = Tool(
    "find",
    "List files by a part of their path or a glob. Few matches come with their outlines.",
    FindArguments,
    find,
    read_only=True,
)
