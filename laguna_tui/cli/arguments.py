"""What the commands share in parsing arguments: common options, numbers, folders, and suggestions for typos."""

import argparse
import os
import shlex
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from laguna_tui.base.errors import UserError
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.paths import too_wide_reason
from laguna_tui.base.spelling import did_you_mean
from laguna_tui.base.text import sanitize_line

_Commands = argparse._SubParsersAction

TOO_WIDE = "{folder} {what}, not one project; go to a project's folder, or read all of it: --folder {folder}"


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps every line of a description or an epilog by itself; indented lines, such as examples, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(each if each.startswith(" ") else textwrap.fill(each, width) for each in text.splitlines())


class SuggestingParser(argparse.ArgumentParser):
    """A parser with one-sentence errors: what is wrong or missing, the nearest valid word, and where the help is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, **options)

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the words; exits with 2 on an error."""
        found, unknown = self.parse_known_args(words)
        if unknown:
            *_, last = self._parsers_named_in(words)
            near = did_you_mean(unknown[0].partition("=")[0], last._option_string_actions)
            last.error(f"unknown argument {_quoted(unknown[0])}{near}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with 2; the usage of a command with many flags would hide the sentence."""
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}; see: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, _Commands) and value not in action.choices:
            near = did_you_mean(value, action.choices)
            is_first = action.dest == argparse.SUPPRESS
            # Path.is_dir raises for a name that is too long.
            if is_first and not near and os.path.isdir(value):  # noqa: PTH112
                name = shlex.quote(sanitize_line(value))
                self.error(f"{_quoted(value)} is a folder; to work in it: {self.prog} --folder {name}")
            message = f"; to send it as a message: {self.prog} -- {sanitize_line(value)}" if is_first else ""
            self.error(f"unknown command {_quoted(value)}{near or f'; choose from {_listed(action)}{message}'}")
        super()._check_value(action, value)

    def _parsers_named_in(self, words: Sequence[str]) -> Iterator[argparse.ArgumentParser]:
        """This parser, then those of the commands in the words."""
        parser: argparse.ArgumentParser = self
        yield parser
        for word in words:
            if word in commands_of(parser):
                parser = commands_of(parser)[word]
                yield parser


def add_commands(parser: argparse.ArgumentParser, title: str, dest: str) -> "_Commands[argparse.ArgumentParser]":
    """Add sub-commands to a command; without one it exits with their names. dest: attribute for the name given."""
    commands = parser.add_subparsers(title=title, metavar="COMMAND", dest=dest)

    def missing(_: argparse.Namespace) -> NoReturn:
        parser.error(f"missing command; choose from {_listed(commands)}")

    parser.set_defaults(run=missing)
    return commands


def add_inherited(parser: argparse.ArgumentParser, *flags: str, **options: Any) -> None:
    """Add an option that may also stand before the command's name.

    It has no default, which would overwrite the option before the name.
    """
    parser.add_argument(*flags, default=argparse.SUPPRESS, **options)


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add `--folder`."""
    add_inherited(parser, "--folder", type=Path, metavar="DIR", help=FOLDER_HELP)


FOLDER_HELP = "folder of the code (default: the current folder)"


def add_offline(parser: argparse.ArgumentParser, summary: str) -> None:
    """Add `--offline` and `--no-offline`."""
    add_inherited(parser, "--offline", action=argparse.BooleanOptionalAction, help=summary)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, which prints the command's result for programs."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_force(parser: argparse.ArgumentParser, file: str) -> None:
    """Add `--force`, which replaces the output file. file: its placeholder in the help."""
    parser.add_argument("--force", action="store_true", help=f"replace {file} if it exists")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add `--quiet`, which leaves progress out."""
    parser.add_argument("--quiet", action="store_true", help="show no progress on stderr")


def add_yes(parser: argparse.ArgumentParser) -> None:
    """Add `--yes`, which answers the command's question."""
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a parser's sub-commands by name."""
    found = (action.choices for action in parser._actions if isinstance(action, _Commands))
    return dict(next(found, {}))


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Return an argument's type: a whole number from `least` to `most`."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most:,}")
        return int(text)

    return parse


def number(most: float, *, zero: bool = False) -> Callable[[str], float]:
    """Return an argument's type: a number above 0 and at most `most`. zero: whether 0 is allowed."""

    def parse(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = -1.0
        if not (0 < found <= most or (zero and found == 0)):
            limits = f"from 0 to {most:,}" if zero else f"above 0 and at most {most:,}"
            raise argparse.ArgumentTypeError(f"must be a number {limits}")
        return found

    return parse


def working_folder() -> Path:
    """Return the current folder. Raises UserError when it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UserError("the current folder was deleted; change to another one and try again") from error


def folder_of(chosen: Path | None) -> Path:
    """Return the folder of `--folder`, or the current one, with links resolved. UserError if it is not a folder."""
    folder = working_folder() if chosen is None else chosen.expanduser()
    folder = (folder if folder.is_absolute() else working_folder() / folder).resolve()
    if not folder.is_dir():
        shown = sanitize_line(str(chosen))
        raise UserError(f"--folder {shown}: not a folder; give the top folder of the code to ask about")
    return folder


def project_folder(named: Path | None) -> Path:
    """Return the folder to read; the home folder or the root only if it was named.

    Raises:
        UserError: It does not exist, or it was not named and holds more than a project.
    """
    folder = folder_of(named)
    what = "" if named else too_wide_reason(folder)
    if what:
        raise UserError(TOO_WIDE.format(folder=sanitize_line(str(folder)), what=what))
    return folder


def _listed(commands: "_Commands[Any]") -> str:
    return ", ".join(commands.choices)


def _quoted(word: str) -> str:
    return f"'{sanitize_line(word)}'"
