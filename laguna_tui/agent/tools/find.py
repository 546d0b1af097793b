"""`find`: paths by a part of them or by a glob; few matches come with their outlines."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from laguna_engine.chat.messages import ToolSpec
from laguna_tui.agent.tools.arguments import check_names, text
from laguna_tui.agent.tools.matching import BUDGET_S, Clock
from laguna_tui.agent.tools.result import Answer
from laguna_tui.agent.tools.source import read_lines
from laguna_tui.agent.tools.symbol_lines import incomplete, symbol_line
from laguna_tui.base.units import plural
from laguna_tui.repo.files import SEARCH_LIMIT_BYTES
from laguna_tui.repo.globs import is_glob, matches
from laguna_tui.repo.names import shown
from laguna_tui.repo.outline import outline
from laguna_tui.repo.workspace import Workspace, WorkspaceError

# A listing longer than this is not read; a narrower pattern is the better answer.
MAX_PATHS = 100
# So few files are worth showing from the inside.
OUTLINED_FILES = 3
OUTLINE_LINES = 12

SPEC = ToolSpec(
    name="find",
    description="List files by a part of their path or a glob. Few matches come with their outlines.",
    parameters={
        "type": "object",
        "properties": {"pattern": {"type": "string"}},
        "required": ["pattern"],
    },
)


def run(workspace: Workspace, arguments: Mapping[str, object], should_stop: Callable[[], bool]) -> Answer:
    """The matching paths, one a line, sorted.

    Raises:
        ArgumentError: the pattern is missing.
    """
    check_names(arguments, ("pattern",))
    pattern = text(arguments, "pattern").strip()
    listing = workspace.files(Clock(should_stop, BUDGET_S).is_over)
    notes = [] if listing.complete else [incomplete(len(listing.entries))]
    paths = matching(pattern.removeprefix("./"), [entry.path for entry in listing.entries])
    if not paths:
        return Answer("\n".join([f"no files match {pattern}", *notes]))
    if len(paths) <= OUTLINED_FILES:
        lines = [line for path in paths for line in (shown(path), *_outlined(workspace, path))]
        return Answer("\n".join([*lines, *notes]))
    listed = [shown(path) for path in paths]
    if len(paths) <= MAX_PATHS:
        return Answer("\n".join([*listed, *notes]))
    more = f"… {len(paths) - MAX_PATHS} more files; use a longer pattern"
    return Answer("\n".join([*listed[:MAX_PATHS], more, *notes]), "\n".join(listed))


def matching(pattern: str, paths: Sequence[str]) -> list[str]:
    """Paths that contain the text (in either case, unless it has capitals) or that the glob matches."""
    exact = pattern != pattern.lower()
    contained = {path for path in paths if pattern in (path if exact else path.lower())}
    if is_glob(pattern):
        contained.update(path for path in paths if matches(pattern, path))
    return sorted(contained)


def _outlined(workspace: Workspace, path: str) -> list[str]:
    """The file's top-level definitions as result lines; none when it cannot be read."""
    try:
        lines = read_lines(workspace, path, SEARCH_LIMIT_BYTES)
    except WorkspaceError:
        return []
    definitions = outline(path, lines).top_level()
    first = [symbol_line(d.name, path, d.line, lines[d.line - 1]) for d in islice(definitions, OUTLINE_LINES)]
    more = len(definitions) - len(first)
    return [*first, f"… {more} more {plural(more, 'definition')}"] if more else first
