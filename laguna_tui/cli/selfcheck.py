"""`laguna-tui selfcheck`: arguments, exit code and output."""

import argparse
import os
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.cli.console import check_target
from laguna_tui.cli.session_options import chosen_settings

if TYPE_CHECKING:
    from laguna_tui.base.settings import Settings
    from laguna_tui.machine.selfcheck.check_runner import SelfCheck

_FILES = ("model", "drafter", "adapter", "scorer")
"""Settings that are a catalogue's name or a file."""

_DESCRIPTION = """\
Compare what this machine computes with what it should: memory against its plan, hidden states, the drafter against
float64, answers with and without drafts, every type of the KV cache; and how fast it is. With Laguna Nano, and with the
chosen or the largest downloaded model. Takes a few minutes, ten at most; opens no connection.
"""
_EPILOG = """\
The file of --report has no paths, account or machine name of yours: it is made to be attached to a report.
Ctrl-C ends it early; what was found so far is reported.
exit codes: 0 all is right, 1 something is not, 2 wrong usage, 130 interrupted
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `selfcheck` to the command line."""
    parser = commands.add_parser(
        "selfcheck",
        help="compare what this machine computes with what it should",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # A sub-command's default would overwrite an option before the command's name.
    parser.add_argument(
        "--model",
        metavar="NAME|FILE",
        default=argparse.SUPPRESS,
        help="check this model beside Laguna Nano (default: the chosen one, or the largest downloaded one)",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report as Markdown")
    parser.add_argument("--json", dest="as_json", action="store_true", help="one JSON object with every finding")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the checks and report; returns the exit code."""
    from laguna_tui.base.progress import ProgressLine
    from laguna_tui.base.settings import load_settings
    from laguna_tui.machine.doctor.host import Host
    from laguna_tui.machine.selfcheck.check_runner import models_here, run_selfcheck, steps_for

    _check_report(arguments.report)
    given = {key: value for key, value in chosen_settings(arguments).items() if value is not None}
    settings = load_settings().merged(given)
    chosen = given | _absolute(settings)
    steps = steps_for(models_here(settings.merged(chosen)))
    with ProgressLine() as progress:
        result = run_selfcheck(steps, chosen, Host(), progress)
    _show(result, as_json=arguments.as_json)
    _write(result, arguments.report)
    if result.interrupted:
        return ExitCode.INTERRUPTED.value
    return 0 if result.works else 1


def _absolute(settings: "Settings") -> dict[str, object]:
    """Return the files that settings name relative to this folder, in which the checks do not run."""
    from laguna_tui.models.catalogue import load_catalogue

    catalogue = load_catalogue()
    named = {key: getattr(settings, key) for key in _FILES}
    files = {key: Path(name).expanduser() for key, name in named.items() if name and name not in catalogue}
    return {key: str(file.absolute()) for key, file in files.items() if file.is_file()}


def _check_report(target: Path | None) -> None:
    """UserError for a file that cannot be written: the checks take minutes."""
    from laguna_engine.files import is_stream

    if target is None or is_stream(target.expanduser()):
        return
    folder = target.expanduser().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"--report {target}: its folder is not there or not writable; choose another file")
    check_target(target.expanduser(), force=True)


def _show(result: "SelfCheck", *, as_json: bool) -> None:
    from laguna_tui.machine.doctor.findings import as_json as json_of
    from laguna_tui.machine.doctor.findings import page
    from laguna_tui.machine.selfcheck.check_report import verdict

    if as_json:
        sys.stdout.write(json_of(result.findings))
        return
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    sys.stdout.write(page(result.findings, get_terminal_size().columns, colours=colours) if result.findings else "")
    sys.stdout.write(f"{verdict(result)}\n")


def _write(result: "SelfCheck", target: Path | None) -> None:
    from laguna_engine.files import write_output
    from laguna_tui.machine.selfcheck.check_report import markdown

    if target is None:
        return
    try:
        write_output(target.expanduser(), markdown(result), 0o600)
    except OSError as error:
        raise UserError(f"--report {target}: {error.strerror}; choose a writable file") from error
    sys.stderr.write(f"laguna-tui: the report is in {target}\n")
