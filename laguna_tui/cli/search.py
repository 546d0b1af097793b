"""`laguna-tui search`: arguments and output; `repo/search` does the work."""

import argparse
import sys
from pathlib import Path
from typing import Any

from laguna_tui.base.errors import UserError
from laguna_tui.base.named_file import read_named_text
from laguna_tui.base.paths import escaped
from laguna_tui.cli.arguments import add_folder, add_json, whole_number
from laguna_tui.cli.console import print_json, warn
from laguna_tui.cli.index import index_gaps, opened_index, print_line
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.ranking import DEPTH, RankedUnit, by_file, search, shown_line
from laguna_tui.repo.search.retrieval import parse_query
from laguna_tui.repo.search.symbol_search import find_symbols

_LIMIT = 20
_MAX_LIMIT = 1000
_SIGNATURE_CHARS = 120
_ISSUE_CHARS = 1024 * 1024
"""Of an issue with what is pasted into it; a longer text is a log."""
_ISSUE_BYTES = 64 * 1024 * 1024
NOTHING_FOUND = 1
"""Exit code of a search without results, as of grep."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `search`."""
    parser.description = (
        "Rank the functions, types and texts in a folder by a few words. The index is brought up to date first."
    )
    parser.epilog = "exit codes: 0 found, 1 nothing found, 2 wrong usage, 130 interrupted"
    add_folder(parser)
    add_json(parser)
    parser.add_argument("words", nargs="*", help="what to search for: words, or a name")
    parser.add_argument("--issue", type=Path, metavar="FILE", help="find what an issue's text is about (- for stdin)")
    parser.add_argument("--symbol", action="store_true", help="find definitions by name, or by some of its letters")
    parser.add_argument("--uses", action="store_true", help="find calls and uses of a name; comments do not count")
    parser.add_argument(
        "--limit",
        type=whole_number(1, _MAX_LIMIT),
        default=_LIMIT,
        metavar="N",
        help=f"maximum number of results (default: {_LIMIT})",
    )
    parser.add_argument("--why", action="store_true", help="show the factors of each result's score")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Search and print the results; returns the exit code."""
    _check(arguments)
    text = _issue_text(arguments.issue) if arguments.issue else " ".join(arguments.words)
    with opened_index(arguments.folder) as (index, update):
        if arguments.symbol:
            rows = _symbols(index, text, arguments.limit)
        elif arguments.uses:
            rows = _uses(index, text, arguments.limit)
        else:
            rows = _ranked(index, text, arguments.limit, issue=bool(arguments.issue))
        gaps = [] if rows else index_gaps(index, update)
        if arguments.json:
            print_json({"query": text, "results": rows, "notes": [*index.notes, *gaps]})
        else:
            for row in rows:
                _print_row(row, why=arguments.why)
    if not rows and not arguments.json:
        warn("; ".join([f"nothing found for {arguments.issue or text}", *gaps]))
    return 0 if rows else NOTHING_FOUND


def _check(arguments: argparse.Namespace) -> None:
    if arguments.issue and (arguments.words or arguments.symbol or arguments.uses):
        raise UserError("--issue is what to search for; leave out the words, --symbol and --uses")
    if arguments.symbol and arguments.uses:
        raise UserError("--symbol finds the definitions of a name and --uses its uses; give one of them")
    if not arguments.issue and not arguments.words:
        raise UserError("there is nothing to search for; give some words, or a file with --issue")


def _issue_text(path: Path) -> str:
    """Return the text of an issue, from a file or stdin."""
    if str(path) == "-":
        return sys.stdin.read(_ISSUE_CHARS)
    text = read_named_text("--issue", path, _ISSUE_BYTES, "give a file with its text", errors="replace")
    return text[:_ISSUE_CHARS]


def _ranked(index: Index, text: str, limit: int, *, issue: bool) -> list[dict[str, object]]:
    def row(found: RankedUnit) -> dict[str, object]:
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
        # Not imported at the top: a search by words is over sooner.
        from laguna_tui.repo.search.issue_search import search_issue

        results = search_issue(index.connection, text, max(DEPTH, limit))
    else:
        results = search(index.connection, text, max(DEPTH, limit))
    question = parse_query(text)
    with RootFolder(index.root) as tree:
        return [{**row(result.best), "also": list(map(row, result.also))} for result in by_file(results, limit)]


def _symbols(index: Index, text: str, limit: int) -> list[dict[str, object]]:
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


def _uses(index: Index, text: str, limit: int) -> list[dict[str, object]]:
    # Not imported at the top: a search by words needs no parser.
    from laguna_tui.repo.search.symbol_uses import find_uses

    return [
        {"symbol": use.symbol, "kind": "use", "path": escaped(use.path), "line": use.line, "signature": use.code}
        for use in find_uses(index.connection, index.root, text, limit)
    ]


def _print_row(row: dict[str, Any], *, why: bool) -> None:
    """Print a result, the factors of its score, and what else in its file matches."""
    print_line(_with_code(f"{row['symbol'] or '-'} {row['path']}:{row['line']}", row))
    if why and "factors" in row:
        print_line("    " + " × ".join(f"{name} {value:.2f}" for name, value in row["factors"].items()))
    for also in row.get("also", ()):
        print_line(_with_code(f"    also {also['symbol'] or '-'}:{also['line']}", also))


def _with_code(place: str, row: dict[str, Any]) -> str:
    return f"{place}: {row['signature'][:_SIGNATURE_CHARS]}".rstrip(": ")
