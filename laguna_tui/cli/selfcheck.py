"""`laguna-tui selfcheck`: arguments, exit code and output."""

import argparse
import os
import sys
from pathlib import Path
from shutil import get_terminal_size

from laguna_engine.files import is_stream
from laguna_tui.base.errors import UserError
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import Settings, load_settings
from laguna_tui.cli.arguments import add_inherited, add_json
from laguna_tui.cli.console import check_target, has_colours, write_file
from laguna_tui.cli.session_options import chosen_settings
from laguna_tui.machine.doctor.findings import as_json, page
from laguna_tui.machine.doctor.host import Host
from laguna_tui.machine.selfcheck.check_report import markdown, verdict
from laguna_tui.machine.selfcheck.check_runner import SelfCheck, models_to_check, run_selfcheck, steps_for
from laguna_tui.models.catalogue import load_catalogue

_FILES = ("model", "drafter", "adapter", "scorer")
"""Settings that are a catalogue's name or a file."""
_EPILOG = """\
The file of --report contains none of your paths, account or machine names, so you can attach it to a bug report.
Ctrl-C ends it early; what was found so far is reported.
exit codes: 0 all is right, 1 something is not, 2 wrong usage, 130 interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `selfcheck`."""
    parser.description = (
        "Compare what this machine computes with what it should: memory against its plan, hidden states, the drafter"
        " against float64, answers with and without drafts, every type of the KV cache; and how fast it is. With Laguna"
        " Nano, and with the chosen or the largest downloaded model. Takes a few minutes, ten at most; opens no"
        " connection."
    )
    parser.epilog = _EPILOG
    add_inherited(
        parser,
        "--model",
        metavar="NAME|FILE",
        help="also check this model (default: the chosen one, or the largest downloaded one)",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report to this file, as Markdown")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the checks and report; returns the exit code."""
    _check_report(arguments.report)
    given = {key: value for key, value in chosen_settings(arguments).items() if value is not None}
    settings = load_settings().merged(given)
    chosen = given | _absolute(settings)
    steps = steps_for(models_to_check(settings.merged(chosen)))
    with ProgressLine() as progress:
        result = run_selfcheck(steps, chosen, Host(), progress)
    if arguments.json:
        sys.stdout.write(as_json(result.findings))
    else:
        _show(result)
    if arguments.report is not None:
        write_file("--report", arguments.report, markdown(result), 0o600)
        sys.stderr.write(f"laguna-tui: the report is in {arguments.report}\n")
    if result.interrupted:
        return ExitCode.INTERRUPTED
    return 0 if result.works else 1


def _absolute(settings: Settings) -> dict[str, object]:
    """Return the files that settings name relative to this folder, where the checks do not run."""
    catalogue = load_catalogue()
    named = {key: getattr(settings, key) for key in _FILES}
    files = {key: Path(name).expanduser() for key, name in named.items() if name and name not in catalogue}
    return {key: str(file.absolute()) for key, file in files.items() if file.is_file()}


def _check_report(target: Path | None) -> None:
    """Raise UserError for a file that cannot be written: the checks take minutes."""
    if target is None or is_stream(target.expanduser()):
        return
    folder = target.expanduser().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"--report {target}: its folder does not exist or is not writable; choose another file")
    check_target(target.expanduser(), force=True)


def _show(result: SelfCheck) -> None:
    if result.findings:
        sys.stdout.write(page(result.findings, get_terminal_size().columns, colours=has_colours()))
    sys.stdout.write(f"{verdict(result)}\n")
