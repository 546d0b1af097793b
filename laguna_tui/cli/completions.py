"""`laguna-tui completions`: prints what a shell needs to complete the command line."""

import argparse
import sys

from laguna_tui.base.paths import data_root

_FILES = {"bash": "laguna-tui.bash", "zsh": "_laguna-tui", "fish": "laguna-tui.fish"}
"""In `assets/shell`, made by packaging/shell_files.py."""

_PLACES = {
    "bash": "~/.local/share/bash-completion/completions/laguna-tui",
    "zsh": "~/.zfunc/_laguna-tui",
    "fish": "~/.config/fish/completions/laguna-tui.fish",
}
"""Where each shell looks for a user's own completions."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `completions`."""
    parser.description = "Print a script with which a shell completes commands, options and files."
    examples = (f"  laguna-tui completions {shell} > {place}" for shell, place in _PLACES.items())
    parser.epilog = "\n".join([*examples, "For zsh, put fpath+=~/.zfunc before compinit in ~/.zshrc."])
    parser.add_argument("shell", choices=sorted(_FILES), help="the shell")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the file; returns the exit code."""
    path = data_root() / "assets" / "shell" / _FILES[arguments.shell]
    sys.stdout.write(path.read_text(encoding="utf-8"))
    if sys.stdout.isatty():
        sys.stderr.write(f"to install it: laguna-tui completions {arguments.shell} > {_PLACES[arguments.shell]}\n")
    return 0
