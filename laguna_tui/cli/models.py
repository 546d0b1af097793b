"""`laguna-tui models`: lists, downloads, verifies and removes models. Only `download` opens a socket."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from laguna_engine.fit.decode_speed import known_rates
from laguna_engine.fit.devices import read_machine
from laguna_engine.native.verdicts import verdicts
from laguna_tui.base.errors import UserError
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.network import Network, OfflineError
from laguna_tui.base.paths import state_dir
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import load_settings
from laguna_tui.base.units import size
from laguna_tui.cli import convert, models_output
from laguna_tui.cli.arguments import add_commands, add_json, add_offline, add_quiet
from laguna_tui.cli.console import print_json, say, table, warn
from laguna_tui.models.catalogue import load_catalogue, named_entry
from laguna_tui.models.download import Download, DownloadOutcome, with_drafters
from laguna_tui.models.download_errors import DownloadError
from laguna_tui.models.entry import ModelEntry, ModelKind, companions
from laguna_tui.models.fit import model_verdict
from laguna_tui.models.hub import Hub
from laguna_tui.models.store import Store, header_mismatches
from laguna_tui.session.model_list import list_others
from laguna_tui.session.model_options import VERDICTS

_EPILOG = "exit codes: 0 done, 1 failed or not downloaded, 2 wrong usage, 130 interrupted (run it again to resume)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions of `models`."""
    parser.description = "The models that laguna-tui knows, and those on this machine."
    actions = add_commands(parser, "what to do", "action")
    _add(actions, "list", _list, "list all models, and which of them are downloaded")
    _add(actions, "info", _info, "show everything known about a model", names=1)
    download = _add(actions, "download", _download, "download models; resumes where it stopped", names="+")
    download.add_argument("--only", action="store_true", help="without the drafter that goes with a model")
    add_offline(download, "open no connections; use only what is on this machine")
    add_quiet(download)
    _add(actions, "verify", _verify, "read downloaded models again and compare their hashes (default: all)", names="*")
    _add(actions, "remove", _remove, "delete a downloaded model", names=1)
    others = _add(actions, "others", _others, "list models that other programs serve or have downloaded here")
    add_offline(others, "do not ask the ports of this machine; look for downloaded files only")
    _add(actions, "path", _path, "print the path of a model's file", names=1)
    convert.add_parser(actions)


def _add(
    actions: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    *,
    names: int | str | None = None,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=_EPILOG
    )
    if names is not None:
        parser.add_argument("names", nargs=names, metavar="NAME", help="a name from `laguna-tui models list`")
    add_json(parser)
    parser.set_defaults(run=run)
    return parser


def _list(arguments: argparse.Namespace) -> int:
    """List every model in the catalogue, and what of it is on this machine."""
    catalogue, store = load_catalogue(), Store()
    found = [(entry, store.status(entry)) for entry in catalogue.values()]
    verdicts.store_in(state_dir() / VERDICTS)
    machine, settings = read_machine(), load_settings()
    targets = (name for name, entry in catalogue.items() if entry.kind is ModelKind.TARGET)
    speeds = {name: model_verdict(name, catalogue, settings, machine, known_rates(machine)) for name in targets}
    if arguments.json:
        rates = {name: {"tokens_per_second": each.rate, "measured": each.measured} for name, each in speeds.items()}
        rows = [models_output.record(entry, status) | rates.get(entry.name, {}) for entry, status in found]
        print_json({"folder": str(store.folder), "models": rows}, indent=2)
    else:
        say(models_output.model_table(found, {name: models_output.speed_cell(each) for name, each in speeds.items()}))
        say(["~ is an estimate for this machine until the model has answered; more with: laguna-tui fit"])
        say([f"downloaded models are in {store.folder}"])
    return 0


def _others(arguments: argparse.Namespace) -> int:
    """List what Ollama, LM Studio, llama-server and vLLM have on this machine; asks their ports."""
    settings = load_settings().merged({"offline": arguments.offline})
    found = list_others(offline=Network(offline=settings.offline).offline)
    if arguments.json:
        models = [{"model": each.name, "title": each.title, "from": each.fits} for each in found.choices]
        where = {"searched": list(found.searched), "not_asked": list(found.not_asked)}
        print_json({"models": models, "left_out": dict(found.left_out), **where}, indent=2)
    else:
        rows = [(each.title, size(each.size) if each.size else "", each.fits, each.name) for each in found.choices]
        say(table([("NAME", "SIZE", "FROM", "--model"), *rows]) if rows else ())
        say(filter(None, [found.summary("laguna-tui --model FILE.gguf")]))
    return 0 if found.choices else ExitCode.FAILED


def _info(arguments: argparse.Namespace) -> int:
    """Show everything known about one model, and what its file contradicts."""
    catalogue = load_catalogue()
    entry = named_entry(arguments.names[0], catalogue)
    store = Store()
    status = store.status(entry)
    kinds = (ModelKind.DRAFTER, ModelKind.SCORER)
    goes_with = [(one, store.status(one)) for kind in kinds for one in companions(entry, catalogue, kind)]
    row = models_output.full_record(
        entry, status, goes_with, header_mismatches(entry, status.path) if status.path else ()
    )
    first = status.files[0].name if status.files else ""
    downloaded = store.record(entry.source, first) if entry.source is not None else None
    if downloaded is not None:
        row["downloaded"] = {"commit": downloaded.commit, downloaded.etag.kind: downloaded.etag.value}
    if arguments.json:
        print_json(row, indent=2)
    else:
        say([f"{entry.title}: {entry.summary}", *models_output.record_lines(row)])
    return 0


def _download(arguments: argparse.Namespace) -> int:
    """Download models with their drafters; Ctrl-C keeps what has arrived."""
    catalogue, store = load_catalogue(), Store()
    named = [named_entry(name, catalogue) for name in arguments.names]
    wanted = named if arguments.only else with_drafters(named, catalogue, store)
    view = models_output.DownloadView(quiet=arguments.quiet, as_json=arguments.json)
    settings = load_settings().merged({"offline": arguments.offline})
    work = Download(wanted, view.show, store=store, hub=Hub(network=Network(offline=settings.offline)))
    view.begin(wanted)
    try:
        with _pausing(work):
            outcome = work.run()
    except (DownloadError, OfflineError) as error:
        view.clear()
        return _failed(error, arguments, [entry for entry in wanted if entry not in named])
    view.clear()
    paths = {entry.name: str(store.path(entry) or "") for entry in wanted}
    if arguments.json:
        print_json({"event": "finished", "outcome": outcome, "models": paths})
    elif outcome is DownloadOutcome.DONE:
        say(f"{name}: {path}" for name, path in paths.items())
    else:
        say(["stopped; run the same command again to resume"])
    return 0 if outcome is DownloadOutcome.DONE else ExitCode.INTERRUPTED


def _verify(arguments: argparse.Namespace) -> int:
    """Compare downloaded files with their hashes, and their headers with the catalogue."""
    catalogue, store = load_catalogue(), Store()
    names = arguments.names or [name for name, entry in catalogue.items() if store.path(entry) is not None]
    rows = [_verified(named_entry(name, catalogue), store) for name in names]
    if arguments.json:
        print_json({"models": rows}, indent=2)
    else:
        say(line for row in rows for line in models_output.verdict(row))
    return 0 if all(row["ok"] for row in rows) else ExitCode.FAILED


def _remove(arguments: argparse.Namespace) -> int:
    """Delete the files of a model."""
    entry = named_entry(arguments.names[0], load_catalogue())
    freed = Store().remove(entry)
    if arguments.json:
        print_json({"name": entry.name, "freed": freed}, indent=2)
    else:
        say([f"{entry.name}: removed, {size(freed)} freed"])
    return 0


def _path(arguments: argparse.Namespace) -> int:
    """Print the path of a model's file, for scripts."""
    entry = named_entry(arguments.names[0], load_catalogue())
    path = Store().path(entry)
    if arguments.json:
        print_json({"name": entry.name, "path": str(path) if path else None}, indent=2)
    elif path is not None:
        # Not sanitized: a script opens it.
        sys.stdout.write(f"{path}\n")
    else:
        warn(f"{entry.name} is not on this machine; {models_output.how_to_get(entry)}")
    return 0 if path else ExitCode.FAILED


def _failed(error: UserError, arguments: argparse.Namespace, besides: Sequence[ModelEntry]) -> int:
    """Report a failed download. besides: The drafters that were downloaded too, without being named."""
    without = any(entry.source and str(error).startswith(entry.source.repository) for entry in besides)
    sentence = f"{error}{' (to leave the drafter out, add --only)' if without else ''}"
    if arguments.json:
        print_json({"event": "failed", "error": sentence})
    warn(sentence)
    return ExitCode.FAILED


def _verified(entry: ModelEntry, store: Store) -> dict[str, object]:
    with ProgressLine(f"checking {entry.name}") as line:
        step = line.counter(store.status(entry).bytes_have)
        files = [{"path": str(one.path), "problem": one.problem} for one in store.verify(entry, step)]
    path = store.path(entry)
    if path is not None:
        files += [{"path": str(path), "problem": doubt} for doubt in header_mismatches(entry, path)]
    elif not any(file["problem"] for file in files):
        files.append({"path": "", "problem": f"not downloaded; {models_output.how_to_get(entry)}"})
    return {"name": entry.name, "ok": not any(file["problem"] for file in files), "files": files}


@contextmanager
def _pausing(work: Download) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM pause the download; a second one ends the program at once."""

    def pause(number: int, _: object) -> None:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        work.pause()

    before = {number: signal.signal(number, pause) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
