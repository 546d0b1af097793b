"""Makes assets/shell: completions for bash, zsh and fish, and the man page, from the command line's own parser.

`python packaging/shell_files.py` writes them; a test says when they are out of date.
"""

import argparse
import os
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "shell"
COMPLETIONS = {"bash": "laguna-tui.bash", "zsh": "_laguna-tui", "fish": "laguna-tui.fish"}
MAN_PAGE = "laguna-tui.1"
_FOLDERS, _FILES = ("DIR", "FOLDER"), ("FILE", "NAME|FILE", "NAME|FILE|URL", "PATH")


def made() -> dict[str, str]:
    """Return every file's text by its name."""
    import shtab

    # argparse wraps usage lines to the terminal's width.
    os.environ["COLUMNS"] = "100"
    found = {name: shtab.complete(_parser(), shell) for shell, name in COMPLETIONS.items()}
    return {name: text.rstrip("\n") + "\n" for name, text in {**found, MAN_PAGE: _man_page()}.items()}


def _parser() -> argparse.ArgumentParser:
    from laguna_tui.cli.main import command_parser

    parser = command_parser()
    _complete_files(parser)
    return parser


_HERE = re.compile(r"\d+ \((the processors of this machine)\)")
"""The part of a help text that depends on the machine."""


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Mark the arguments that are files or folders, and remove what depends on this machine."""
    import shtab

    for action in parser._actions:
        action.help = _HERE.sub(r"\1", action.help) if action.help else action.help
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command)
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY
        elif action.metavar in _FILES:
            action.complete = shtab.FILE


def _man_page() -> str:
    from argparse_manpage.manpage import Manpage

    from laguna_tui import __version__

    parser = _parser()
    parser.man_short_description = "a coding assistant for your terminal, with the model inside it"
    data = {"project_name": "laguna-tui", "prog": "laguna-tui", "version": __version__, "manual_section": 1,
            "manual_title": "laguna-tui", "author": None, "url": None}  # fmt: skip
    page = str(Manpage(parser, _data=data, format="single-commands-section"))
    # The date of its making would make every build another one.
    return re.sub(r'(?m)^(\.TH \S+ \S+ )"[^"]*"', r'\1""', page)


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in made().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
