"""Write the README's table of `laguna-tui sessions` from the command line: `python packaging/readme_sessions.py`.

A test compares the two, so that the README cannot drift.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from laguna_tui.cli.arguments import commands_of
from laguna_tui.cli.main import command_parser

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- sessions: made by packaging/readme_sessions.py -->\n", "<!-- /sessions -->"
# Every command has these.
_COMMON = ("--help", "--folder", "--json")


def sessions_table() -> str:
    """Every command with its arguments and its options, as Markdown."""
    head = ["| command | what it does |", "|---|---|"]
    commands = commands_of(commands_of(command_parser())["sessions"])
    rows = (f"| `laguna-tui {_usage(name, parser)}` | {parser.description} |" for name, parser in commands.items())
    return "\n".join([*head, *rows]) + "\n"


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    return " ".join(("sessions", name, *_arguments(parser)))


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    named = [action for action in parser._actions if not set(_COMMON) & set(action.option_strings)]
    for action in sorted(named, key=lambda action: bool(action.option_strings)):
        value = action.metavar or ("\\|".join(action.choices) if action.choices else action.dest.upper())
        if not action.option_strings:
            yield f"{value} …" if action.nargs == "+" else str(value)
        else:
            yield f"[{action.option_strings[-1]}{'' if action.nargs == 0 else f' {value}'}]"


def updated(text: str) -> str:
    """The README's text with today's commands between its two marks."""
    before, rest = text.split(BEGIN, 1)
    return before + BEGIN + "\n" + sessions_table() + "\n" + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
