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
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.relative_paths import is_test
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES, FileListing, WalkedFile
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError
from laguna_tui.repo.search.symbol_uses import code_first

DEFINED, USED, TESTED = "Defined", "Used", "Tested"
# Nine lines in all, so that each has a number of one digit.
LINES = {DEFINED: 2, USED: 4, TESTED: 3}
_NOWHERE = {title: f"{title} nowhere." for title in LINES}
# Lines of a frequent name that are checked for their callers, in tests and elsewhere.
_LOOKED_AT = 400
# Lines that are shown in the place of an empty list.
_INSTEAD = 3
# The user waits for the index to be brought up to date; otherwise all files are read.
WAIT_S = 10.0
# Of the processor, for the grammars; after that, line patterns are used.
_PARSING_S = 0.1
# Longer signatures are not joined into one line.
_SIGNATURE_LINES = 16
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_PYTHON_HEAD = re.compile(r"\s*(?:async\s+def|def|class)\b")
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
    places = occurrences(services, run, pattern)
    if not places.found:
        return ToolResult("\n".join([f"Nothing matches `{escaped(pattern)}`.", *places.notes]))
    return ToolResult("\n".join(places.answer(titles)))


def occurrences(services: ToolServices, run: ToolRun, pattern: str) -> "Occurrences":
    """Return the lines with a name, or those that match another pattern.

    For a name only the files are read in which the index has it; all of them if the index is not up to date.
    """
    is_name = _NAME.fullmatch(pattern) is not None
    name = pattern.rpartition(".")[2] if is_name else ""
    clock = Clock(run.cancelled, BUDGET_S)
    listing = (_indexed(services.codebase, run, name) if name else None) or run.workspace.files_below("", clock.is_over)
    wanted = prepare(rf"\b{name}\b" if is_name else pattern)
    hits, notes = collect_hits(
        run.workspace, listing, wanted, clock, run.readable, name, elsewhere="start there", parsing_s=_PARSING_S
    )
    return Occurrences(run.workspace, pattern, hits, notes)


def _indexed(codebase: Codebase | None, run: ToolRun, name: str) -> FileListing | None:
    """Return the files that have a name; None if there is no index that knows them all."""
    if codebase is None or not codebase.sync(WAIT_S, run.cancelled):
        return None
    paths = codebase.files_with(name)
    if paths is None:
        return None
    return FileListing(tuple(WalkedFile(path, 0) for path in sorted(paths)), unsearched=codebase.unsearched)


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


def numbered(lines: Sequence[ListedLine], most: int, start: int = 1) -> Iterator[str]:
    """Yield the first lines with their numbers, and how many more there are."""
    yield from (line.numbered(number) for number, line in enumerate(lines[:most], start))
    if len(lines) > most:
        yield f"and {len(lines) - most} more."


class Occurrences:
    """The lines with a name, by their kind.

    Attributes:
        found: How many there are.
        cut: Whether there were too many to look at all of them.
        notes: What was not searched.
        imports: Those that only import it.
        others: Those that are not code: comments, strings and text.
    """

    def __init__(self, workspace: Workspace, pattern: str, hits: Sequence[Hit], notes: Sequence[str]) -> None:
        self._workspace, self._name, self.notes = workspace, escaped(pattern), notes
        self._container = pattern.rpartition(".")[0].rpartition(".")[2] if _NAME.fullmatch(pattern) else ""
        hits = sorted(hits, key=lambda hit: code_first(hit.path))
        self.definitions = [hit for hit in hits if hit.defines]
        uses = [hit for hit in hits if hit.in_code and not hit.defines and not hit.imported]
        self.tests = [hit for hit in uses if is_test(hit.path)]
        self.uses = [hit for hit in uses if not is_test(hit.path)]
        self.imports = [hit for hit in hits if hit.imported and hit.in_code]
        self.others = [hit for hit in hits if not hit.in_code and not hit.defines]
        self.found = len(hits)
        self.cut = max(len(self.tests), len(self.uses)) > _LOOKED_AT

    def of(self, title: str) -> list[ListedLine]:
        """Return the lines of a list."""
        return {DEFINED: self.defined, USED: self.used, TESTED: self.tested}[title]()

    def answer(self, titles: Sequence[str]) -> Iterator[str]:
        """Yield some lists; of a single one that is empty, the sentence that says why, and what there is instead."""
        lists = {title: self.of(title) for title in titles}
        lead, hits = self._instead(titles[0])
        if len(titles) > 1 or lists[titles[0]] or not hits:
            yield from list_lines(lists, self.absences(), cut=self.cut)
        else:
            yield f"{lead}:"
            yield from numbered(hits, _INSTEAD)
        yield from self.notes

    def _instead(self, title: str) -> tuple[str, list[ListedLine]]:
        """Return the sentence in the place of an empty list, without its end, and the lines that there are."""
        lead = self.absences()[title].removesuffix(".")
        if title == DEFINED:
            # A line of this list is one that an edit may follow.
            return lead, []
        used = {USED: self.tested, TESTED: self.used}[title]()
        return lead, used or self.coded([*self.imports, *self.others])

    def coded(self, hits: Iterable[Hit]) -> list[ListedLine]:
        """Return lines with their code."""
        return [ListedLine(h.symbol, h.path, h.line, shortened(h.code.strip().replace("`", "'"))) for h in hits]

    def absences(self) -> dict[str, str]:
        """Return for each list the sentence that says why it is empty: what was searched, and what else there is."""
        tests, uses = len(self.tests), len(self.uses)
        rest = self.found - len(self.definitions) - tests - uses
        nothing = "No uses in code or tests" + (f"; {_lines(rest)} in imports, comments or text." if rest else ".")
        return {
            DEFINED: f"No definition of `{self._name}`; {_lines(self.found)} with it.",
            USED: f"No uses outside the tests; {tests} in tests." if tests else nothing,
            TESTED: f"No uses in tests; {uses} elsewhere." if uses else nothing,
        }

    @property
    def inside(self) -> list[Hit]:
        """The definitions in the class that the name is written with; empty for a name without one."""
        return [hit for hit in self.definitions if self._container in hit.around[:-1]]

    def defined(self) -> list[ListedLine]:
        """Return the definitions; for `Class.method` those in the class, if it has one."""
        return [
            ListedLine(hit.symbol, hit.path, hit.line, self._signature(hit)) for hit in self.inside or self.definitions
        ]

    def used(self) -> list[ListedLine]:
        """Return who uses the name outside of tests, each once."""
        return each_once(self.uses[:_LOOKED_AT])

    def tested(self) -> list[ListedLine]:
        """Return which tests use the name, each once."""
        return each_once(self.tests[:_LOOKED_AT])

    def _signature(self, hit: Hit) -> str:
        try:
            lines = read_lines(self._workspace, hit.path, SEARCH_LIMIT_BYTES)[hit.line - 1 :]
        except WorkspaceError:
            lines = []
        return shortened(signature(lines or [hit.code]))


def signature(lines: Sequence[str]) -> str:
    """Return a definition's head on one line, without its body. lines: From the one that it begins on."""
    parts: list[str] = []
    depth = 0
    for line in islice(lines, _SIGNATURE_LINES):
        end, depth = _head_end(line, depth, is_python=_PYTHON_HEAD.match(lines[0]) is not None)
        parts.append(line[:end].strip())
        if depth <= 0:
            break
    return tidy(" ".join(filter(None, parts)))


def tidy(head: str) -> str:
    """Return a head that stood on several lines without the blanks and commas inside its brackets."""
    return re.sub(r"(?<=[(\[{]) | ?,? (?=[)\]}])", "", head).replace("`", "'")


def _head_end(line: str, depth: int, *, is_python: bool) -> tuple[int, int]:
    """Return the column at which a body begins, or the line's end, and how many brackets are open there."""
    for at, character in enumerate(line):
        before = line[:at].rstrip()
        if character == "{" and (before.endswith("=>") or (depth <= 0 and not before.endswith(("=", "(")))):
            return at, 0
        if character == ":" and depth <= 0 and is_python:
            return at + 1, 0
        depth += (character in _OPENING) - (character in _CLOSING)
    return len(line), depth


def _lines(count: int) -> str:
    return f"{count} {plural(count, 'line')}"


def each_once(hits: Iterable[Hit]) -> list[ListedLine]:
    """Return the first line of each user, those with a name before what is outside of any definition."""
    first: dict[tuple[object, str], ListedLine] = {}
    for hit in hits:
        first.setdefault((hit.around, hit.path), ListedLine(hit.symbol, hit.path, hit.line))
    return sorted(first.values(), key=lambda line: line.symbol == NO_SYMBOL)


SEARCH = Tool("search", "Where a name is defined, used or tested.", NanoSearchArguments, search, read_only=True)
