"""`search`: a regular expression over the lines of the workspace; definitions of what was searched come first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from laguna_engine.chat.messages import ToolSpec
from laguna_tui.agent.tools.arguments import ArgumentError, check_names, text
from laguna_tui.agent.tools.matching import BUDGET_S, Clock, Match, Matcher, OutOfTime
from laguna_tui.agent.tools.patterns import PATTERN_LIMIT_CHARS, SearchPattern, prepare
from laguna_tui.agent.tools.result import Answer
from laguna_tui.agent.tools.source import read_lines
from laguna_tui.agent.tools.symbol_lines import incomplete, symbol_at, symbol_line
from laguna_tui.base.units import plural
from laguna_tui.repo.files import SEARCH_LIMIT_BYTES, Entry, Listing
from laguna_tui.repo.languages import language_of
from laguna_tui.repo.names import shown
from laguna_tui.repo.outline import Outline, defined, outline
from laguna_tui.repo.text_files import decode, has_wide_bom, is_binary, split_lines
from laguna_tui.repo.workspace import UnreadableError, Workspace, WorkspaceError

# More lines than this are not read by anyone; the count of the others is.
LINES_SHOWN = 20
# A pattern that matches everything must not fill the memory.
MAX_HITS = 10_000

SPEC = ToolSpec(
    name="search",
    description="Search the code with a regular expression. Definitions come first.",
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "file or folder to search in"},
        },
        "required": ["pattern"],
    },
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One matching line; `defines` when it defines the very name that matched."""

    path: str
    line: int
    code: str
    defines: bool


def run(workspace: Workspace, arguments: Mapping[str, object], should_stop: Callable[[], bool]) -> Answer:
    """The first 20 matching lines as `symbol path:line: code`, then how many more there are.

    Raises:
        ArgumentError: the pattern is missing or too long.
        WorkspaceError: the path cannot be used.
    """
    check_names(arguments, ("pattern", "path"))
    pattern = text(arguments, "pattern")
    if len(pattern) > PATTERN_LIMIT_CHARS:
        raise ArgumentError(f"the pattern is longer than {PATTERN_LIMIT_CHARS} characters; search for a part of it")
    clock = Clock(should_stop, BUDGET_S)
    listing = listing_of(workspace, text(arguments, "path", ""), clock.is_over)
    hits, notes = collect_hits(workspace, listing.entries, prepare(pattern), clock)
    notes += [] if listing.complete else [incomplete(len(listing.entries))]
    if not hits:
        return Answer("\n".join([f"no matches for {pattern}", *notes]))
    hits.sort(key=lambda hit: not hit.defines)  # stable: both groups stay in path order
    lines = [*_shown(workspace, hits[:LINES_SHOWN]), *_rest(hits[LINES_SHOWN:]), *notes]
    whole = "\n".join(f"{shown(hit.path)}:{hit.line}: {hit.code}" for hit in hits)
    return Answer("\n".join(lines), whole if len(hits) > LINES_SHOWN else None)


def listing_of(workspace: Workspace, path: str, should_stop: Callable[[], bool]) -> Listing:
    """The files to search: all, those in a folder, or a single one."""
    inside = workspace.locate(path)
    if inside and not workspace.is_folder(inside):
        return Listing((Entry(inside, 0),))
    return workspace.files_below(inside, should_stop)


def collect_hits(
    workspace: Workspace, entries: Sequence[Entry], pattern: SearchPattern, clock: Clock
) -> tuple[list[Hit], list[str]]:
    """Hits in path order, and a note when the search did not get to its end."""
    hits: list[Hit] = []
    match = Matcher(pattern, clock)
    try:
        for entry in entries:
            clock.check()
            hits.extend(_hits_in(workspace, entry, pattern, match))
            if len(hits) >= MAX_HITS:
                return hits, [f"… stopped after {MAX_HITS} matches; search for something rarer"]
    except OutOfTime:
        return hits, [f"… stopped after {BUDGET_S:.0f} s; use a simpler pattern or search in one path"]
    count = match.given_up
    return hits, [f"… {count} {plural(count, 'line')} took too long to match; use a simpler pattern"] if count else []


def _hits_in(workspace: Workspace, entry: Entry, pattern: SearchPattern, match: Matcher) -> Iterator[Hit]:
    if entry.size > SEARCH_LIMIT_BYTES:
        return
    try:
        data = workspace.read(entry.path, SEARCH_LIMIT_BYTES)
    except UnreadableError:
        return
    if is_binary(data) or (pattern.needle not in data and not has_wide_bom(data)):
        return
    lines = split_lines(decode(data).text)
    found = match(lines)
    defining = _defining(entry.path, lines, found)
    for index, _, _ in found:
        yield Hit(entry.path, index + 1, lines[index], index + 1 in defining)


def _defining(path: str, lines: Sequence[str], found: Sequence[Match]) -> set[int]:
    """Numbers of the matching lines that define a name and whose match covers all of it."""
    language = language_of(path)
    likely = set()
    for index, start, end in found:
        name = defined(language, lines[index])
        if name and start <= name.start and name.start + len(name.name) <= end:
            likely.add(index + 1)
    # What looks like a definition may stand in a string or comment; the outline knows.
    return likely & {definition.line for definition in outline(path, lines).definitions} if likely else likely


def _shown(workspace: Workspace, hits: Sequence[Hit]) -> list[str]:
    outlines = {path: _outline(workspace, path) for path in {hit.path for hit in hits}}
    return [symbol_line(symbol_at(outlines[hit.path], hit.line), hit.path, hit.line, hit.code) for hit in hits]


def _outline(workspace: Workspace, path: str) -> Outline:
    try:
        return outline(path, read_lines(workspace, path, SEARCH_LIMIT_BYTES))
    except WorkspaceError:
        return Outline(())


def _rest(hits: Sequence[Hit]) -> list[str]:
    """The line that counts what is not shown, if anything."""
    if not hits:
        return []
    files = len({hit.path for hit in hits})
    return [f"… {len(hits)} more {plural(len(hits), 'match', 'matches')} in {files} {plural(files, 'file')}"]
