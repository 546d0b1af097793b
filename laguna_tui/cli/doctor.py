"""`laguna-tui doctor`: arguments, exit code and output."""

import argparse
import sys

from laguna_tui.base.text import sanitize_line
from laguna_tui.cli.arguments import add_json
from laguna_tui.cli.console import has_colours
from laguna_tui.machine.doctor.checks import examine
from laguna_tui.machine.doctor.findings import FindingStatus, as_json, page
from laguna_tui.machine.doctor.host import Host
from laguna_tui.machine.doctor.repairs import permission_repairs
from laguna_tui.machine.setup_gpu.installer import interrupted_setup
from laguna_tui.machine.setup_gpu.pip import SetupFailed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `doctor`."""
    parser.description = (
        "Check this machine: graphics cards and their driver, the installed llama.cpp and what it can use of them,"
        " processor, memory, disk, folders, tools, terminal. Opens no connection, and changes nothing without --fix."
    )
    parser.epilog = "exit codes: 0 everything works, perhaps not as well as it could; 1 something does not work"
    add_json(parser)
    parser.add_argument(
        "--fix",
        action="store_true",
        help="first repair what is safe to repair: permissions of the app's files, an interrupted setup",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check this machine and report; returns the exit code."""
    host = Host()
    if arguments.fix:
        _fix()
    findings = examine(host)
    if arguments.json:
        sys.stdout.write(as_json(findings))
    else:
        sys.stdout.write(page(findings, host.terminal.columns, colours=has_colours()))
    return int(any(finding.status is FindingStatus.FAIL for finding in findings))


def _fix() -> None:
    """Repair what is safe to repair, and report it on stderr; the findings that follow have what cannot be."""
    done = 0
    for repair in (*permission_repairs(), *interrupted_setup()):
        try:
            repair.run()
            line = f"fixed: {repair.what}"
            done += 1
        except (OSError, SetupFailed) as error:
            line = f"not fixed: {repair.what}: {error}"
        sys.stderr.write(f"{sanitize_line(line)}\n")
    if not done:
        sys.stderr.write("nothing was changed\n")
