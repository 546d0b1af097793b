"""`search` for the bundled model: where a name is defined, used or tested, as short numbered lists.

The model answers by repeating what it is given word for word, which is what something so small does reliably. So the
lists are no longer than an answer should be, lines are numbered consecutively, and every list says how it ends.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.regex_search import (
    BUDGET_S,
    MATCH_COLUMNS,
    PATTERN_LIMIT_CHARS,
    Clock,
    Hit,
    LineMatch,
    collect_hits,
    hits_in,
    prepare,
)
from laguna_tui.agent.tools.base.result_lines import NO_SYMBOL, not_covered, read_lines, shortened
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import ArgumentError, Tool, ToolServices
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import declared
from laguna_tui.base.units import plural
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.relative_paths import is_test
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError
from laguna_tui.repo.search.symbol_uses import code_first

DEFINED, USED, TESTED = "Defined", "Used", "Tested"
# Nine lines in all, so that each has a number of one digit.
LINES = {DEFINED: 2, USED: 4, TESTED: 3}
_NOWHERE = {title: f"{title} nowhere." for title in LINES}
# No more files are read once a name has this many users, in tests and elsewhere.
_USERS = 20
# Lines that are shown in the place of an empty list.
_INSTEAD = 3
# The user waits for the index to be brought up to date; otherwise all files are read.
WAIT_S = 10.0
# Longer signatures are not joined into one line.
_SIGNATURE_LINES = 16
ELSEWHERE = "start there"
"""How to search another repository."""
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

    def __str__(self) -> str:
        """Return the line as the model reads it; definitions with their code."""
        place = f"`{self.symbol} {escaped(self.path)}:{self.line}`"
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
    if not places.anywhere:
        notes = places.notes or (not_covered(services.codebase.unsearched, ELSEWHERE) if services.codebase else ())
        return ToolResult("\n".join([f"Nothing matches `{escaped(pattern)}`.", *notes]))
    return ToolResult("\n".join(places.answer(titles)))


def occurrences(services: ToolServices, run: ToolRun, pattern: str) -> "Occurrences":
    """Return the lines with a name, or those that match another pattern: of all files if there is no index."""
    name = pattern.rpartition(".")[2] if _NAME.fullmatch(pattern) else ""
    codebase = services.codebase
    if name and codebase is not None and codebase.sync(WAIT_S, run.cancelled):
        return indexed_occurrences(codebase, run, pattern)
    clock = Clock(run.cancelled, BUDGET_S)
    listing = run.workspace.files_below("", clock.is_over)
    wanted = prepare(rf"\b{name}\b" if name else pattern)
    hits, notes = collect_hits(run.workspace, listing, wanted, clock, run.readable, name, elsewhere=ELSEWHERE)
    hits.sort(key=lambda hit: code_first(hit.path))
    others = {tests: [hit for hit in hits if not hit.defines and is_test(hit.path) is tests] for tests in (False, True)}
    return Occurrences(run.workspace, pattern, [hit for hit in hits if hit.defines], others.__getitem__, notes)


def indexed_occurrences(codebase: Codebase, run: ToolRun, pattern: str) -> "Occurrences":
    """Return the lines with a name, by the index: its definitions, and the lines of the files that have it."""
    name = pattern.rpartition(".")[2]
    found = [d for d in codebase.definitions(name) if not (d.prototype or run.readable(d.path))]
    # In a long line of bundled code a definition is beyond what is shown.
    found = [d for d in found if name in d.signature] or found
    found.sort(key=lambda d: code_first(d.path))
    definitions = [Hit(d.path, d.line, d.signature, True, tuple(d.qualified.split("."))) for d in found]
    return Occurrences(run.workspace, pattern, definitions, lambda tests: [*undefining(codebase, run, name, tests)])


def undefining(codebase: Codebase, run: ToolRun, name: str, tests: bool, pattern: str = "") -> Iterator[Hit]:
    """Yield the lines that have a name and do not define it; of a frequent name those of the first files.

    Args:
        codebase: The index, which knows the files.
        run: What the files are read with.
        name: The name, without what it lies in.
        tests: Whether to read the tests, or everything else.
        pattern: A regular expression, for the lines that it matches alone.
    """
    wanted = re.compile(pattern or rf"\b{name}\b")
    paths = codebase.files_with(name)
    users: set[tuple[str, tuple[str, ...]]] = set()
    for path in sorted(codebase.paths() if paths is None else paths, key=code_first):
        if run.cancelled() or len(users) > _USERS:
            return
        if is_test(path) is not tests or run.readable(path):
            continue
        try:
            lines = read_lines(run.workspace, path, SEARCH_LIMIT_BYTES)
        except WorkspaceError:
            continue
        matching = ((row, wanted.search(line[:MATCH_COLUMNS])) for row, line in enumerate(lines) if name in line)
        if found := [LineMatch(row, *match.span()) for row, match in matching if match]:
            hits = [hit for hit in hits_in(path, lines, found, codebase.outline(path), name) if not hit.defines]
            users |= {(path, hit.around) for hit in hits if hit.in_code and not hit.imported}
            yield from hits


def list_lines(
    lists: Mapping[str, Sequence[ListedLine]], absences: Mapping[str, str] = _NOWHERE, *, cut: Container[str] = ()
) -> Iterator[str]:
    """Yield the lists as the model reads them, each with the first of its lines.

    Args:
        lists: By title, in the order of the answer.
        absences: By title, the sentence in place of an empty list.
        cut: Those of which there are more lines than were counted.
    """
    number = 1
    for title, lines in lists.items():
        if not lines:
            yield absences[title]
            continue
        yield f"{title} here:"
        said = lines[: LINES[title]]
        yield from numbered(said, len(said), number)
        number += len(said)
        if len(lines) > len(said):
            yield "and more." if title in cut else f"and {len(lines) - len(said)} more."


def numbered(lines: Sequence[ListedLine | str], most: int, start: int = 1) -> Iterator[str]:
    """Yield the first lines with their numbers, and how many more there are."""
    yield from (f"{number}. {line}" for number, line in enumerate(lines[:most], start))
    if len(lines) > most:
        yield f"and {len(lines) - most} more."


class Occurrences:
    """The lines with a name, by their kind. Files are read when their lines are asked for.

    Attributes:
        definitions: Those that define it.
        notes: What was not searched.
    """

    def __init__(
        self,
        workspace: Workspace,
        pattern: str,
        definitions: Sequence[Hit],
        others: Callable[[bool], Sequence[Hit]],
        notes: Sequence[str] = (),
    ) -> None:
        """Take the definitions, and what returns the other lines: those of the tests, or of everything else."""
        self._workspace, self._name, self._others = workspace, escaped(pattern), others
        self._container = pattern.rpartition(".")[0].rpartition(".")[2] if _NAME.fullmatch(pattern) else ""
        self.definitions, self.notes = definitions, notes

    @cached_property
    def _in_code(self) -> Sequence[Hit]:
        return self._others(False)

    @cached_property
    def _in_tests(self) -> Sequence[Hit]:
        return self._others(True)

    @property
    def anywhere(self) -> bool:
        """Whether there is such a line."""
        return bool(self.definitions or self._in_code or self._in_tests)

    @property
    def uses(self) -> list[Hit]:
        """Those that use it outside of tests."""
        return [hit for hit in self._in_code if hit.in_code and not hit.imported]

    @property
    def tests(self) -> list[Hit]:
        """Those of tests that use it."""
        return [hit for hit in self._in_tests if hit.in_code and not hit.imported]

    @property
    def imports(self) -> list[Hit]:
        """Those that only import it."""
        return [hit for hit in (*self._in_code, *self._in_tests) if hit.in_code and hit.imported]

    @property
    def texts(self) -> list[Hit]:
        """Those that have it in a comment, a string or text."""
        return [hit for hit in (*self._in_code, *self._in_tests) if not hit.in_code]

    @property
    def counted(self) -> str:
        """How many there are that do not define it, in words."""
        least = _least(self.uses) or _least(self.tests)
        return least + _lines(len(self._in_code) + len(self._in_tests))

    def of(self, title: str) -> list[ListedLine]:
        """Return the lines of a list: users each once; of `Class.method` the definitions in the class, if any."""
        if title != DEFINED:
            return _each_once(self.uses if title == USED else self.tests)
        inside = [hit for hit in self.definitions if self._container in hit.around[:-1]]
        return [ListedLine(h.symbol, h.path, h.line, self._signature(h)) for h in inside or self.definitions]

    def answer(self, titles: Sequence[str]) -> Iterator[str]:
        """Yield some lists; of a single one that is empty, the sentence that says why, and what there is instead."""
        lists = {title: self.of(title) for title in titles}
        instead = [] if any(lists.values()) or len(titles) > 1 else self._instead(titles[0])
        if instead:
            yield f"{self._absence(titles[0]).removesuffix('.')}:"
            yield from numbered(instead, _INSTEAD)
        else:
            yield from self.listed(lists)
        yield from self.notes

    def listed(self, lists: Mapping[str, Sequence[ListedLine]]) -> Iterator[str]:
        """Yield lists of this name, or why they are empty."""
        absences = {title: self._absence(title) for title, lines in lists.items() if not lines}
        cut = [title for title, lines in lists.items() if title != DEFINED and len(lines) > _USERS]
        return list_lines(lists, absences, cut=cut)

    def _instead(self, title: str) -> list[ListedLine]:
        """Return the lines that stand in the place of an empty list."""
        if title == DEFINED:
            # A line of this list is one that an edit may follow.
            return []
        return self.of(TESTED if title == USED else USED) or self.coded([*self.imports, *self.texts])

    def coded(self, hits: Iterable[Hit]) -> list[ListedLine]:
        """Return lines with their code."""
        return [ListedLine(h.symbol, h.path, h.line, shortened(h.code.strip().replace("`", "'"))) for h in hits]

    def _absence(self, title: str) -> str:
        """Return the sentence that says why a list is empty: what was searched, and what else there is."""
        if title == DEFINED:
            return f"No definition of `{self._name}`; {self.counted} with it."
        if title == USED and self.tests:
            return f"No uses outside the tests; {_least(self.tests)}{len(self.tests)} in tests."
        if title == TESTED and self.uses:
            return f"No uses in tests; {_least(self.uses)}{len(self.uses)} elsewhere."
        rest = len(self.imports) + len(self.texts)
        return "No uses in code or tests" + (f"; {_lines(rest)} in imports, comments or text." if rest else ".")

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


def _least(uses: Sequence[Hit]) -> str:
    """Return what stands before the number of uses if there may be more in files that were not read."""
    return "at least " if len(_each_once(uses)) > _USERS else ""


def _lines(count: int) -> str:
    return f"{count} {plural(count, 'line')}"


def _each_once(hits: Iterable[Hit]) -> list[ListedLine]:
    """Return the first line of each user, those with a name before what is outside of any definition."""
    first: dict[tuple[object, str], ListedLine] = {}
    for hit in hits:
        first.setdefault((hit.around, hit.path), ListedLine(hit.symbol, hit.path, hit.line))
    return sorted(first.values(), key=lambda line: line.symbol == NO_SYMBOL)


SEARCH = Tool("search", "Where a name is defined, used or tested.", NanoSearchArguments, search, read_only=True)
