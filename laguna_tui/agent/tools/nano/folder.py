"""Queries of the folder's index beyond the lines with one name: types, members, parameters, files, ranked search.

Everything that a rule forbids to be read is left out, and code comes before copies, stubs and tests.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, permutations

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.regex_search import Hit
from laguna_tui.agent.tools.base.result_lines import NO_SYMBOL, read_lines, shortened
from laguna_tui.agent.tools.nano.concepts import in_code
from laguna_tui.agent.tools.nano.search import (
    WAIT_S,
    ListedLine,
    Occurrences,
    indexed_occurrences,
    signature,
    undefining,
)
from laguna_tui.base.units import clipped, plural
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.relative_paths import is_prose, is_secondary, is_test
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import WorkspaceError
from laguna_tui.repo.search.fuzzy import folded
from laguna_tui.repo.search.identifiers import parts, stem
from laguna_tui.repo.search.ranking import shown_line
from laguna_tui.repo.search.retrieval import parse_query
from laguna_tui.repo.search.symbol_search import SymbolMatch
from laguna_tui.repo.search.symbol_uses import code_first
from laguna_tui.repo.syntax.analysis import file_outline
from laguna_tui.repo.syntax.languages import DefinitionKind, is_code

# Results of the ranked search that are looked through for those in code.
_RANKED = 40
# A slip changes at most one letter of a name this long, and two of a longer one.
_ONE_SLIP, _TWO_SLIPS = 4, 9
# A word of a name with at most _SHORT letters is taken literally; one with fewer than _LONG may have one slip.
_SHORT, _LONG = 3, 6
# Words that are searched for in the place of one that no file has.
_WORDS_FOR_ONE = 2
_CONSTRUCTORS = ("__init__", "__new__", "constructor", "initialize")
_BASES = re.compile(
    r"\((?P<python>.*)\)|\b(?:extends|implements)\b(?P<java>.*)|(?<!:):(?!:)(?P<cpp>.*)|<\s*(?P<ruby>[A-Z].*)"
)
_NAMED_BASE = re.compile(r"[^\W\d][\w.]*(?!\w)(?!\s*=)")
_HEAD_CHARS = 400
_LEVELS = 6
"""Of subclasses of subclasses."""


class FolderIndex:
    """The index of the folder, brought up to date, for one question.

    Attributes:
        complete: Whether it covers the folder as it is now.
    """

    def __init__(self, run: ToolRun, codebase: Codebase) -> None:
        """Bring the index up to date."""
        self._run, self._codebase = run, codebase
        self.complete = codebase.sync(WAIT_S, run.cancelled)
        self._occurrences: dict[str, Occurrences] = {}
        self._words: dict[str, bool] = {}

    @cached_property
    def paths(self) -> list[str]:
        """Its files, sorted, code first."""
        return sorted((path for path in self._codebase.paths() if not self._run.readable(path)), key=code_first)

    @property
    def count(self) -> str:
        """How many files it has, in words."""
        return f"{len(self.paths):,} {plural(len(self.paths), 'file')}"

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that it defines."""
        return frozenset(self._codebase.spellings.names)

    def definitions(self, name: str) -> list[SymbolMatch]:
        """Return the definitions of a name, dotted or not."""
        return self._shown(self._codebase.definitions(name))

    def occurrences(self, name: str) -> Occurrences:
        """Return the lines with a name."""
        if name not in self._occurrences:
            self._occurrences[name] = indexed_occurrences(self._codebase, self._run, name)
        return self._occurrences[name]

    def uses(self, name: str) -> bool:
        """Return whether a file has a name as code that does not define it."""
        return any(hit.in_code for hit in self._undefining(name))

    def assigned(self, name: str) -> list[Hit]:
        """Return the lines that set a variable or an attribute."""
        pattern = rf"(?:^\s*|\b(?:self|this|cls)\s*\.\s*|[,(]\s*){re.escape(name)}\s*(?::[^=]+)?=(?!=)"
        return [hit for hit in self._undefining(name, pattern) if hit.in_code and not hit.imported]

    def _undefining(self, name: str, pattern: str = "") -> Iterator[Hit]:
        for tests in (False, True):
            yield from undefining(self._codebase, self._run, name, tests, pattern)

    def has_word(self, word: str) -> bool:
        """Return whether a file has a word, in any of its forms."""
        if word not in self._words:
            found = self._codebase.files_with(word)
            self._words[word] = found is None or bool(found)
        return self._words[word]

    def in_code(self, word: str) -> list[str]:
        """Return the words of its files for one of a question: the word, others for it, or one with a slip mended."""
        if self.has_word(word):
            return [word]
        found = [list(filter(self.has_word, each))[:_WORDS_FOR_ONE] for each in in_code(word)]
        return list(dict.fromkeys(chain(*found))) or self._mended(word.lower())

    def _mended(self, word: str) -> list[str]:
        """Return the word of a defined name that has a letter more or less, or two of them swapped."""
        if len(word) <= _ONE_SLIP or not word.isascii():
            return []
        forms = {word, stem(word)}
        # One of its halves is whole.
        halves = {half for form in forms for half in (form[: len(form) // 2], form[(len(form) + 1) // 2 :])}
        names = (name for name in self.names if any(half in name.lower() for half in halves))
        near = Counter(part for part in chain(*map(parts, names)) if any(_is_typed(form, part) for form in forms))
        return [part for part, _ in near.most_common(1)]

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file; none if it cannot be read."""
        try:
            return read_lines(self._run.workspace, path, SEARCH_LIMIT_BYTES)
        except WorkspaceError:
            return []

    # -- names

    def alike(self, written: str, *, slips: bool = True) -> list[str]:
        """Return the defined names that are meant by one that is not defined: in another case, or with a slip.

        Args:
            written: As the user wrote it.
            slips: Also those that differ in a letter or two.
        """
        spellings = self._codebase.spellings
        letters = folded(written)
        same = spellings.same(letters)
        if same or not slips or len(letters) < _ONE_SLIP:
            return self._preferred(same, written)
        allowed = 2 if len(letters) >= _TWO_SLIPS else 1
        # Of a text with so few slips, one of its pieces is whole.
        size = max(len(letters) // (allowed + 2), 1)
        pieces = [letters[at : at + size] for at in range(0, len(letters) - size + 1, size)]
        near: dict[int, list[str]] = {}
        for name in spellings.containing(pieces):
            other = folded(name)
            if abs(len(other) - len(letters)) <= allowed and _is_slip(parts(written), parts(name)):
                near.setdefault(_slips(letters, other, allowed), []).append(name)
        least = min(near, default=allowed + 1)
        return self._preferred(near[least], written) if least <= allowed else []

    def similar(self, written: str) -> list[SymbolMatch]:
        """Return definitions that share a word of four letters or more with a name that nothing has."""
        words = [part for part in parts(written) if len(part) >= _ONE_SLIP]
        names = [name for name in self._codebase.spellings.containing(words) if not set(words).isdisjoint(parts(name))]
        return [d for d in self._shown(self._codebase.named(names[:_RANKED])) if not is_test(d.path)]

    def _preferred(self, names: Iterable[str], written: str) -> list[str]:
        """Return names: those outside of tests first, then in the user's letters, then with the same first one."""
        order = {
            d.name: (is_test(d.path), d.name.lower() != written.lower(), d.name[:1] != written[:1], d.path)
            for d in reversed(self._codebase.named(list(names)))
        }
        return sorted(order, key=lambda name: (order[name], name))

    # -- types

    @cached_property
    def types(self) -> list[SymbolMatch]:
        """Its classes and other types."""
        return self._shown(self._codebase.with_signature(DefinitionKind.TYPE))

    def type_named(self, name: str) -> SymbolMatch | None:
        """Return the type of this name, dotted or not; None if it is of something else."""
        return next((found for found in self.definitions(name) if found.kind == DefinitionKind.TYPE.value), None)

    def members(self, scope: SymbolMatch) -> list[SymbolMatch]:
        """Return what is directly inside a type, in its order."""
        found = self._codebase.members(scope.qualified, 400)
        return [d for d in found if d.path == scope.path and d.qualified == f"{scope.qualified}.{d.name}"]

    def subclasses(self, name: str) -> list[SymbolMatch]:
        """Return the types that inherit from one of this name, those directly below it first."""
        below: dict[str, list[SymbolMatch]] = {}
        for found in self.types:
            for base in bases_of(found):
                below.setdefault(base.rpartition(".")[2], []).append(found)
        result: dict[tuple[str, int], SymbolMatch] = {}
        level = [name]
        for _ in range(_LEVELS):
            new = [d for each in level for d in below.get(each, []) if (d.path, d.line) not in result]
            result.update({(d.path, d.line): d for d in new})
            level = list(dict.fromkeys(d.name for d in new))
        return list(result.values())

    def constructor(self, scope: SymbolMatch) -> SymbolMatch | None:
        """Return the constructor of a type, its own or the nearest that it inherits from this folder."""
        seen: set[str] = set()
        wanted = [scope]
        while wanted:
            current = wanted.pop(0)
            if current.qualified in seen:
                continue
            seen.add(current.qualified)
            own = {d.name: d for d in self.members(current)}
            for name in (*_CONSTRUCTORS, current.name):
                if name in own:
                    return own[name]
            wanted += [base for each in bases_of(current) if (base := self.type_named(each.rpartition(".")[2]))]
        return None

    def with_parameter(self, name: str) -> list[SymbolMatch]:
        """Return the functions that have a parameter of this name."""
        found = self._codebase.with_signature(DefinitionKind.FUNCTION, name)
        pattern = re.compile(rf"[(,*\s&]{re.escape(name)}\s*(?:[:=,)?]|$)")
        return self._shown(d for d in found if pattern.search(d.signature.partition(d.name)[2]))

    def top_level(self, path: str) -> list[SymbolMatch]:
        """Return the functions and types that a file defines in no other definition."""
        outer = {(d.line, d.name) for d in file_outline(path, self.lines(path)).top_level()}
        found = self._codebase.named(sorted({name for _, name in outer}))
        return [d for d in found if d.path == path and (d.line, d.name) in outer]

    def of_kind(self, kind: DefinitionKind) -> list[SymbolMatch]:
        """Return every definition of a kind outside of the tests."""
        return [d for d in self._shown(self._codebase.with_signature(kind)) if not is_test(d.path)]

    # -- everything else

    def files_called(self, pattern: str) -> list[str]:
        """Return the files whose path matches a regular expression, in any case, those at the top first."""
        wanted = re.compile(pattern, re.IGNORECASE)
        matching = [path for path in self.paths if wanted.search(path) and ".egg-info/" not in path]
        found = [path for path in matching if not is_test(path)] or matching
        return sorted(found, key=lambda path: (path.count("/"), code_first(path)))

    def ranked(self, words: str, limit: int) -> list[ListedLine]:
        """Return the first results of the ranked search for some words: definitions in code before tests and text."""
        question = parse_query(words)
        found = [each.unit for each in self._codebase.search(words, _RANKED) if not self._run.readable(each.unit.path)]
        wants_text = question.wants_tests or any(is_prose(path) for path in words.split())
        # Sorting keeps the order of the ranking.
        order = found if wants_text else sorted(found, key=lambda unit: _aside(unit.path) + (not unit.name))
        lines = []
        with RootFolder(self._codebase.root) as tree:
            for unit in order[:limit]:
                number, code = shown_line(unit, question, tree)
                if unit.name:
                    # A name says enough, and its head would fill a narrow screen.
                    lines.append(ListedLine(unit.title, unit.path, number))
                else:
                    lines.append(ListedLine(NO_SYMBOL, unit.path, number, self.code(code)))
        return lines

    def called(self, words: Sequence[str]) -> list[SymbolMatch]:
        """Return the definitions whose name is two of some words together, or one of them in capitals."""
        same = self._codebase.spellings.same
        pairs = [name for pair in permutations(words, 2) for name in same("".join(pair))]
        alone = [name for word in words for name in same(word) if name.isupper()]
        found = self._codebase.named(list(dict.fromkeys([*pairs, *alone])))
        return [d for d in self._shown(found) if not _aside(d.path)]

    def listed(self, found: Iterable[SymbolMatch]) -> list[ListedLine]:
        """Return definitions as lines, with their heads."""
        return [ListedLine(d.qualified, d.path, d.line, self.head(d)) for d in found]

    def head(self, found: SymbolMatch) -> str:
        """Return a definition's head on one line."""
        lines = self.lines(found.path)[found.line - 1 :]
        return clipped(signature(lines) if lines else found.signature.replace("`", "'"), _HEAD_CHARS)

    def code(self, text: str) -> str:
        """Return a line of code as it is shown between backticks."""
        return shortened(text.strip().replace("`", "'"))

    def _shown(self, found: Iterable[SymbolMatch]) -> list[SymbolMatch]:
        allowed = [d for d in found if not self._run.readable(d.path)]
        return sorted(allowed, key=lambda d: (code_first(d.path), d.line))


def _aside(path: str) -> int:
    """Return how far a file is from the code that a question is about."""
    return 2 * (is_test(path) or is_prose(path) or not is_code(path)) + is_secondary(path)


def bases_of(scope: SymbolMatch) -> list[str]:
    """Return the names that a type inherits from, as they are written."""
    match = _BASES.search(scope.signature.partition(scope.name)[2])
    if match is None:
        return []
    inside = next(filter(None, match.groups()), "")
    return [base for base in _NAMED_BASE.findall(_without_arguments(inside)) if base not in ("public", "private")]


def _without_arguments(text: str) -> str:
    """Return a list of bases without their type arguments and keywords."""
    return re.sub(r"\w+\s*=\s*[^,]+|\[[^\]]*\]*|<[^>]*>*", "", text)


def _is_typed(written: str, word: str) -> bool:
    """Return whether somebody may have typed a word so: another letter in place of one makes another word too often."""
    if written[0] != word[0] or len(word) < _ONE_SLIP or abs(len(word) - len(written)) > 1:
        return False
    return (len(written) != len(word) or sorted(written) == sorted(word)) and _slips(written, word, 1) == 1


def _is_slip(written: Sequence[str], name: Sequence[str]) -> bool:
    """Return whether the words of a name may be those of another with slips: a short word is more often another one."""
    if len(written) != len(name):
        return True
    most = [0 if len(word) <= _SHORT else 1 if len(word) < _LONG else 2 for word in name]
    return all(_slips(a, b, allowed) <= allowed for a, b, allowed in zip(written, name, most, strict=True))


def _slips(first: str, second: str, allowed: int) -> int:
    """Return how many letters are wrong, missing, added or swapped; `allowed` + 1 if there are more than that."""
    before: Sequence[int] = ()
    row: Sequence[int] = range(len(second) + 1)
    for at, letter in enumerate(first, 1):
        new = [at]
        for to, other in enumerate(second, 1):
            cost = min(row[to] + 1, new[to - 1] + 1, row[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == second[to - 2] and first[at - 2] == other:
                cost = min(cost, before[to - 2] + 1)
            new.append(cost)
        if min(new) > allowed:
            return allowed + 1
        before, row = row, new
    return row[-1]
