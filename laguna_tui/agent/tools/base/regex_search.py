"""Searches the lines of files with any regular expression within a time budget.

Python's `re` backtracks and cannot be interrupted, so a pattern that may explode is run by the `regex` package, whose
searches take a time limit. The language is `re`'s all the same: what only `regex` knows is taken literally. The
judgement reads the pattern's text and errs on the side of caution.
"""

import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, cast

from laguna_tui.agent.tools.base.result_lines import NO_SYMBOL, coverage
from laguna_tui.base.units import plural
from laguna_tui.repo.files.text_files import decode, has_wide_bom, is_binary, split_lines
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES, FileListing, WalkedFile
from laguna_tui.repo.files.workspace import UnreadableError, Workspace
from laguna_tui.repo.syntax.analysis import file_outline, lines_with_name
from laguna_tui.repo.syntax.import_paths import import_lines
from laguna_tui.repo.syntax.outline import Outline

if TYPE_CHECKING:
    import regex


# Enough for any search; compiling and judging stay instant.
PATTERN_LIMIT_CHARS = 500
# One open repeat costs at most the square of a line's length; a second one would cost the cube.
_TAME_REPEATS = 1
# Each optional or alternative part can double the work.
_TAME_CHOICES = 6
_SET = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_ESCAPE = r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|\d{1,3}|[\s\S])"
_PIECE = re.compile(rf"{_ESCAPE}|{_SET}|\{{[\d,]*\}}|[\s\S]")
# Escapes of letters and digits are classes, anchors and references; of anything else, the character itself.
_PLAIN_ESCAPE = re.compile(r"\\[^\w\s]", re.ASCII)
_QUANTIFIERS = "*+?{"
# What `regex` reads differently from `re`: braces that are not a repeat (fuzzy matching), and brackets in a set.
_REPEAT = re.compile(r"\{(\d*),?(\d*)\}")
_IN_SET = re.compile(r"\\.|\[", re.DOTALL)
# Warning filters are global to the process.
_COMPILING = Lock()
_MATCHING = Lock()


@dataclass(frozen=True, slots=True)
class SearchPattern:
    """A compiled pattern.

    Attributes:
        compiled: `re`'s if it is tame; else `regex`'s, to be searched with a timeout.
        needle: Bytes that a file in an ASCII-compatible encoding must contain to match at all; may be empty.
        tame: Whether matching one line surely ends soon.
    """

    compiled: "re.Pattern[str] | regex.Pattern[str]"
    needle: bytes
    tame: bool


def prepare(pattern: str) -> SearchPattern:
    """Compile a pattern; an invalid regular expression is taken literally."""
    source = pattern
    try:
        with _quiet():
            compiled = re.compile(source)
    except (re.error, OverflowError, RecursionError):
        source = re.escape(pattern)
        compiled = re.compile(source)
    pieces: list[str] = _PIECE.findall(source)
    needle = _needle(pieces).encode("ascii")
    return SearchPattern(compiled, needle, True) if _is_tame(pieces) else SearchPattern(_limited(pieces), needle, False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings about a pattern's style, which would land on the user's screen. One thread at a time."""
    with _COMPILING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _limited(pieces: list[str]) -> "regex.Pattern[str]":
    """Return the pattern for the engine with a time limit."""
    # Imported late: it takes longer than most searches.
    import regex

    with _quiet():
        return regex.compile("".join(map(_as_regex, pieces)), regex.VERSION0)


def _as_regex(piece: str) -> str:
    """Return a piece of a pattern in the form that makes `regex` do what `re` does."""
    if piece[0] == "[" and len(piece) > 1:
        return piece[0] + _IN_SET.sub(lambda found: found[0] if len(found[0]) > 1 else r"\[", piece[1:])
    if piece[0] != "{":
        return piece
    repeat = _REPEAT.fullmatch(piece)
    if repeat is None or piece == "{}":
        return "\\" + piece
    return "*" if piece == "{,}" else piece.replace("{,", "{0,")


def _needle(pieces: list[str]) -> str:
    """Return the longest run of characters that every match contains; empty if there are groups or alternatives."""
    if "|" in pieces or "(" in pieces:
        return ""
    runs = [""]
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        character = _character(piece)
        if character is None or following[:1] in ("*", "?", "{"):
            runs.append("")
        else:
            runs[-1] += character
    return max(runs, key=len)


def _character(piece: str) -> str | None:
    """Return the ASCII character that a piece of a pattern stands for; None if it is not just one."""
    if _PLAIN_ESCAPE.fullmatch(piece):
        piece = piece[1]
    elif len(piece) > 1 or piece in ".^$*+?{}[]\\|()":
        return None
    return piece if piece.isascii() else None


def _is_tame(pieces: list[str]) -> bool:
    """Return whether there are few repeats and choices, no repeated group and no reference to a group."""
    repeats = choices = depth = 0
    previous = ""
    for piece in pieces:
        depth += (piece == "(") - (piece == ")")
        quantified = piece[0] in _QUANTIFIERS and previous not in ("", "(", "|") and previous[0] not in "*+{"
        if quantified and piece != "?":
            repeats += 1
        if quantified and piece != "?" and previous == ")":
            return False
        choices += (quantified and piece == "?") or (piece == "|" and depth > 0)
        if re.fullmatch(r"\\[1-9]\d*", piece):
            return False
        previous = piece
    has_reference = "(?P=" in "".join(pieces) or "(?(" in "".join(pieces)
    return repeats <= _TAME_REPEATS and choices <= _TAME_CHOICES and not has_reference


# Matching looks at this much of a line; the rest of a minified line is not worth the time.
MATCH_COLUMNS = 1000
# How long one search may take; the user waits for it.
BUDGET_S = 10.0
# CPU time for one line: what needs more would not end within the budget either.
_LINE_S = 0.25
_SHORTEST_S = 0.001
# Lines between two checks of the clock.
_STRIDE = 2000


class LineMatch(NamedTuple):
    """The first match in a line: the line's number from 0, and the columns it spans."""

    row: int
    start: int
    end: int


class OutOfTime(Exception):
    """The budget is used up, or the user stopped."""


class Clock:
    """Measures the time left until a deadline or a stop by the user."""

    def __init__(self, should_stop: Callable[[], bool], budget_s: float) -> None:
        self._should_stop = should_stop
        self._deadline = time.monotonic() + budget_s

    def check(self) -> None:
        """Check that there is time left.

        Raises:
            OutOfTime: There is none left.
        """
        if self.is_over():
            raise OutOfTime

    def is_over(self) -> bool:
        """Return whether there is no time left."""
        return self._should_stop() or self.left < 0

    @property
    def left(self) -> float:
        """Seconds until the deadline; below 0 after it."""
        return self._deadline - time.monotonic()


class Matcher:
    """Finds the lines that match a pattern, within the time of a clock.

    The clock is read between lines, because a search that runs cannot be interrupted: a stop by the user, or the end
    of the budget, is noticed after at most `_LINE_S` seconds of processor time in one line.

    Attributes:
        given_up: How many lines took longer than `_LINE_S` to match; they are not found.
    """

    def __init__(self, pattern: SearchPattern, clock: Clock) -> None:
        self._pattern, self._clock = pattern, clock
        self.given_up = 0

    def __call__(self, lines: Sequence[str]) -> list[LineMatch]:
        """Return the first match in each line that has one.

        Raises:
            OutOfTime: There is no time left.
        """
        stride = _STRIDE if self._pattern.tame else 1
        search = self._pattern.compiled.search if self._pattern.tame else self._limited
        found: list[LineMatch] = []
        for row, line in enumerate(lines):
            if row % stride == 0:
                self._clock.check()
            match = search(line[:MATCH_COLUMNS])
            if match:
                found.append(LineMatch(row, *match.span()))
        return found

    def _limited(self, line: str) -> "regex.Match[str] | None":
        # The limit counts CPU time of all threads together, so concurrent searches match in turn.
        with _MATCHING:
            self._clock.check()
            limit = max(_SHORTEST_S, min(_LINE_S, self._clock.left))
            try:
                return cast("regex.Pattern[str]", self._pattern.compiled).search(line, timeout=limit)
            except TimeoutError:
                self._clock.check()
                self.given_up += 1
                return None


# A pattern that matches everything must not fill the memory.
MAX_HITS = 10_000


@dataclass(frozen=True, slots=True)
class Hit:
    """One matching line.

    Attributes:
        defines: Whether it defines the very name that matched.
        around: Names of the definitions that it lies in, and of the one that it begins; the innermost last.
        in_code: Whether the name that was searched for is code there; False in comments, strings and prose.
        imported: Whether the name that was searched for is imported there, and not used.
    """

    path: str
    line: int
    code: str
    defines: bool
    around: tuple[str, ...]
    in_code: bool = True
    imported: bool = False

    @property
    def symbol(self) -> str:
        """The definition that it begins or lies in; `-` outside of all definitions."""
        return self.around[-1] if self.around else NO_SYMBOL


def listing_of(workspace: Workspace, path: str, should_stop: Callable[[], bool]) -> FileListing:
    """Return the files to search: all, those in a folder, or a single one.

    Raises:
        WorkspaceError: The path cannot be used, or is a single file that cannot be read.
    """
    inside = workspace.locate(path)
    if inside and not workspace.is_folder(inside):
        _, size = workspace.read_beginning(inside, 0)
        return FileListing((WalkedFile(inside, size),))
    return workspace.files_below(inside, should_stop)


def collect_hits(
    workspace: Workspace,
    listing: FileListing,
    pattern: SearchPattern,
    clock: Clock,
    unreadable: Callable[[str], str],
    name: str = "",
    *,
    elsewhere: str = "",
) -> tuple[list[Hit], list[str]]:
    """Return hits in path order, and notes on what was not searched.

    Args:
        workspace: What the files are read from.
        listing: The files.
        pattern: What a line has to match.
        clock: How long it may take.
        unreadable: Why the lines of a file are not shown; empty if they are.
        name: The name that the pattern matches, if it is one: hits then say whether it is code.
        elsewhere: How to search another repository.
    """
    hits: list[Hit] = []
    notes: list[str] = []
    large: list[str] = []
    binary: list[str] = []
    match = Matcher(pattern, clock)
    try:
        for entry in listing.entries:
            clock.check()
            if entry.size > SEARCH_LIMIT_BYTES:
                large.append(entry.path)
                continue
            try:
                data = workspace.read(entry.path, SEARCH_LIMIT_BYTES)
            except UnreadableError:
                continue
            if pattern.needle not in data and not has_wide_bom(data):
                continue
            if is_binary(data):
                binary += [] if unreadable(entry.path) else [entry.path]
                continue
            lines = split_lines(decode(data).text)
            found = match(lines)
            if found and not unreadable(entry.path):
                hits.extend(hits_in(entry.path, lines, found, file_outline(entry.path, lines), name))
            if len(hits) >= MAX_HITS:
                notes = [f"… stopped after {MAX_HITS} matches; search for something rarer"]
                break
        else:
            if count := match.given_up:
                notes = [f"… {count} {plural(count, 'line')} took too long to match; use a simpler pattern"]
    except OutOfTime:
        notes = [f"… stopped after {BUDGET_S:.0f} s; use a simpler pattern or search in one path"]
    unsearched = replace(listing.unsearched, large=tuple(large), binary=tuple(binary))
    return hits, notes + coverage(replace(listing, unsearched=unsearched), found=bool(hits), elsewhere=elsewhere)


def hits_in(
    path: str, lines: Sequence[str], found: Sequence[LineMatch], outline: Outline, name: str = ""
) -> Iterator[Hit]:
    """Yield the matches in the lines of a file as hits. name: See `collect_hits`."""
    code_lines = lines_with_name(path, lines, name) if name else None
    imports = import_lines(lines) if name else frozenset()
    enclosing = outline.enclosing(index + 1 for index, _, _ in found)
    for (index, start, end), around in zip(found, enclosing, strict=True):
        code = lines[index]
        begun = [one.name for one in around if one.line == index + 1 and not one.prototype]
        defines = any(_holds(code, name, start, end) for name in begun)
        in_code = code_lines is None or index + 1 in code_lines
        imported = index + 1 in imports and not defines
        yield Hit(path, index + 1, code, defines, tuple(one.name for one in around), in_code, imported)


def _holds(line: str, name: str, start: int, end: int) -> bool:
    """Return whether a name, as a whole word, lies in these columns of a line."""
    found = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search(line, start)
    return found is not None and found.end() <= end
