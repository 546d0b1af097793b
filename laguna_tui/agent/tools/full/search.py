"""`search` with four modes: a regular expression over the lines, definitions by name, their uses, code by words.

The last three ask the folder's index, which is brought up to date first; their answers have the lines of the first,
with what speaks for each behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.regex_search import (
    BUDGET_S,
    PATTERN_LIMIT_CHARS,
    Clock,
    Hit,
    collect_hits,
    listing_of,
    prepare,
)
from laguna_tui.agent.tools.base.result_lines import NO_SYMBOL, not_covered, symbol_line
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import ArgumentError, Tool, ToolServices
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import declared
from laguna_tui.base.units import plural
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.search.ranking import FileResult, by_file, shown_line
from laguna_tui.repo.search.retrieval import SearchQuery, parse_query

# Nobody reads more lines; the others are counted.
LINES_SHOWN = 20
_ELSEWHERE = "use path, in mode regex"


def search_lines(run: ToolRun, pattern: str, path: str) -> ToolResult:
    """Return the first 20 matching lines as `symbol path:line: code`, then how many more there are.

    Args:
        pattern: A regular expression.
        path: The file or folder to search; empty for all of the workspace.

    Raises:
        ArgumentError: The pattern is too long.
        WorkspaceError: The path cannot be used.
    """
    if len(pattern) > PATTERN_LIMIT_CHARS:
        raise ArgumentError(f"the pattern is longer than {PATTERN_LIMIT_CHARS} characters; search for a part of it")
    clock = Clock(run.cancelled, BUDGET_S)
    listing = listing_of(run.workspace, path, clock.is_over)
    hits, notes = collect_hits(run.workspace, listing, prepare(pattern), clock, run.readable, elsewhere=_ELSEWHERE)
    if not hits:
        return ToolResult("\n".join([f"no matches for {pattern}", *notes]))
    hits.sort(key=lambda hit: not hit.defines)  # stable: both groups stay in path order
    shown = [symbol_line(hit.symbol, hit.path, hit.line, hit.code) for hit in hits[:LINES_SHOWN]]
    lines = [*shown, *_count_rest(hits[LINES_SHOWN:]), *notes]
    whole = "\n".join(f"{escaped(hit.path)}:{hit.line}: {hit.code}" for hit in hits)
    return ToolResult("\n".join(lines), whole=whole if len(hits) > LINES_SHOWN else None)


def _count_rest(hits: Sequence[Hit]) -> list[str]:
    """Return the line that counts what is not shown, if anything."""
    if not hits:
        return []
    files = len({hit.path for hit in hits})
    return [f"… {len(hits)} more {plural(len(hits), 'match', 'matches')} in {files} {plural(files, 'file')}"]


REGEX, SYMBOL, USES, RANKED = MODES = ("regex", "symbol", "uses", "ranked")
# Results in the whole folder that are searched for those in one path.
_LOOKED_THROUGH = 500
# The user waits for it; indexing the largest folders for the first time takes longer.
WAIT_S = 20.0
_QUERY_CHARS = 1000
STILL_INDEXING = "… the folder is still being indexed, so this is from a part of it; mode regex reads all files"
# What was not found, and the mode that may find it.
_WITHOUT = {
    SYMBOL: ("definition is called", RANKED),
    USES: ("code uses", REGEX),
    RANKED: ("code has the words", REGEX),
}
# What the factors of the ranking mean.
_REASONS = {
    "definition": "defines it",
    "stem": "file name",
    "title": "name",
    "path": "path",
    "aside": "test, example or text",
    "frame": "in the traceback",
    "named": "file named",
}


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """What to search for, how, and where; an empty path is all of the workspace."""

    pattern: str = declared(help="regular expression, name, or words")
    mode: str = declared(REGEX, "regex if not given", choices=MODES)
    path: str = declared("", "file or folder to search in")


def search(services: ToolServices, run: ToolRun, wanted: SearchArguments, wait_s: float = WAIT_S) -> ToolResult:
    """Return the first results as `symbol path:line: code`.

    Args:
        wait_s: How long the index may take to be brought up to date.

    Raises:
        ArgumentError: The pattern is too long.
        WorkspaceError: The path cannot be used.
    """
    inside = run.workspace.locate(wanted.path)
    run.check_readable(inside)
    codebase, mode, pattern = services.codebase, wanted.mode, wanted.pattern.strip()
    if mode == REGEX:
        return search_lines(run, wanted.pattern, wanted.path)
    if len(pattern) > _QUERY_CHARS:
        raise ArgumentError(f"the pattern is longer than {_QUERY_CHARS} characters; ask with fewer words")
    assert codebase is not None, "the toolbox refuses it without"
    known = codebase.sync(wait_s, run.cancelled)
    lines = _FINDERS[mode](codebase, run, pattern, inside)
    notes = [] if lines else not_covered(codebase.unsearched.below(inside), _ELSEWHERE)
    return _answer(lines, _nothing(mode, pattern), notes if known else [*notes, STILL_INDEXING])


def _symbols(codebase: Codebase, run: ToolRun, name: str, inside: str) -> list[str]:
    # If the exact name exists, similar ones would only be in the way.
    found = codebase.definitions(name) or codebase.symbols(name, _LOOKED_THROUGH)
    return [symbol_line(d.qualified, d.path, d.line, d.signature) for d in found if _shown(run, d.path, inside)]


def _uses(codebase: Codebase, run: ToolRun, name: str, inside: str) -> list[str]:
    found = codebase.uses(name, _LOOKED_THROUGH, Clock(run.cancelled, BUDGET_S).is_over)
    return [
        symbol_line(use.symbol or NO_SYMBOL, use.path, use.line, use.code)
        for use in found
        if _shown(run, use.path, inside)
    ]


def _ranked(codebase: Codebase, run: ToolRun, words: str, inside: str) -> list[str]:
    found, question = codebase.search(words, _LOOKED_THROUGH), parse_query(words)
    shown = by_file([result for result in found if _shown(run, result.unit.path, inside)], LINES_SHOWN)
    with RootFolder(codebase.root) as tree:
        return [_ranked_line(result, question, tree) for result in shown]


_FINDERS = {SYMBOL: _symbols, USES: _uses, RANKED: _ranked}


SEARCH = Tool(
    "search",
    "Search the code. mode regex: lines that match a regular expression, definitions first. mode symbol: where a"
    " function, class or method is defined, by its name or a part of it. mode uses: who calls or uses a name. mode"
    " ranked: the code that a few words describe, best first.",
    SearchArguments,
    search,
    read_only=True,
    needs_index=True,
)


def _shown(run: ToolRun, path: str, inside: str) -> bool:
    below = not inside or path == inside or path.startswith(f"{inside}/")
    return below and not run.readable(path)


def _ranked_line(result: FileResult, question: SearchQuery, tree: RootFolder) -> str:
    unit = result.best.unit
    reasons = [words for factor, words in _REASONS.items() if factor in result.best.factors]
    also = [f"{escaped(each.unit.title)}:{each.unit.line}" for each in result.also if each.unit.name]
    number, code = shown_line(unit, question, tree)
    # Text outside of definitions has at most a heading, which is not a name.
    symbol, code = (unit.title, code) if unit.name else (NO_SYMBOL, unit.title or code)
    line = symbol_line(symbol, unit.path, number, code).rstrip()
    said = "; ".join(filter(None, [", ".join(reasons), f"also {', '.join(also)}" if also else ""]))
    return f"{line} ({said})" if said else line


def _nothing(mode: str, pattern: str) -> str:
    what, instead = _WITHOUT[mode]
    return f"no {what} {escaped(pattern)}; try mode {instead}"


def _answer(lines: Sequence[str], nothing: str, notes: Sequence[str]) -> ToolResult:
    if not lines:
        return ToolResult("\n".join([nothing, *notes]))
    more = len(lines) - LINES_SHOWN
    counted = [f"… {more} more"] if more > 0 else []
    whole = "\n".join(lines) if counted else None
    return ToolResult("\n".join([*lines[:LINES_SHOWN], *counted, *notes]), whole=whole)
