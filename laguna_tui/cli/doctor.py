"""`laguna-tui doctor`: arguments, exit code and output."""

import argparse
import os
import sys

_DESCRIPTION = """\
Check this machine: graphics cards and their driver, the installed llama.cpp and what it can use of them, processor,
memory, disk, folders, tools, terminal. Opens no connection and changes nothing.
"""
_EPILOG = """\
exit codes: 0 everything works, perhaps not as well as it could; 1 something does not work
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `doctor` to the command line."""
    parser = commands.add_parser(
        "doctor",
        help="check this machine and say what to do",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="one JSON object with every finding")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Examine this machine and report; returns the exit code."""
    from laguna_tui.doctor.checks import examine
    from laguna_tui.doctor.findings import FindingStatus, as_json, page
    from laguna_tui.doctor.host import Host

    host = Host()
    findings = examine(host)
    if arguments.json:
        sys.stdout.write(as_json(findings))
    else:
        colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        sys.stdout.write(page(findings, host.terminal.columns, colours=colours))
    return int(any(finding.status is FindingStatus.FAIL for finding in findings))
