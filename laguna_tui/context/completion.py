"""Completions of a mention that is being typed: files, folders and definitions, the most likely first.

Ranked as editors do: names that begin with the letters, then those with a word that does, then those that contain them
in order; among equals recently mentioned ones, then short names. Queries the codebase; reads no file.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from laguna_tui.base.paths import escaped
from laguna_tui.context.blocks import Completion
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.mentions import open_mention, written
from laguna_tui.context.name_resolution import meanings
from laguna_tui.repo.files.relative_paths import is_test, path_stem
from laguna_tui.repo.search.fuzzy import COMPARED, FuzzyMatch, FuzzyPaths, folded, fuzzy_match, has_near
from laguna_tui.repo.search.symbol_search import SymbolMatch

# As many as fit without scrolling.
LIMIT = 8
# Meanings of an ambiguous name that are offered, each by its place.
_SAME_NAME = 3
# The largest classes that people write have fewer.
_MEMBERS = 500
# This many of the best matches, the shortest paths first, are compared closely.
_LOOKED_AT = 256
# An older mention does not make a path more likely.
_RECENT = 20
# Letters scattered over the whole path: worse than any match of its last part. In a definition's name, which is
# longer, this happens by chance even more often.
_IN_PATH = len(FuzzyMatch)
_LINES = re.compile(r"(?::|#L)\d+(?:-L?\d*)?$")


class _Rank(NamedTuple):
    """Sort key of a completion; less comes first.

    Attributes:
        fit: how well the name matches.
        late: how long ago it was mentioned.
        other: a file where capitals ask for a definition, or the other way round.
        test: whether it is a test.
        unlike: whether the letters occur in another case only.
        length: of the name, or the depth of a path.
        place: path and line.
    """

    fit: int
    late: int
    other: bool
    test: bool
    unlike: bool
    length: int
    place: tuple[str, int]


class _Typed(NamedTuple):
    """A mention as typed so far.

    Attributes:
        start: index of its "@".
        name: what was typed.
        ends: text that ends the mention once it is chosen.
        limit: most completions.
    """

    start: int
    name: str
    ends: str
    limit: int

    def entry(self, insert: str, label: str, detail: str) -> Completion:
        return Completion(self.start, insert, label, detail)


def completions(
    codebase: Codebase, text: str, cursor: int, limit: int = LIMIT, recent: Sequence[str] = ()
) -> list[Completion]:
    """Return completions of the mention that the cursor is in or behind; none when it is in no mention.

    Args:
        codebase: what is searched.
        text: the message so far.
        cursor: number of characters before the cursor.
        limit: most completions.
        recent: paths that were mentioned before, the latest first.
    """
    open_ = open_mention(text, cursor)
    if open_ is None or _LINES.search(open_.name):
        return []
    # A chosen file or definition ends the mention; a folder is where the next part of a path is typed.
    typed = _Typed(open_.start, open_.name, "" if text[cursor : cursor + 1].isspace() else " ", limit)
    ranked = [(rank, _of_place(typed, place)) for rank, place in _best_places(codebase.places, typed, recent)]
    if typed.name and "/" not in typed.name:
        ranked += _of_symbols(codebase, typed)
    return [completion for _, completion in nsmallest(limit, ranked, key=lambda pair: pair[0])]


def _best_places(places: FuzzyPaths, typed: _Typed, recent: Sequence[str]) -> list[tuple[_Rank, str]]:
    late = {path: number for number, path in enumerate(recent[:_RECENT]) if places.has(path)}
    capitals = typed.name != typed.name.lower()
    found = {place: fit for place, fit in _fitting(places, typed, late) if place != typed.name}
    return nsmallest(
        typed.limit,
        ((_place_rank(place, fit, typed.name, capitals, late), place) for place, fit in found.items()),
    )


def _fitting(places: FuzzyPaths, typed: _Typed, late: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield places and how they match; without letters recent mentions, and what is directly in the folder."""
    if not typed.name:
        yield from ((place, FuzzyMatch.BEGINS) for place in places.whole if "/" not in place[:-1])
        yield from ((place, FuzzyMatch.SAME) for place in late)
        return
    fits = _path_fits(places, typed) if "/" in typed.name else _name_fits(places, typed)
    likely = nsmallest(_LOOKED_AT, fits.items(), key=lambda found: (found[1], len(places.whole[found[0]])))
    yield from ((places.whole[line], fit) for line, fit in likely)
    letters = folded(typed.name)
    for place in late:
        how = fuzzy_match(place.rpartition("/")[2], letters)
        if how is not None and "/" not in typed.name:
            yield place, how


def _name_fits(places: FuzzyPaths, typed: _Typed) -> dict[int, int]:
    """Match the last parts of paths; whole paths where that gives too little."""
    fits: dict[int, int] = {**places.names.best(typed.name, typed.limit)}
    if len(fits) < typed.limit:
        letters = typed.name.lower()
        for line in islice(places.paths.scattered(letters), COMPARED):
            if line not in fits and has_near(places.paths[line], letters):
                fits[line] = _IN_PATH
    return fits


def _path_fits(places: FuzzyPaths, typed: _Typed) -> dict[int, int]:
    """Match whole paths: their beginning, that of one of their parts, the letters inside, or scattered."""
    letters = typed.name.lower()
    steps: Iterable[tuple[FuzzyMatch, Iterator[int]]] = (
        (FuzzyMatch.BEGINS, places.paths.containing("\n" + letters)),
        (FuzzyMatch.WORD, places.paths.containing("/" + letters)),
        (FuzzyMatch.INSIDE, places.paths.containing(letters)),
        (FuzzyMatch.SCATTERED, places.paths.scattered(letters)),
    )
    fits: dict[int, int] = {}
    for fit, lines in steps:
        for line in islice(lines, COMPARED):
            fits.setdefault(line, fit)
        if len(fits) > typed.limit:  # one more than needed, because the folder itself may be among them
            break
    return fits


def _place_rank(place: str, fit: int, name: str, capitals: bool, late: dict[str, int]) -> _Rank:
    bare = place.removesuffix("/")
    last = bare.rpartition("/")[2]
    if fit == FuzzyMatch.BEGINS and folded(path_stem(last)) == folded(name):
        fit = FuzzyMatch.SAME  # people leave the suffix out
    if not name or name.endswith("/"):
        # For browsing a folder: near before deep, folders before files, then by name.
        return _Rank(fit, late.get(place, _RECENT), capitals, False, place == bare, bare.count("/"), (bare, 0))
    length = bare.count("/") if "/" in name else len(last)
    return _Rank(fit, late.get(place, _RECENT), capitals, is_test(bare), name not in place, length, (bare, 0))


def _of_place(typed: _Typed, place: str) -> Completion:
    name = escaped(place)
    if place.endswith("/"):
        insert = written(name)
        # An open quote stays open, so that the path can be continued.
        return typed.entry(insert[:-1] if insert.endswith('"') else insert, name, "folder")
    return typed.entry(written(name) + typed.ends, name, "")


def _of_symbols(codebase: Codebase, typed: _Typed) -> Iterator[tuple[_Rank, Completion]]:
    """Yield matching definitions, each by its name, or by its place where the name is ambiguous."""
    found, fits = _definitions(codebase, typed)
    for qualified in dict.fromkeys(definition.qualified for definition in found):
        meant = meanings(qualified, (definition for definition in found if definition.qualified == qualified))
        for meaning in meant[:_SAME_NAME]:
            definition = meaning.longest
            by_place = written(escaped(definition.path), definition.line, definition.end)
            insert = written(qualified) if len(meant) == 1 else by_place
            detail = f"{definition.kind} {escaped(definition.path)}:{definition.line}"
            yield (
                _symbol_rank(definition, fits[definition.name], typed.name),
                typed.entry(insert + typed.ends, qualified, detail),
            )


def _definitions(codebase: Codebase, typed: _Typed) -> tuple[list[SymbolMatch], dict[str, int]]:
    """Return definitions whose last part matches and whose scopes are those typed, and how each name matches."""
    scopes, _, last = typed.name.replace("::", ".").rpartition(".")
    if scopes:
        members = codebase.members(scopes, _MEMBERS)
        inside = {member.name: fuzzy_match(member.name, folded(last)) for member in members}
        fits: dict[str, int] = {name: how for name, how in inside.items() if how is not None}
        return [member for member in members if member.name in fits], fits
    names = codebase.spellings.names
    found = codebase.spellings.best(last, typed.limit).items()
    best = nsmallest(typed.limit, ((how, len(names[line]), names[line]) for line, how in found))
    fits = {name: how for how, _, name in best}
    return codebase.named(list(fits)), fits


def _symbol_rank(definition: SymbolMatch, fit: int, name: str) -> _Rank:
    return _Rank(
        _IN_PATH + 1 if fit == FuzzyMatch.SCATTERED else fit,
        _RECENT,
        name == name.lower(),
        is_test(definition.path),
        name not in definition.qualified,
        len(definition.name),
        (definition.path, definition.line),
    )
