"""`laguna-tui doctor`: arguments, exit code and output."""

import argparse
import os
import sys

_DESCRIPTION = """\
Check this machine: graphics cards and their driver, the installed llama.cpp and what it can use of them, processor,
memory, disk, folders, tools, terminal. Opens no connection, and changes nothing without --fix.
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
    parser.add_argument(
        "--fix", action="store_true", help="first repair what is safe: permissions of the app's files, a setup cut off"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Examine this machine and report; returns the exit code."""
    from laguna_tui.machine.doctor.checks import examine
    from laguna_tui.machine.doctor.findings import FindingStatus, as_json, page
    from laguna_tui.machine.doctor.host import Host

    host = Host()
    if arguments.fix:
        _fix()
    findings = examine(host)
    if arguments.json:
        sys.stdout.write(as_json(findings))
    else:
        colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        sys.stdout.write(page(findings, host.terminal.columns, colours=colours))
    return int(any(finding.status is FindingStatus.FAIL for finding in findings))


def _fix() -> None:
    """Put right what is safe, and say so on stderr; what cannot be is among the findings that follow."""
    from laguna_tui.base.text import sanitize_line
    from laguna_tui.cli.setup_gpu import interrupted_setup
    from laguna_tui.machine.doctor.repairs import permission_repairs
    from laguna_tui.machine.setup_gpu.pip import SetupFailed

    done = 0
    for repair in (*permission_repairs(), *interrupted_setup()):
        try:
            repair.run()
            words = f"fixed: {repair.what}"
            done += 1
        except (OSError, SetupFailed) as error:
            words = f"not fixed: {repair.what}: {error}"
        sys.stderr.write(f"{sanitize_line(words)}\n")
    if not done:
        sys.stderr.write("nothing was changed\n")
