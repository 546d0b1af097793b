"""`laguna-tui index`, `search` and `map`: arguments, progress and output; `repo/` does the work."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laguna_tui.base.errors import UserError
from laguna_tui.base.named_file import read_named_text
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import size
from laguna_tui.cli.arguments import project_folder, working_folder

if TYPE_CHECKING:
    from laguna_tui.repo.search.index import Index
    from laguna_tui.repo.search.index_state import IndexUpdate


_LIMIT = 20
_TOKENS = 2048
_MIN_TOKENS = 64
_MAX_LIMIT = 1000
_SIGNATURE_CHARS = 120
_ELSEWHERE = "use --folder"
# Of an issue and what is pasted into it; a longer one is a log.
_ISSUE_CHARS = 1024 * 1024
_ISSUE_BYTES = 64 * 1024 * 1024
COMMANDS = ("index", "search", "map")
NOTHING_FOUND = 1
"""Exit code of a search without results, as of grep."""


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `index`, `search` and `map` to the command line."""
    index = _command(commands, "index", _index, "index the folder's code", "Indexes files, definitions and words.")
    index.add_argument("--rebuild", action="store_true", help="delete the index and build it again")
    search = _command(
        commands,
        "search",
        _search,
        "find the code that a few words describe",
        "Ranks the folder's functions, types and texts by the words. The index is brought up to date first.",
        epilog="exit codes: 0 found, 1 nothing found, 2 wrong usage, 130 interrupted",
    )
    search.add_argument("words", nargs="*", help="what to search for: words, or a name")
    search.add_argument("--issue", type=Path, metavar="FILE", help="find what an issue's text is about (- for stdin)")
    search.add_argument("--symbol", action="store_true", help="find definitions by name, or by some of its letters")
    search.add_argument("--uses", action="store_true", help="find who calls or uses a name; comments do not count")
    search.add_argument("--limit", type=int, default=_LIMIT, metavar="N", help=f"limit of results (default: {_LIMIT})")
    search.add_argument("--why", action="store_true", help="show the factors of each result's score")
    tree = _command(commands, "map", _map, "show the most important definitions", "Within a budget of tokens.")
    tree.add_argument("--tokens", type=int, default=_TOKENS, metavar="N", help=f"the budget (default: {_TOKENS})")
    tree.add_argument("--focus", nargs="+", default=[], metavar="PATH", help="files or folders that the ranking is for")


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    description: str,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=summary, description=f"{summary.capitalize()}. {description}", epilog=epilog
    )
    # A sub-command's default would overwrite an option before the command's name.
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="folder of the code (default: the current one)",
        default=argparse.SUPPRESS,
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)
    return parser


def _index(arguments: argparse.Namespace) -> int:
    with _opened(arguments, wait=True, rebuild=arguments.rebuild) as (index, update):
        assert update is not None, "waiting for the lock always gives an update"
        counts = _counts(index)
        gaps = _gaps(index, update)
        if arguments.json:
            names = ("files", "read", "dropped", "refused", "complete", "full", "disk_full", "left_out", "seconds")
            _print_json({**{name: getattr(update, name) for name in names}, **counts, "notes": index.notes + gaps})
            return 0
        words = f"{update.files:,} files, {counts['symbols']:,} definitions, {counts['units']:,} units"
        where = f"{size(counts['bytes'])} in {index.path}" if index.path else "in memory"
        _print(f"{words}; {update.read:,} files read, {update.dropped:,} removed, in {update.seconds:.1f} s; {where}")
        for gap in gaps:
            _print_note(gap)
    return 0


def _check_search(arguments: argparse.Namespace) -> None:
    if not 1 <= arguments.limit <= _MAX_LIMIT:
        raise UserError(f"--limit {arguments.limit}: give a number from 1 to {_MAX_LIMIT}")
    if arguments.issue and (arguments.words or arguments.symbol or arguments.uses):
        raise UserError("--issue says what to search for; leave out the words, --symbol and --uses")
    if arguments.symbol and arguments.uses:
        raise UserError("--symbol finds what defines a name and --uses what uses it; give one of them")
    if not arguments.issue and not arguments.words:
        raise UserError("nothing to search for; give some words, or a file with --issue")


def _search(arguments: argparse.Namespace) -> int:
    _check_search(arguments)
    text = _issue_text(arguments.issue) if arguments.issue else " ".join(arguments.words)
    with _opened(arguments) as (index, update):
        if arguments.symbol:
            rows = _symbols(index, text, arguments.limit)
        elif arguments.uses:
            rows = _uses(index, text, arguments.limit)
        else:
            rows = _ranked(index, text, arguments.limit, issue=bool(arguments.issue))
        gaps = [] if rows else _gaps(index, update)
        if arguments.json:
            _print_json({"query": text, "results": rows, "notes": index.notes + gaps})
        else:
            for row in rows:
                _print_row(row, why=arguments.why)
    if not rows and not arguments.json:
        _print_note("; ".join([f"nothing found for {arguments.issue or text}", *gaps]))
    return 0 if rows else NOTHING_FOUND


def _map(arguments: argparse.Namespace) -> int:
    if arguments.tokens < _MIN_TOKENS:
        raise UserError(f"--tokens {arguments.tokens}: the least for a map is {_MIN_TOKENS}")
    with _opened(arguments) as (index, update):
        from laguna_tui.repo.search.repository_map import repository_map

        focus = [_inside(index.root, path) for path in arguments.focus]
        found = repository_map(index.connection, index.graph(), arguments.tokens, focus)
        gaps = [] if found.text else _gaps(index, update)
        if arguments.json:
            _print_json({**found._asdict(), "budget": arguments.tokens, "notes": index.notes + gaps})
        elif found.text:
            for line in found.text.splitlines():
                _print(line)
        else:
            _print_note("; ".join([f"no definitions found{' outside --focus' if focus else ''}", *gaps]))
    return 0


def _issue_text(path: Path) -> str:
    """An issue's text, of a file or of stdin."""
    if str(path) == "-":
        return sys.stdin.read(_ISSUE_CHARS)
    text = read_named_text("--issue", path, _ISSUE_BYTES, "give a file with its text", errors="replace")
    return text[:_ISSUE_CHARS]


def _ranked(index: "Index", text: str, limit: int, *, issue: bool) -> list[dict[str, object]]:
    from laguna_tui.base.paths import escaped
    from laguna_tui.repo.files.root_folder import RootFolder
    from laguna_tui.repo.search.ranking import DEPTH, Found, by_file, search, shown_line
    from laguna_tui.repo.search.retrieval import parse_query

    def row(found: Found) -> dict[str, object]:
        line, code = shown_line(found.unit, question, tree)
        return {
            "symbol": found.unit.title,
            "kind": found.unit.kind or "text",
            "path": escaped(found.unit.path),
            "line": line,
            "end": found.unit.end,
            "signature": code,
            "score": round(found.score, 4),
            "factors": {name: round(value, 4) for name, value in found.factors.items()},
        }

    if issue:
        from laguna_tui.repo.search.issue_search import search_issue

        results = search_issue(index, text, max(DEPTH, limit))
    else:
        results = search(index, text, max(DEPTH, limit))
    question = parse_query(text)
    with RootFolder(index.root) as tree:
        return [{**row(result.best), "also": list(map(row, result.also))} for result in by_file(results, limit)]


def _symbols(index: "Index", text: str, limit: int) -> list[dict[str, object]]:
    from laguna_tui.base.paths import escaped
    from laguna_tui.repo.search.symbol_search import find_symbols

    return [
        {
            "symbol": found.qualified,
            "kind": found.kind,
            "path": escaped(found.path),
            "line": found.line,
            "end": found.end,
            "signature": found.signature,
        }
        for found in find_symbols(index.connection, text, limit)
    ]


def _uses(index: "Index", text: str, limit: int) -> list[dict[str, object]]:
    from laguna_tui.base.paths import escaped
    from laguna_tui.repo.search.symbol_uses import find_uses

    return [
        {"symbol": use.symbol, "kind": "use", "path": escaped(use.path), "line": use.line, "signature": use.code}
        for use in find_uses(index.connection, index.root, text, limit)
    ]


def _print_row(row: dict[str, Any], *, why: bool) -> None:
    """A result, why it is there, and what of its file matches too."""
    _print(_as_line(row))
    if why and "factors" in row:
        _print("    " + " × ".join(f"{name} {value:.2f}" for name, value in row["factors"].items()))
    for also in row.get("also", ()):
        _print(f"    also {also['symbol'] or '-'}:{also['line']}: {also['signature'][:_SIGNATURE_CHARS]}".rstrip(": "))


def _as_line(row: dict[str, object]) -> str:
    return f"{row['symbol'] or '-'} {row['path']}:{row['line']}: {str(row['signature'])[:_SIGNATURE_CHARS]}".rstrip(
        ": "
    )


@contextmanager
def _opened(
    arguments: argparse.Namespace, *, wait: bool = False, rebuild: bool = False
) -> "Iterator[tuple[Index, IndexUpdate | None]]":
    """The folder's index, up to date unless another process is writing it; its notes go to stderr."""
    # Before numpy: Python 3.13 cannot import it where the current folder is gone.
    folder = project_folder(arguments.folder)

    import sqlite3

    from laguna_tui.repo.search.index import Index
    from laguna_tui.repo.search.index_database import explained, index_path

    try:
        with Index.open(folder) as index:
            if rebuild:
                index.rebuild()
            with ProgressLine("reading the folder's code") as line:
                update = index.refresh(line.show_share, wait=wait)
            for note in [*index.notes, *(update.notes if update else ())]:
                _print_note(note)
            yield index, update
    except sqlite3.Error as error:
        raise UserError(sanitize_line(explained(error, index_path(folder)))) from error


def _gaps(index: "Index", update: "IndexUpdate | None") -> list[str]:
    """Return the sentence that says what no search covers, if anything."""
    from laguna_tui.repo.files.unsearched import Unsearched, unindexed

    sentence = unindexed(index.connection, update.unsearched if update else Unsearched()).sentence(_ELSEWHERE)
    return [sentence] if sentence else []


def _counts(index: "Index") -> dict[str, int]:
    counts = {
        name: int(index.connection.execute(f"select count(*) from {name}").fetchone()[0])
        for name in ("symbols", "units")
    }
    return {**counts, "bytes": index.path.stat().st_size if index.path else 0}


def _inside(root: Path, path: str) -> str:
    """A path of the command line, relative to the folder."""
    for place in (working_folder() / path, root / path):
        if place.exists() and place.resolve().is_relative_to(root):
            inside = place.resolve().relative_to(root).as_posix()
            return "" if inside == "." else inside
    raise UserError(f"--focus {sanitize_line(path)}: no such file or folder in {root}; give a path inside it")


def _print_json(value: dict[str, object]) -> None:
    json.dump(value, sys.stdout)
    sys.stdout.write("\n")


def _print_note(sentence: str) -> None:
    sys.stderr.write(f"laguna-tui: {sanitize_line(sentence)}\n")


def _print(text: str) -> None:
    sys.stdout.write(sanitize_line(text) + "\n")
