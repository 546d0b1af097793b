"""The repository map: the most important definitions, by file, within a budget of tokens.

Files are ranked by references (personalised towards the files in focus), and a file's rank is shared among its
definitions by how often other files refer to their names. The largest map that fits is found by bisection.
"""

import os
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from laguna_tui.base.paths import escaped
from laguna_tui.repo.files.relative_paths import is_prose, is_secondary, is_test
from laguna_tui.repo.search.reference_graph import MAX_DEFINERS, ReferenceGraph, load_graph, name_weight

TokenCounter = Callable[[str], int]
"""Returns the number of tokens of a text."""
# Code has three or four characters per token; the smaller number keeps within the budget.
_CHARS_PER_TOKEN = 3
# More definitions fit into no context.
_MAX_DEFINITIONS = 20_000
_SIGNATURE_CHARS = 100
# Tests and examples are rarely to be explained first.
_ASIDE = 0.2
# A definition without references is still worth a line when there is room.
_UNREFERRED = 0.1
_PRIVATE = 0.3
# Share of the walk's restarts in the focus; the rest is spread over the whole folder.
_FOCUS_SHARE = 0.9


class _Line(NamedTuple):
    """One definition in the map."""

    file: int
    line: int
    text: str
    value: float


class RepositoryMap(NamedTuple):
    """The map as text, its tokens, the number of definitions it shows, and of all."""

    text: str
    tokens: int
    shown: int
    known: int


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text without a tokenizer."""
    return -(-len(text) // _CHARS_PER_TOKEN)


def repository_map(
    connection: sqlite3.Connection,
    budget: int,
    focus: Sequence[str] = (),
    count: TokenCounter = estimated_tokens,
) -> RepositoryMap:
    """Return the map of a folder.

    Args:
        connection: The index.
        budget: Most tokens of the map.
        focus: Paths of files, or of folders with everything in them; the files they refer to matter more. They are
            left out of the map themselves: files in focus have been read.
        count: Token counter.
    """
    paths = {file: os.fsdecode(path) for file, path in connection.execute("select id, path from files")}
    chosen = {file for file, path in paths.items() if _in_focus(path, focus)}
    ranks = _file_ranks(load_graph(connection), paths, chosen)
    lines = _lines(connection, {file: rank for file, rank in ranks.items() if file not in chosen})
    shown = bisect_right(range(len(lines)), budget, key=lambda last: count(_drawn(lines[: last + 1], paths, ranks)))
    text = _drawn(lines[:shown], paths, ranks)
    return RepositoryMap(text, count(text) if text else 0, shown, len(lines))


def _in_focus(path: str, focus: Sequence[str]) -> bool:
    return any(path == wanted or path.startswith(wanted.rstrip("/") + "/") for wanted in focus)


def _file_ranks(graph: ReferenceGraph, paths: dict[int, str], chosen: set[int]) -> dict[int, float]:
    """Return each file's rank; files newer than the graph have the lowest."""
    if chosen:
        everywhere = (1.0 - _FOCUS_SHARE) / max(len(paths), 1)
        starts = {file: everywhere + (_FOCUS_SHARE / len(chosen) if file in chosen else 0.0) for file in paths}
        ranks = graph.values(graph.personalised(graph.nodes(starts)), paths)
    else:
        ranks = graph.values(graph.rank, paths)
    least = min(ranks.values(), default=1.0)
    return {file: ranks.get(file, least) * _worth(path) for file, path in paths.items()}


def _worth(path: str) -> float:
    return _ASIDE if is_test(path) or is_secondary(path) or is_prose(path) else 1.0


def _lines(connection: sqlite3.Connection, ranks: dict[int, float]) -> list[_Line]:
    used = dict(
        connection.execute(
            "select name, sum(sqrt(count)) from refs group by name"
            " having name in (select name from symbols group by name having count(distinct file) <= ?)",
            (MAX_DEFINERS,),
        )
    )
    rows = connection.execute(
        "select file, line, signature, symbols.name, names.name,"
        " length(qualified) - length(replace(qualified, '.', ''))"
        " from symbols join names on names.id = symbols.name where kind != 'variable'"
    ).fetchall()
    shares: dict[int, float] = {}
    for file, _, _, number, _, _ in rows:
        shares[file] = shares.get(file, 0.0) + used.get(number, 0.0) + _UNREFERRED
    lines = []
    for file, line, signature, number, name, depth in rows:
        if file in ranks:
            share = (used.get(number, 0.0) + _UNREFERRED) / shares[file]
            private = _PRIVATE if name.startswith("_") else 1.0
            value = ranks[file] * share * private * name_weight(name)
            text = f"{'  ' * min(depth, 4)}{signature[:_SIGNATURE_CHARS]}"
            lines.append(_Line(file, line, text, value))
    lines.sort(key=lambda entry: (-entry.value, entry.file, entry.line))
    return lines[:_MAX_DEFINITIONS]


def _drawn(lines: Sequence[_Line], paths: dict[int, str], ranks: dict[int, float]) -> str:
    by_file: dict[int, list[_Line]] = {}
    for line in lines:
        by_file.setdefault(line.file, []).append(line)
    drawn = []
    for file in sorted(by_file, key=lambda file: (-ranks[file], paths[file])):
        drawn.append(f"{escaped(paths[file])}\n")
        drawn += [f"{line.line:5} {line.text}\n" for line in sorted(by_file[file], key=lambda line: line.line)]
    return "".join(drawn)
