"""A file as a document to shorten: each definition a unit, its head the outline, its statements the body.

Spans are whole lines, so that what is kept reads as code and the rest can be read again by line. Only lines that are
far longer than anybody writes are cut: where a definition begins in them, else at blanks, commas and the like.

Also the names by which a question can refer to a piece of code, and the definitions that it uses, by the look of names
only. A method called on the object itself is looked up in its class, so `self.read` is not every `read`; where the
class has none, it may be a method of what the class inherits from, in this file or in another one.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from laguna_tui.base.paths import escaped
from laguna_tui.context.compression.spans import Document, Span, SpanRole, SpanUnit
from laguna_tui.context.compression.statements import LineLooks, pieces, read_lines
from laguna_tui.repo.files.text_files import line_starts
from laguna_tui.repo.search.identifiers import COMMON_NAMES, looks_like_code
from laguna_tui.repo.syntax.analysis import analyse
from laguna_tui.repo.syntax.language_patterns import language_of
from laguna_tui.repo.syntax.languages import DefinitionKind
from laguna_tui.repo.syntax.symbols import Symbol, Syntax

# Longer lines are data or minified; they are cut into pieces of this size.
LINE_CHARS = 1000
PIECE_CHARS = 400
# Text outside definitions is ranked in groups of this many lines.
GROUP_LINES = 40
# A comment of at most this many lines before a definition is part of its outline; of a longer one the first line is.
_LEAD_LINES = 3
_IMPORT_LINES = 40
_IMPORT = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|#\s*include\b|use\s+[\w:]|using\s+[\w.:]+;|package\s+\w|require\b"
    r"|export\s[^\n]*\bfrom\b|(?:const|let|var)\s[^=\n]{1,200}=\s*require\()"
)
_LEAD = re.compile(r"\s*(?://|#(?!\[)|/\*|\*|--)")
_QUOTES = re.compile(r"\s*[rRbBuU]{0,2}(?:\"\"\"|'''|\"|')")
_BREAK = re.compile(r"[\s,;}\])>]+")


class _Owner(NamedTuple):
    """The owner of a line: the index of a symbol, -1 for none."""

    symbol: int
    role: SpanRole


def document(path: str, text: str, *, protected: bool = False) -> Document:
    """Return the document of a file's text; `path` as the `read` tool takes it. Any text gives one."""
    return _Cutter(path, text).document(protected=protected)


class _Cutter:
    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text
        self._starts = [start for start in line_starts(text) if start < len(text)] or [0]
        self._lines = [text[a:b] for a, b in zip(self._starts, [*self._starts[1:], len(text)], strict=True)]
        self._syntax = analyse(path, text)
        self._names = DefinedNames(self._syntax)
        self._inside_of: dict[int, list[Symbol]] = {}
        self._units: list[SpanUnit] = []
        self._spans: list[Span] = []

    def document(self, *, protected: bool) -> Document:
        owners = self._owners()
        look = read_lines(self._lines, self._inner())
        headings = {
            self._line(unit.spans[0][0]): unit.title
            for unit in self._syntax.units
            if unit.symbol is None and unit.title
        }
        for symbol in self._syntax.symbols:
            # Definitions without lines of their own, such as functions in functions, belong to the enclosing one.
            self._inside_of.setdefault(owners[self._line(symbol.start)].symbol, []).append(symbol)
        made: dict[int, int] = {}
        for first, last, owner in _runs(owners):
            if owner.symbol < 0:
                self._outside(look, first, last, headings)
            elif first == last and len(inside := self._begun_in(first, owner.symbol)) > 1:
                self._crowded(first, inside)
            else:
                unit = made.get(owner.symbol)
                if unit is None:
                    unit = made[owner.symbol] = self._definition(owner.symbol, owners)
                self._inside(look, first, last, owner.role, unit)
        return Document(escaped(self._path), self._text, tuple(self._spans), tuple(self._units), protected)

    def _line(self, offset: int) -> int:
        return min(bisect_right(self._starts, offset), len(self._lines)) - 1

    def _inner(self) -> set[int]:
        """Return the lines, from 0, that begin inside a string or comment."""
        language = language_of(self._path)
        found: set[int] = set()
        if language is not None and max(map(len, self._lines), default=0) <= LINE_CHARS:
            for match in language.opaque.finditer(self._text):
                if "\n" in match.group():
                    found.update(range(self._line(match.start()) + 1, self._line(match.end() - 1) + 1))
        return found

    def _owners(self) -> list[_Owner]:
        """Return the owner of each line; an inner definition comes after the outer one and takes its lines from it."""
        owners = [_Owner(-1, SpanRole.TEXT)] * len(self._lines)
        reach = 0
        for index, symbol in enumerate(self._syntax.symbols):
            if symbol.start < reach or symbol.stop <= symbol.start:
                continue
            if symbol.kind is DefinitionKind.FUNCTION:
                reach = symbol.stop
            for line, role in self._roles(symbol):
                owners[line] = _Owner(index, role)
        return owners

    def _roles(self, symbol: Symbol) -> Iterator[tuple[int, SpanRole]]:
        """Yield the lines of a definition and the role of each: lead, head, first line of the docstring, body."""
        first, last = self._line(symbol.start), self._line(symbol.stop - 1)
        begin = next((n for n in range(first, last + 1) if not _LEAD.match(self._lines[n])), first)
        if symbol.kind is DefinitionKind.VARIABLE:
            head = begin if last - first > _LEAD_LINES else first - 1
        else:
            body = self._line(min(symbol.body, symbol.stop - 1))
            head = body if body <= begin or self._opens(symbol, body) else body - 1
        for line in range(first, last + 1):
            lead = line < begin and begin - first > _LEAD_LINES and line > first
            yield line, SpanRole.OUTLINE if line <= head and not lead else SpanRole.BODY

    def _opens(self, symbol: Symbol, body: int) -> bool:
        """Return whether the line where the inside begins belongs to the head: code before it, a brace, a docstring."""
        before = self._text[self._starts[body] : symbol.body]
        return bool(before.strip()) or self._text[symbol.body] == "{" or bool(_QUOTES.match(self._lines[body]))

    def _definition(self, index: int, owners: Sequence[_Owner]) -> int:
        """Begin the unit of a definition; returns its number."""
        symbol = self._syntax.symbols[index]
        first, last = self._line(symbol.start), self._line(symbol.stop - 1)
        own = "".join(self._lines[n] for n in range(first, last + 1) if owners[n].symbol == index)
        defines = self._names.defined(symbol, self._inside_of.get(index, ()))
        refers = refers_of(own, self._names, symbol) - defines
        self._units.append(SpanUnit(symbol.qualified, defines, refers, first + 1, last + 1))
        return len(self._units) - 1

    def _inside(self, look: LineLooks, first: int, last: int, role: SpanRole, unit: int) -> None:
        cut = pieces(look, first, last + 1) if role is SpanRole.BODY else iter([(first, last + 1)])
        for start, stop in cut:
            self._add(start, stop, role, unit)

    def _begun_in(self, line: int, owner: int) -> list[Symbol]:
        """Return the definitions that begin in a line that is too long, without functions in functions."""
        if len(self._lines[line]) <= LINE_CHARS:
            return []
        start, reach = self._starts[line], 0
        found = []
        for symbol in self._inside_of.get(owner, ()):
            if max(start, reach) <= symbol.start < start + len(self._lines[line]):
                found.append(symbol)
                reach = symbol.stop if symbol.kind is DefinitionKind.FUNCTION else reach
        return found

    def _crowded(self, line: int, inside: Sequence[Symbol]) -> None:
        """Add a long line of many definitions, as in minified code: a unit for each group that is short together."""
        start, stop = self._starts[line], self._starts[line] + len(self._lines[line])
        groups: list[list[Symbol]] = []
        begin = start
        for symbol, end in zip(inside, [*(symbol.start for symbol in inside[1:]), stop], strict=True):
            if not groups or end - begin > PIECE_CHARS:
                begin = symbol.start if groups else start
                groups.append([])
            groups[-1].append(symbol)
        edges = [start, *(group[0].start for group in groups[1:]), stop]
        for group, (a, b) in zip(groups, pairwise(edges), strict=True):
            defines = frozenset().union(*(self._names.defined(symbol, ()) for symbol in group))
            refers = refers_of(self._text[a:b], self._names, group[0]) - defines
            self._units.append(SpanUnit(group[0].qualified, defines, refers, line + 1, line + 1))
            for span in _cut_long(self._text, a, b):
                self._spans.append(Span(*span, SpanRole.BODY, len(self._units) - 1))

    def _outside(self, look: LineLooks, first: int, last: int, headings: dict[int, str]) -> None:
        title = ""
        for start, stop, imports in self._blocks(first, last + 1, headings):
            title = headings.get(start, title)
            text = "".join(self._lines[start:stop])
            if not text.strip():
                continue
            defines = frozenset() if imports else keys_of(text)
            self._units.append(SpanUnit(title, defines, refers_of(text, self._names, None) - defines, start + 1, stop))
            if imports:
                self._add(start, stop, SpanRole.OUTLINE, len(self._units) - 1)
                continue
            for a, b in pieces(look, start, stop):
                self._add(a, b, SpanRole.TEXT, len(self._units) - 1)

    def _blocks(self, start: int, stop: int, headings: dict[int, str]) -> Iterator[tuple[int, int, bool]]:
        """Yield groups of lines: imports apart; a heading or `GROUP_LINES` lines begin another."""
        begin, imports, until = start, False, start
        for number in range(start, stop):
            if number < until:
                continue
            line = self._lines[number]
            is_import = bool(self._syntax.language) and bool(_IMPORT.match(line[:LINE_CHARS]))
            if is_import:
                until = self._import_end(number, stop)
            changes = is_import != imports and bool(line.strip())
            if number > begin and (changes or number in headings or number - begin >= GROUP_LINES):
                yield begin, number, imports
                begin = number
            if line.strip():
                imports = is_import
        if begin < stop:
            yield begin, stop, imports

    def _import_end(self, number: int, stop: int) -> int:
        """Return the line after an import that begins at `number`, its brackets closed."""
        depth = 0
        for at in range(number, min(stop, number + _IMPORT_LINES)):
            line = self._lines[at]
            depth += line.count("(") + line.count("{") - line.count(")") - line.count("}")
            if depth <= 0 and not line.rstrip().endswith("\\"):
                return at + 1
        return number + 1

    def _add(self, first: int, stop: int, role: SpanRole, unit: int) -> None:
        """Add the lines as a span, without blank lines at its ends; lines that are too long in pieces."""
        while stop > first and not self._lines[stop - 1].strip():
            stop -= 1
        while first < stop and not self._lines[first].strip():
            first += 1
        if first == stop:
            return
        start, end = self._starts[first], self._starts[stop - 1] + len(self._lines[stop - 1])
        if end - start <= max(LINE_CHARS, (stop - first) * LINE_CHARS // 4):
            self._spans.append(Span(start, end, role, unit))
            return
        for a, b in _cut_long(self._text, start, end):
            self._spans.append(Span(a, b, role, unit))
            # All of a long line cannot be the outline that goes with every piece of it.
            role = SpanRole.BODY if role is SpanRole.OUTLINE else role


def _runs(owners: Sequence[_Owner]) -> Iterator[tuple[int, int, _Owner]]:
    """Yield runs of lines of one owner and role: first line, last line, owner."""
    first = 0
    for number in range(1, len(owners) + 1):
        if number == len(owners) or owners[number] != owners[first]:
            yield first, number - 1, owners[first]
            first = number


def _cut_long(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield pieces of a text that end at a break near `PIECE_CHARS`, or there if none is near."""
    while stop - start > 2 * PIECE_CHARS:
        found = _BREAK.search(text, start + PIECE_CHARS, start + 2 * PIECE_CHARS)
        end = found.end() if found else start + PIECE_CHARS
        if text[start:end].strip():
            yield start, end
        start = end
    if text[start:stop].strip():
        yield start, stop


_MIN_CHARS = 3
_NAME_CHARS = 120
_KEYS = 64
# Classes that one inherits from, directly or not; more are made up.
_MAX_BASES = 16
_BASE = re.compile(r"[^\W\d]\w*")
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "constructor", "initialize"})
_NAME = re.compile(r"(?P<own>\b(?:self|cls|this|super\(\))\s*(?:\.|->)\s*)?\b(?P<name>[^\W\d]\w*)(?P<call>\s*[(<]?)")
# `key: value` and `key = value`, the key perhaps quoted.
_KEY = re.compile(r"^\s*(?:-\s+)?[\"']?(?P<key>[\w][\w.\-]{1,80})[\"']?\s*(?:=>|:|=)(?!=)[ \t]*\S", re.MULTILINE)


class DefinedNames:
    """The names that a file defines."""

    def __init__(self, syntax: Syntax) -> None:
        self.references = syntax.references.keys()
        self.own = {symbol.name for symbol in syntax.symbols}
        self.qualified = {symbol.qualified for symbol in syntax.symbols}
        self._bases = {
            symbol.qualified: tuple(_BASE.findall(symbol.signature.partition(symbol.name)[2]))
            for symbol in syntax.symbols
            if symbol.kind is DefinitionKind.TYPE
        }

    def defined(self, symbol: Symbol, inside: Iterable[Symbol]) -> frozenset[str]:
        """Return the names by which a question can refer to a definition; `inside` are the definitions in its lines."""
        names = {symbol.name, symbol.qualified} | {other.name for other in inside}
        outer = symbol.qualified.split(".")[:-1]
        if outer and (symbol.name in _CONSTRUCTORS or symbol.name == outer[-1]):
            names.add(outer[-1])
        return frozenset(names)

    def on_itself(self, symbol: Symbol | None, name: str, *, inherited: bool) -> Iterator[str]:
        """Yield the names that a call on a definition's own object may mean; `inherited`: not in its own class."""
        own = None if inherited else self._in_class(symbol, name)
        if own is not None:
            yield own
            return
        yield name
        for base in self._inherited(symbol):
            yield f"{base}.{name}"

    def _inherited(self, symbol: Symbol | None) -> Iterator[str]:
        """Yield the base classes of a definition's class, as far as this file says, the nearest first."""
        outer = "" if symbol is None else symbol.qualified
        while outer and outer not in self._bases:
            outer = outer.rpartition(".")[0]
        waiting, seen = [outer], {outer}
        for known in waiting:
            for base in self._bases.get(known, ()):
                if base not in seen and len(seen) <= _MAX_BASES:
                    seen.add(base)
                    waiting.append(base)
                    yield base

    def _in_class(self, symbol: Symbol | None, name: str) -> str | None:
        """Return the qualified name of what a definition calls on its own object, if its class has it."""
        outer = "" if symbol is None else symbol.qualified
        while outer:
            if f"{outer}.{name}" in self.qualified:
                return f"{outer}.{name}"
            outer = outer.rpartition(".")[0]
        return None


def refers_of(text: str, names: DefinedNames, symbol: Symbol | None) -> frozenset[str]:
    """Return the names of definitions that a piece of code seems to use."""
    found: set[str] = set()
    for match in _NAME.finditer(text):
        name = match["name"]
        if not _MIN_CHARS <= len(name) <= _NAME_CHARS:
            continue
        if match["own"]:
            found.update(names.on_itself(symbol, name, inherited=match["own"].startswith("super")))
        elif name not in COMMON_NAMES and (name in names.own or name in names.references or _telling(match)):
            found.add(name)
    return frozenset(found)


def keys_of(text: str) -> frozenset[str]:
    """Return the names before `=` and `:` at the beginning of lines: settings, entries, fields."""
    found: list[str] = []
    for match in _KEY.finditer(text):
        if match["key"] not in COMMON_NAMES:
            found.append(match["key"])
        if len(found) >= _KEYS:
            break
    return frozenset(found)


def _telling(match: re.Match[str]) -> bool:
    return bool(match["call"].strip()) or match["name"][0].isupper() or looks_like_code(match["name"])
