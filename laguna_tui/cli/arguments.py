"""What the commands share in parsing arguments: common options, the folder, suggestions for misspelt words."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import too_wide_because
from laguna_tui.base.spelling import did_you_mean
from laguna_tui.base.text import sanitize_line

_Commands = argparse._SubParsersAction
_WRONG_USAGE = 2


def add_offline(parser: argparse.ArgumentParser, summary: str) -> None:
    """Add `--offline` and `--no-offline` to a command; without either, the option before the command's name applies."""
    parser.add_argument("--offline", action=argparse.BooleanOptionalAction, help=summary, default=argparse.SUPPRESS)


def add_commands(parser: argparse.ArgumentParser, title: str, dest: str) -> "_Commands[argparse.ArgumentParser]":
    """Add sub-commands to a command; without one it exits with their names. dest: attribute for the name given."""
    commands = parser.add_subparsers(title=title, metavar="COMMAND", dest=dest)

    def missing(_: argparse.Namespace) -> NoReturn:
        parser.error(f"a command is missing; there are {', '.join(commands.choices)}")

    parser.set_defaults(run=missing)
    return commands


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a parser's sub-commands by name."""
    found = (action.choices for action in parser._actions if isinstance(action, _Commands))
    return dict(next(found, {}))


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Return an argument's type: a whole number within these limits."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"it must be a whole number from {least} to {most:,}")
        return int(text)

    return parse


def number_above_zero(what: str, most: float) -> Callable[[str], float]:
    """Return an argument's type: a number above 0. what: such as "a number of seconds", for the error's sentence."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number <= most:
            raise argparse.ArgumentTypeError(f"it must be {what} above 0, at most {most:,}")
        return number

    return parse


def working_folder() -> Path:
    """Return the current folder. Raises UserError when it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UserError("the current folder was deleted; go to another one and run it again") from error


def folder_of(chosen: Path | None) -> Path:
    """Return the folder of `--folder`, or the current one, with links resolved. Raises UserError if it is none."""
    folder = working_folder() if chosen is None else chosen.expanduser()
    folder = (folder if folder.is_absolute() else working_folder() / folder).resolve()
    if not folder.is_dir():
        shown = sanitize_line(str(chosen))
        raise UserError(f"--folder {shown}: not a folder; give the top folder of the code to ask about")
    return folder


class SuggestingParser(argparse.ArgumentParser):
    """A parser with one-sentence errors: what is wrong or missing, the nearest valid word, and where help is."""

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the words; exits with 2 on an error."""
        found, unknown = self.parse_known_args(words)
        if unknown:
            *_, last = self._named(words)
            last.error(f"unknown argument {_quoted(unknown[0])}{_nearest_option(unknown[0], last)}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with 2; the usage of a command with many flags would hide the sentence."""
        self.exit(_WRONG_USAGE, f"{self.prog}: {message}; see: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, _Commands) and value not in action.choices:
            near = did_you_mean(value, action.choices)
            is_first = action.dest == argparse.SUPPRESS
            message = f"; as a message: {self.prog} -- {sanitize_line(value)}" if is_first else ""
            there_are = f"; there are {', '.join(action.choices)}{message}"
            self.error(f"there is no command {_quoted(value)}{near or there_are}")
        super()._check_value(action, value)

    def _named(self, words: Sequence[str]) -> Iterator[argparse.ArgumentParser]:
        """This parser, and those of the commands in the words."""
        parser: argparse.ArgumentParser = self
        yield parser
        for word in words:
            if word in commands_of(parser):
                parser = commands_of(parser)[word]
                yield parser


def _nearest_option(word: str, parser: argparse.ArgumentParser) -> str:
    return did_you_mean(word.partition("=")[0], parser._option_string_actions)


def _quoted(word: str) -> str:
    return f"'{sanitize_line(word)}'"


TOO_WIDE = "{folder} {what}, not one project; go to a project's folder, or read all of it: --folder {folder}"


def project_folder(named: Path | None) -> Path:
    """Return the folder to read; one with more than a project only when it was named.

    Raises:
        UserError: It does not exist, or was not named and is the home folder or the root.
    """
    folder = folder_of(named)
    what = "" if named else too_wide_because(folder)
    if what:
        raise UserError(TOO_WIDE.format(folder=sanitize_line(str(folder)), what=what))
    return folder
