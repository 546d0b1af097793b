"""What `laguna-tui models` does: what there is, what is here, and getting, checking and removing it.

Each action takes the command line's arguments and returns the exit code. Only `download` opens a socket.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from laguna_tui.base.errors import UserError
from laguna_tui.base.network import Network, OfflineError
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import load_settings
from laguna_tui.base.text import sanitize
from laguna_tui.base.units import size
from laguna_tui.cli import models_output as report
from laguna_tui.cli.console import say
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.download import Download, DownloadOutcome, with_drafters
from laguna_tui.models.download_errors import DownloadError
from laguna_tui.models.entry import ModelEntry, ModelKind, companions
from laguna_tui.models.hub import Hub
from laguna_tui.models.store import Store, header_mismatches

OK, FAILED, INTERRUPTED = 0, 1, 130


def show_list(arguments: argparse.Namespace) -> int:
    """Every model of the catalogue, and what is here of it."""
    store = Store()
    found = [(entry, store.status(entry)) for entry in load_catalogue().values()]
    if arguments.json:
        rows = [report.record(entry, status) for entry, status in found]
        report.show_json({"folder": str(store.folder), "models": rows})
    else:
        say(report.table(found))
        say([f"downloaded models are in {store.folder}"])
    return OK


def show_info(arguments: argparse.Namespace) -> int:
    """Everything known about one model, and what its file says against it."""
    catalogue = load_catalogue()
    entry = _entry(arguments.names[0], catalogue)
    store = Store()
    status = store.status(entry)
    kinds = (ModelKind.DRAFTER, ModelKind.SCORER)
    friends = [(one, store.status(one)) for kind in kinds for one in companions(entry, catalogue, kind)]
    row = report.full_record(entry, status, friends, header_mismatches(entry, status.path) if status.path else ())
    if arguments.json:
        report.show_json(row)
    else:
        say([f"{entry.title}: {entry.summary}", *report.record_lines(row)])
    return OK


def download(arguments: argparse.Namespace) -> int:
    """Get models, with their drafters; Ctrl-C keeps what has arrived."""
    catalogue, store = load_catalogue(), Store()
    asked = [_entry(name, catalogue) for name in arguments.names]
    wanted = asked if arguments.only else with_drafters(asked, catalogue, store)
    view = report.DownloadView(quiet=arguments.quiet, machine=arguments.json)
    settings = load_settings().merged({"offline": arguments.offline})
    work = Download(wanted, view.show, store=store, hub=Hub(network=Network(offline=settings.offline)))
    view.begin(wanted)
    try:
        with _pausing(work):
            outcome = work.run()
    except (DownloadError, OfflineError) as error:
        view.clear()
        return _failed(error, arguments, [entry for entry in wanted if entry not in asked])
    view.clear()
    paths = {entry.name: str(store.path(entry) or "") for entry in wanted}
    if arguments.json:
        report.show_json_line({"event": "finished", "outcome": outcome, "models": paths})
    elif outcome is DownloadOutcome.DONE:
        say(f"{name}: {path}" for name, path in paths.items())
    else:
        say(["stopped; what has arrived is kept: run the same command again to resume"])
    return OK if outcome is DownloadOutcome.DONE else INTERRUPTED


def verify(arguments: argparse.Namespace) -> int:
    """Read what is here again: every byte against its hash, and the header against the catalogue."""
    catalogue, store = load_catalogue(), Store()
    names = arguments.names or [name for name, entry in catalogue.items() if store.path(entry) is not None]
    rows = [_verified(_entry(name, catalogue), store) for name in names]
    if arguments.json:
        report.show_json({"models": rows})
    else:
        say(line for row in rows for line in report.verdict(row))
    return OK if all(row["ok"] for row in rows) else FAILED


def remove(arguments: argparse.Namespace) -> int:
    """Delete what is here of a model."""
    entry = _entry(arguments.names[0], load_catalogue())
    freed = Store().remove(entry)
    if arguments.json:
        report.show_json({"name": entry.name, "freed": freed})
    else:
        say([f"{entry.name}: removed, {size(freed)} are free again"])
    return OK


def show_path(arguments: argparse.Namespace) -> int:
    """Where a model's file is, for scripts."""
    entry = _entry(arguments.names[0], load_catalogue())
    path = Store().path(entry)
    if arguments.json:
        report.show_json({"name": entry.name, "path": str(path) if path else None})
    elif path is not None:
        # As it is, not sanitized: a script opens it.
        sys.stdout.write(f"{path}\n")
    else:
        sys.stderr.write(sanitize(f"laguna-tui: {entry.name} is not on this machine; {report.how_to_get(entry)}\n"))
    return OK if path else FAILED


ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "list": show_list,
    "info": show_info,
    "download": download,
    "verify": verify,
    "remove": remove,
    "path": show_path,
}


def _failed(error: UserError, arguments: argparse.Namespace, besides: Sequence[ModelEntry]) -> int:
    """Tell why. besides: drafters that were part of it though nobody asked for them by name."""
    without = any(entry.source and str(error).startswith(entry.source.repository) for entry in besides)
    sentence = f"{error}{' (to leave the drafter out, add --only)' if without else ''}"
    if arguments.json:
        report.show_json_line({"event": "failed", "error": sentence})
    sys.stderr.write(f"laguna-tui: {sanitize(sentence)}\n")
    return FAILED


def _verified(entry: ModelEntry, store: Store) -> dict[str, object]:
    with ProgressLine(f"checking {entry.name}") as line:
        step = line.counter(store.status(entry).bytes_have)
        files = [{"path": str(one.path), "problem": one.problem} for one in store.verify(entry, step)]
    path = store.path(entry)
    if path is not None:
        files += [{"path": str(path), "problem": doubt} for doubt in header_mismatches(entry, path)]
    elif not any(file["problem"] for file in files):
        files.append({"path": "", "problem": f"is not here; {report.how_to_get(entry)}"})
    return {"name": entry.name, "ok": not any(file["problem"] for file in files), "files": files}


def _entry(name: str, catalogue: Mapping[str, ModelEntry]) -> ModelEntry:
    if name not in catalogue:
        raise UserError(f"{name}: no model of that name; there are: {', '.join(catalogue)}")
    return catalogue[name]


@contextmanager
def _pausing(work: Download) -> Iterator[None]:
    """While it runs, Ctrl-C and TERM pause the download; a second one ends the program at once."""

    def pause(number: int, _: object) -> None:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        work.pause()

    before = {number: signal.signal(number, pause) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
