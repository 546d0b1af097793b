"""`search` for the bundled model: where a name is defined, used or tested, as short numbered lists.

The model answers by repeating what it is given word for word, which is what something so small does reliably. So the
lists are no longer than an answer should be, lines are numbered consecutively, and every list says how it ends.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.regex_search import BUDGET_S, PATTERN_LIMIT_CHARS, Clock, Hit, collect_hits, prepare
from laguna_tui.agent.tools.base.result_lines import NO_SYMBOL, read_lines, shortened
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import ArgumentError, Tool, ToolServices
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import declared
from laguna_tui.base.units import plural
from laguna_tui.repo.files.relative_paths import is_test
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

DEFINED, USED, TESTED = "Defined", "Used", "Tested"
# Nine lines in all, so that each has a number of one digit.
LINES = {DEFINED: 2, USED: 4, TESTED: 3}
_NOWHERE = {title: f"{title} nowhere." for title in LINES}
# Lines of a frequent name that are checked for their callers, in tests and elsewhere.
_LOOKED_AT = 400
# Longer signatures are not joined into one line.
_SIGNATURE_LINES = 16
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_IMPORT = re.compile(r"\s*(from\s+\S+\s+)?import\b")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NanoSearchArguments:
    """Which list, and the name it is about. The model was trained to name a list; without one it gets all three."""

    list: str = declared("", choices=("defined", "used", "tested"), required=True, advice="defined, used or tested")
    pattern: str = declared()


@dataclass(frozen=True, slots=True)
class ListedLine:
    """One line of a list, without its number."""

    symbol: str
    path: str
    line: int
    code: str = ""

    def numbered(self, number: int) -> str:
        """Return the line as the model reads it; definitions with their code."""
        place = f"{number}. `{self.symbol} {escaped(self.path)}:{self.line}`"
        return f"{place} `{self.code}`" if self.code else place


def search(services: ToolServices, run: ToolRun, asked: NanoSearchArguments) -> ToolResult:
    """Return the list, or all three if none is named; one sentence if the name is nowhere.

    Raises:
        ArgumentError: The pattern is too long.
    """
    titles = (asked.list.capitalize(),) if asked.list else tuple(LINES)
    pattern = asked.pattern.strip()
    if len(pattern) > PATTERN_LIMIT_CHARS:
        raise ArgumentError(f"the pattern is longer than {PATTERN_LIMIT_CHARS} characters; search for a part of it")
    is_name = _NAME.fullmatch(pattern) is not None
    name = pattern.rpartition(".")[2] if is_name else ""
    wanted = rf"\b{name}\b" if is_name else pattern
    clock = Clock(run.cancelled, BUDGET_S)
    listing = run.workspace.files_below("", clock.is_over)
    hits, notes = collect_hits(
        run.workspace, listing, prepare(wanted), clock, run.readable, name, elsewhere="start there"
    )
    if not hits:
        return ToolResult("\n".join([f"Nothing matches `{escaped(pattern)}`.", *notes]))
    places = _Occurrences(run.workspace, hits)
    container = pattern.rpartition(".")[0].rpartition(".")[2] if is_name else ""
    makers = {DEFINED: lambda: places.defined(container), USED: places.used, TESTED: places.tested}
    lists = {title: makers[title]() for title in titles}
    return ToolResult("\n".join([*list_lines(lists, places.absences(escaped(pattern)), cut=places.cut), *notes]))


def list_lines(
    lists: Mapping[str, Sequence[ListedLine]], absences: Mapping[str, str] = _NOWHERE, *, cut: bool = False
) -> Iterator[str]:
    """Yield the lists as the model reads them, each with the first of its lines.

    Args:
        lists: By title, in the order of the answer.
        absences: By title, the sentence in place of an empty list.
        cut: There are more lines than anybody counted.
    """
    number = 1
    for title, lines in lists.items():
        if not lines:
            yield absences[title]
            continue
        yield f"{title} here:"
        said = lines[: LINES[title]]
        yield from (line.numbered(number + index) for index, line in enumerate(said))
        number += len(said)
        if len(lines) > len(said):
            yield "and more." if cut else f"and {len(lines) - len(said)} more."


class _Occurrences:
    """Hits by their kind; `cut` if there were too many to look at."""

    def __init__(self, workspace: Workspace, hits: Sequence[Hit]) -> None:
        self._workspace = workspace
        self._definitions = [hit for hit in hits if hit.defines]
        uses = [hit for hit in hits if hit.in_code and not hit.defines and not _IMPORT.match(hit.code)]
        self._tests = [hit for hit in uses if is_test(hit.path)]
        self._others = [hit for hit in uses if not is_test(hit.path)]
        self._found = len(hits)
        self.cut = max(len(self._tests), len(self._others)) > _LOOKED_AT

    def absences(self, name: str) -> dict[str, str]:
        """Return for each list the sentence that says why it is empty: what was searched, and what else there is."""
        tests, others = len(self._tests), len(self._others)
        rest = self._found - len(self._definitions) - tests - others
        nothing = "No uses in code or tests" + (f"; {_lines(rest)} in imports, comments or text." if rest else ".")
        return {
            DEFINED: f"No definition of `{name}`; {_lines(self._found)} with it.",
            USED: f"No uses outside the tests; {tests} in tests." if tests else nothing,
            TESTED: f"No uses in tests; {others} elsewhere." if others else nothing,
        }

    def defined(self, container: str) -> list[ListedLine]:
        """Return the definitions; for `Class.method` those in the class, if it has one."""
        inside = [hit for hit in self._definitions if container in hit.around[:-1]]
        return [ListedLine(hit.symbol, hit.path, hit.line, self._signature(hit)) for hit in inside or self._definitions]

    def used(self) -> list[ListedLine]:
        """Return who uses the name outside of tests, each once."""
        return _each_once(map(self._line, self._others[:_LOOKED_AT]))

    def tested(self) -> list[ListedLine]:
        """Return which tests use the name, each once."""
        return _each_once(map(self._line, self._tests[:_LOOKED_AT]))

    def _line(self, hit: Hit) -> ListedLine:
        return ListedLine(hit.symbol, hit.path, hit.line)

    def _signature(self, hit: Hit) -> str:
        """Return the line, joined with those that its brackets reach over."""
        lines = self._lines(hit.path)[hit.line - 1 :] or [hit.code]
        parts: list[str] = []
        depth = 0
        for line in islice(lines, _SIGNATURE_LINES):
            parts.append(line.strip())
            depth += sum((c in _OPENING) - (c in _CLOSING) for c in line)
            if depth <= 0:
                break
        return shortened(re.sub(r"(?<=[(\[{]) | ?,? (?=[)\]}])", "", " ".join(parts)).replace("`", "'"))

    def _lines(self, path: str) -> list[str]:
        """Return the file's lines; none if it has become unreadable."""
        try:
            return read_lines(self._workspace, path, SEARCH_LIMIT_BYTES)
        except WorkspaceError:
            return []


def _lines(count: int) -> str:
    return f"{count} {plural(count, 'line')}"


def _each_once(lines: Iterable[ListedLine]) -> list[ListedLine]:
    """Return the first line of each user, those with a name before what is outside of any definition."""
    first: dict[tuple[str, str], ListedLine] = {}
    for line in lines:
        first.setdefault((line.symbol, line.path), line)
    return sorted(first.values(), key=lambda line: line.symbol == NO_SYMBOL)


SEARCH = Tool("search", "Where a name is defined, used or tested.", NanoSearchArguments, search, read_only=True)
