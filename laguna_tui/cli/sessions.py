"""`laguna-tui sessions`: lists, searches, renames, copies, deletes and exports saved sessions."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from laguna_tui.base.settings import Settings, load_settings
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import plural, size
from laguna_tui.cli.arguments import (
    add_commands,
    add_folder,
    add_force,
    add_inherited,
    add_json,
    add_yes,
    folder_of,
)
from laguna_tui.cli.console import check_target, confirmed, print_json, say, table, write_file
from laguna_tui.cli.session_options import chosen_settings, saved_sessions
from laguna_tui.store.session_export import ExportForm, exported
from laguna_tui.store.session_retention import Retention, prune
from laguna_tui.store.session_store import SessionStore
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.store.session_transcript import read_transcript

_EPILOG = (
    "SESSION is an ID, the beginning of one, a title or a part of one. To resume a session: laguna-tui --resume SESSION"
)
_NONE = "there are no saved sessions yet; your first message starts one"
_NONE_HERE = "there are no sessions of this folder; for the {count} of other folders: laguna-tui sessions list --all"
_NOT_FOUND = "nothing found; to search all folders: laguna-tui sessions search --all WORDS"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions of `sessions`."""
    parser.description = "Sessions saved on this machine, of the current folder or --folder."
    actions = add_commands(parser, "what to do", "sessions_command")
    listing = _add(actions, "list", _list, "list the sessions of this folder, newest first")
    searching = _add(actions, "search", _search, "search titles and messages")
    searching.add_argument(
        "words",
        nargs="+",
        metavar="WORDS",
        help="all must occur, perhaps as part of a word; if nothing matches, similar words are tried",
    )
    for each in (listing, searching):
        each.add_argument("--all", action="store_true", help="include the sessions of all folders")
    renaming = _add(actions, "rename", _rename, "rename a session", session=True)
    renaming.add_argument("title", help="the new title; if empty, the beginning of the first message")
    forking = _add(actions, "fork", _fork, "copy a session, even if it is open elsewhere", session=True)
    forking.add_argument("--title", default="", help='the copy\'s title (default: the same, with "(copy)" appended)')
    deleting = _add(actions, "delete", _delete, "delete sessions permanently")
    deleting.add_argument("sessions", nargs="+", metavar="SESSION", help="an ID, or a title")
    add_yes(deleting)
    exporting = _add(
        actions, "export", _export, "write a session as Markdown, HTML or JSON, without secrets", session=True
    )
    forms = [form.value for form in ExportForm]
    exporting.add_argument("--format", choices=forms, help="default: by the ending of --output, else markdown")
    exporting.add_argument("--output", type=Path, metavar="FILE", help="the file to write (default: stdout)")
    add_force(exporting, "FILE")
    summary = "delete the sessions beyond the age or disk space that the settings allow"
    pruning = _add(actions, "prune", _prune, summary)
    pruning.add_argument("--dry-run", action="store_true", help="only list them")
    add_inherited(pruning, "--keep-sessions", type=int, metavar="DAYS", help="as the setting")
    add_inherited(pruning, "--sessions-limit", type=float, metavar="GB", help="as the setting")


def _add(
    actions: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    *,
    session: bool = False,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=_EPILOG
    )
    if session:
        parser.add_argument("session", metavar="SESSION", help="an ID, or a title")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(run=run)
    return parser


def _list(arguments: argparse.Namespace) -> int:
    store = saved_sessions()
    found = store.newest(_chosen_folder(arguments))
    if arguments.json:
        print_json([_record(each) for each in found], indent=2)
    elif found:
        say(_table(found, with_folder=arguments.all))
    else:
        others = len(store.newest())
        say([_NONE_HERE.format(count=others) if others else _NONE])
    return 0


def _search(arguments: argparse.Namespace) -> int:
    found = saved_sessions().search(" ".join(arguments.words), _chosen_folder(arguments))
    if arguments.json:
        print_json([_record(each) for each in found], indent=2)
    elif found:
        say(_results(found))
    else:
        say([_NOT_FOUND])
    return 0 if found else 1


def _rename(arguments: argparse.Namespace) -> int:
    store = saved_sessions()
    found = _named(store, arguments.session, arguments)
    store.rename(found.id, arguments.title)
    renamed = store.find(found.id)
    _report(arguments, _record(renamed), f"{renamed.id} is now called '{renamed.title}'")
    return 0


def _fork(arguments: argparse.Namespace) -> int:
    store = saved_sessions()
    found = _named(store, arguments.session, arguments)
    copy = store.find(store.fork(found.id, arguments.title))
    _report(arguments, _record(copy), f"'{copy.title}' is {copy.id}; to open it: laguna-tui --resume {copy.id}")
    return 0


def _delete(arguments: argparse.Namespace) -> int:
    store = saved_sessions()
    found = {each.id: each for each in (_named(store, name, arguments) for name in arguments.sessions)}
    if not arguments.yes:
        shown = "\n".join(_table(list(found.values()), with_folder=True))
        if not confirmed(f"{shown}\nDelete permanently?"):
            return 1
    freed = store.delete(found)
    count = f"{len(found)} {plural(len(found), 'session')}"
    _report(arguments, {"deleted": list(found), "bytes": freed}, f"{count} deleted, {size(freed)} freed")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    store = saved_sessions()
    output = None if arguments.output is None else arguments.output.expanduser()
    found = _named(store, arguments.session, arguments)
    endings = {form.suffix: form for form in ExportForm}
    chosen = arguments.format or ("json" if arguments.json else None)
    form = ExportForm(chosen) if chosen else endings.get(output.suffix if output else "", ExportForm.MARKDOWN)
    if output is not None:
        check_target(output, force=arguments.force, streams=True)
    text = exported(read_transcript(store.folder / found.id), form)
    if output is None:
        sys.stdout.write(text)
        return 0
    write_file("--output", output, text, 0o600)
    say([sanitize_line(f"'{found.title}' was written to {output}")])
    return 0


def _prune(arguments: argparse.Namespace) -> int:
    store, settings = saved_sessions(), load_settings().merged(chosen_settings(arguments))
    retention = Retention.of(settings)
    if arguments.dry_run:
        old, beyond = retention.chosen(store.newest())
        say(_table([*old, *beyond], with_folder=True) if old or beyond else [_nothing_to_prune(store, settings)])
        return 0
    deleted = prune(store, retention, is_requested=True)
    if arguments.json:
        print_json(deleted, indent=2)
    else:
        say(map(sanitize_line, deleted or [_nothing_to_prune(store, settings)]))
    return 0


def _nothing_to_prune(store: SessionStore, settings: Settings) -> str:
    sessions = store.newest()
    total = size(sum(each.size for each in sessions))
    days = f"keep_sessions = {settings.keep_sessions} days" if settings.keep_sessions else "keep_sessions is off"
    limit = f"sessions_limit = {settings.sessions_limit:g} GB" if settings.sessions_limit else "sessions_limit is off"
    return f"nothing to delete: {len(sessions)} {plural(len(sessions), 'session')}, {total}; {days}, {limit}"


def _chosen_folder(arguments: argparse.Namespace) -> Path | None:
    return None if arguments.all else folder_of(arguments.folder)


def _named(store: SessionStore, name: str, arguments: argparse.Namespace) -> SessionSummary:
    """Return the session of this name; one of the folder comes first.

    Raises:
        UserError: There is none, or more than one.
    """
    return store.find(name, folder_of(arguments.folder))


def _report(arguments: argparse.Namespace, value: object, sentence: str) -> None:
    if arguments.json:
        print_json(value, indent=2)
    else:
        say([sanitize_line(sentence)])


def _record(session: SessionSummary) -> dict[str, Any]:
    """Return a session as JSON has it."""
    record = asdict(session)
    del record["folder"]
    return {**record, "about": str(session.folder)}


def _table(sessions: Sequence[SessionSummary], *, with_folder: bool) -> Iterator[str]:
    """Yield sessions as lines, in columns."""
    rows = [("ID", "LAST", "TURNS", "SIZE", "KV CACHE", "STATE", "TITLE", "FOLDER"), *map(_cells, sessions)]
    return table(rows if with_folder else [row[:-1] for row in rows])


def _cells(session: SessionSummary) -> tuple[str, ...]:
    last = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.updated))
    state = "open" if session.locked else session.ended or "closed"
    sizes = (size(session.size), size(session.snapshots) if session.snapshots else "-")
    cells = (session.id, last, str(session.turns), *sizes, state, session.title, str(session.folder))
    return tuple(map(sanitize_line, cells))


def _results(sessions: Sequence[SessionSummary]) -> Iterator[str]:
    for each in sessions:
        title, snippet = sanitize_line(each.title), sanitize_line(each.snippet)
        yield f"{sanitize_line(each.id)}  {title}"
        if snippet:
            yield f"    {snippet}"
