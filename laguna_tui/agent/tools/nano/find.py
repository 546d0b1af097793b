"""`find` for the bundled model: what a file defines, or which files are meant, as one short numbered list.

Like `search`, made to be repeated word for word.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.regex_search import BUDGET_S, Clock
from laguna_tui.agent.tools.base.result_lines import coverage, matching_paths, read_lines
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.agent.tools.nano.search import ELSEWHERE, numbered
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import declared
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError
from laguna_tui.repo.syntax.analysis import file_outline

LINES = 6
_LINE_NUMBERS = re.compile(r"(?<=\S):\d+(-\d+)?$")


@dataclass(frozen=True, slots=True)
class NanoFindArguments:
    """pattern: A file's path, or a part of it."""

    pattern: str = declared()


def find(services: ToolServices, run: ToolRun, wanted: NanoFindArguments) -> ToolResult:
    """Return the file's top-level definitions, the files that may be meant, or a sentence if there is none."""
    pattern = wanted.pattern.strip()
    listing = run.workspace.files(Clock(run.cancelled, BUDGET_S).is_over)
    known = [entry.path for entry in listing.entries]
    # `cart.py:10-20` mentions lines; the file is what counts.
    paths = _meant(pattern, known) or _meant(_LINE_NUMBERS.sub("", pattern), known)
    notes = coverage(listing, found=bool(paths), elsewhere=ELSEWHERE)
    if not paths:
        return ToolResult("\n".join([f"No file matches `{escaped(pattern)}`.", *notes]))
    if len(paths) == 1:
        return ToolResult("\n".join([*_defined(run.workspace, paths[0]), *notes]))
    return ToolResult(
        "\n".join(["Several files match:", *numbered([f"`{escaped(path)}`" for path in paths], LINES), *notes])
    )


def _meant(pattern: str, known: Sequence[str]) -> list[str]:
    """Return the paths that match; only the one with exactly that name, if there is just one."""
    pattern = pattern.removeprefix("./")
    paths = matching_paths(pattern, known)
    # `cart.py` means `shop/cart.py` rather than `shop/test_cart.py`.
    whole = [path for path in paths if f"/{path}".endswith("/" + pattern)]
    return whole if len(whole) == 1 else paths


def _defined(workspace: Workspace, path: str) -> list[str]:
    try:
        lines = read_lines(workspace, path, SEARCH_LIMIT_BYTES)
    except WorkspaceError as error:
        return [str(error)]
    definitions = file_outline(path, lines).top_level()
    if not definitions:
        return [f"`{escaped(path)}` defines nothing at its top level."]
    return [f"`{escaped(path)}` defines:", *numbered([f"`{d.name}:{d.line}`" for d in definitions], LINES)]


FIND = Tool("find", "What a file defines.", NanoFindArguments, find, read_only=True)
