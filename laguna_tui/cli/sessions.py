"""`laguna-tui sessions`: lists, searches, renames, copies, deletes and exports kept sessions."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.base.units import plural, size
from laguna_tui.cli.arguments import add_commands, folder_of
from laguna_tui.cli.console import check_target, say

if TYPE_CHECKING:
    from laguna_tui.base.settings import Settings
    from laguna_tui.store.session_store import SessionStore
    from laguna_tui.store.session_summary import SessionSummary

_EPILOG = """\
SESSION is an ID, the beginning of one, a title or a part of one. To resume a session: laguna-tui --resume SESSION
"""
_FORMS = ("markdown", "html", "json")
_NONE = "no saved sessions yet; your first message starts one"
_NONE_HERE = "no sessions of this folder; {count} of other folders: laguna-tui sessions list --all"
_NOT_FOUND = "nothing found; to search all folders: laguna-tui sessions search --all WORDS"
_YES = "no terminal to confirm in; to delete without confirmation: --yes"


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `sessions` and what can be done with them to the command line."""
    parser = commands.add_parser(
        "sessions",
        help="list, search, rename, copy, delete and export saved sessions",
        description="Sessions saved on this machine, for the current folder or --folder.",
    )
    actions = add_commands(parser, "what to do", "sessions_command")
    listing = _add(actions, "list", "list the sessions of this folder, newest first", _list)
    searching = _add(actions, "search", "search titles and messages", _search)
    searching.add_argument(
        "words",
        nargs="+",
        metavar="WORDS",
        help="all must occur, also within words; if nothing matches, misspelt words",
    )
    for each in (listing, searching):
        each.add_argument("--all", action="store_true", help="of all folders")
    renaming = _add(actions, "rename", "rename a session", _rename, session=True)
    renaming.add_argument("title", help="the new title; if empty, the beginning of the first message")
    forking = _add(actions, "fork", "copy a session, also one that is open elsewhere", _fork, session=True)
    forking.add_argument("--title", default="", help='the copy\'s title (default: the same with "(copy)" appended)')
    deleting = _add(actions, "delete", "delete sessions for good", _delete)
    deleting.add_argument("sessions", nargs="+", metavar="SESSION", help="an ID, or a title")
    deleting.add_argument("--yes", action="store_true", help="do not ask")
    _add_export(actions)
    _add_prune(actions)


def _add(actions: Any, name: str, summary: str, run: Any, *, session: bool = False) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if session:
        parser.add_argument("session", metavar="SESSION", help="an ID, or a title")
    # Without it, the option before the command's name applies.
    folder = "folder of the code (default: the current one)"
    parser.add_argument("--folder", type=Path, metavar="DIR", help=folder, default=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="machine-readable, on stdout")
    parser.set_defaults(run=run)
    return parser


def _add_export(actions: Any) -> None:
    parser = _add(
        actions, "export", "write a session as Markdown, HTML or JSON, without secrets", _export, session=True
    )
    parser.add_argument("--format", choices=_FORMS, help="default: what --output ends in, else markdown")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the file to write (default: stdout)")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _add_prune(actions: Any) -> None:
    summary = "delete the sessions beyond the age or disk space that the settings allow"
    parser = _add(actions, "prune", summary, _prune)
    parser.add_argument("--dry-run", action="store_true", help="only list them")
    flags = {"--keep-sessions": (int, "DAYS", "as the setting"), "--sessions-limit": (float, "GB", "as the setting")}
    for flag, (kind, metavar, text) in flags.items():
        parser.add_argument(flag, type=kind, metavar=metavar, help=text, default=argparse.SUPPRESS)


def _list(arguments: argparse.Namespace) -> int:
    store = _store()
    found = store.newest(_about(arguments))
    if arguments.json:
        _show_json([_record(each) for each in found])
    elif found:
        say(_table(found, with_folder=arguments.all))
    else:
        others = len(store.newest())
        say([_NONE_HERE.format(count=others) if others else _NONE])
    return 0


def _search(arguments: argparse.Namespace) -> int:
    found = _store().search(" ".join(arguments.words), _about(arguments))
    if arguments.json:
        _show_json([_record(each) for each in found])
    elif found:
        say(_results(found))
    else:
        say([_NOT_FOUND])
    return 0 if found else 1


def _rename(arguments: argparse.Namespace) -> int:
    store = _store()
    found = _found(store, arguments.session, arguments)
    store.rename(found.id, arguments.title)
    renamed = store.find(found.id)
    _tell(arguments, _record(renamed), f"{renamed.id} is called '{renamed.title}' now")
    return 0


def _fork(arguments: argparse.Namespace) -> int:
    store = _store()
    found = _found(store, arguments.session, arguments)
    copy = store.find(store.fork(found.id, arguments.title))
    _tell(arguments, _record(copy), f"'{copy.title}' is {copy.id}; to open it: laguna-tui --resume {copy.id}")
    return 0


def _delete(arguments: argparse.Namespace) -> int:
    store = _store()
    found = {each.id: each for each in (_found(store, name, arguments) for name in arguments.sessions)}
    if not arguments.yes and not _is_confirmed(list(found.values())):
        return 1
    freed = store.delete(found)
    count = f"{len(found)} {plural(len(found), 'session')}"
    _tell(arguments, {"deleted": list(found), "bytes": freed}, f"{count} deleted, {size(freed)} freed")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from laguna_engine.files import write_output
    from laguna_tui.store.session_export import ExportForm, exported
    from laguna_tui.store.session_transcript import read_transcript

    store, output = _store(), arguments.output
    found = _found(store, arguments.session, arguments)
    endings = {form.suffix: form for form in ExportForm}
    chosen = arguments.format or ("json" if arguments.json else None)
    form = ExportForm(chosen) if chosen else endings.get(output.suffix if output else "", ExportForm.MARKDOWN)
    if output is not None:
        check_target(output, force=arguments.force, streams=True)
    text = exported(read_transcript(store.folder / found.id), form)
    if output is None:
        sys.stdout.write(text)
        return 0
    try:
        write_output(output, text, 0o600)
    except OSError as error:
        raise UserError(f"{output}: cannot be written ({error.strerror}); give another name") from error
    say([sanitize_line(f"'{found.title}' is written to {output}")])
    return 0


def _prune(arguments: argparse.Namespace) -> int:
    from laguna_tui.store.session_retention import Retention, prune

    store, settings = _store(), _settings(arguments)
    retention = Retention.of(settings)
    if arguments.dry_run:
        old, beyond = retention.chosen(store.newest())
        say(_table([*old, *beyond], with_folder=True) if old or beyond else [_nothing_to_prune(store, settings)])
        return 0
    said = prune(store, retention, is_asked=True)
    if arguments.json:
        _show_json(said)
    else:
        say(map(sanitize_line, said or [_nothing_to_prune(store, settings)]))
    return 0


def _nothing_to_prune(store: "SessionStore", settings: "Settings") -> str:
    sessions = store.newest()
    total = size(sum(each.size for each in sessions))
    days = f"keep_sessions = {settings.keep_sessions} days" if settings.keep_sessions else "keep_sessions is off"
    limit = f"sessions_limit = {settings.sessions_limit:g} GB" if settings.sessions_limit else "sessions_limit is off"
    return f"nothing to delete: {len(sessions)} {plural(len(sessions), 'session')}, {total}; {days}, {limit}"


def _store() -> "SessionStore":
    from laguna_tui.base.paths import cache_dir, state_dir
    from laguna_tui.store.session_store import SessionStore

    return SessionStore(state_dir(), cache_dir())


def _settings(arguments: argparse.Namespace) -> "Settings":
    from laguna_tui.base.settings import load_settings
    from laguna_tui.cli.session_options import chosen_settings

    return load_settings().merged(chosen_settings(arguments))


def _about(arguments: argparse.Namespace) -> Path | None:
    return None if arguments.all else folder_of(arguments.folder)


def _found(store: "SessionStore", name: str, arguments: argparse.Namespace) -> "SessionSummary":
    """The session that is meant; one about the folder comes first.

    Raises:
        UserError: There is none, or more than one.
    """
    return store.find(name, folder_of(arguments.folder))


def _is_confirmed(sessions: Sequence["SessionSummary"]) -> bool:
    """Whether the user agrees that these are deleted. Raises UserError where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(_YES)
    for line in _table(sessions, with_folder=True):
        sys.stderr.write(sanitize(line) + "\n")
    sys.stderr.write("Delete for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _tell(arguments: argparse.Namespace, value: object, sentence: str) -> None:
    if arguments.json:
        _show_json(value)
    else:
        say([sanitize_line(sentence)])


def _show_json(value: object) -> None:
    from laguna_tui.cli.models_output import show_json

    show_json(value)


def _record(session: "SessionSummary") -> dict[str, Any]:
    """What a machine reads of a session."""
    record = asdict(session)
    del record["folder"]
    return {**record, "about": str(session.folder)}


def _table(sessions: Sequence["SessionSummary"], *, with_folder: bool) -> Iterator[str]:
    """Sessions as lines, in columns."""
    rows = [("ID", "LAST", "TURNS", "SIZE", "KV CACHE", "STATE", "TITLE", "FOLDER"), *map(_cells, sessions)]
    columns = len(rows[0]) - (not with_folder)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row[:columns], widths, strict=False))
        yield "  ".join(cells).rstrip()


def _cells(session: "SessionSummary") -> tuple[str, ...]:
    last = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.updated))
    state = "open" if session.locked else session.ended or "closed"
    sizes = (size(session.size), size(session.snapshots) if session.snapshots else "-")
    cells = (session.id, last, str(session.turns), *sizes, state, session.title, str(session.folder))
    return tuple(map(sanitize_line, cells))


def _results(sessions: Sequence["SessionSummary"]) -> Iterator[str]:
    for each in sessions:
        title, snippet = sanitize_line(each.title), sanitize_line(each.snippet)
        yield f"{sanitize_line(each.id)}  {title}"
        if snippet:
            yield f"    {snippet}"
