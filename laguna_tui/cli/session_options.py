"""The options of a session, the same before a command's name and after `ask`."""

import argparse
from pathlib import Path

from laguna_tui.base.schema import DeclaredField, declarations
from laguna_tui.base.settings import KEYS, Settings


def add_session_options(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """Add `--folder` and one option per setting. nested: of a sub-command, where a missing option keeps the one before
    its name.
    """
    # A sub-command's default would overwrite an option before the command's name.
    default = argparse.SUPPRESS if nested else None
    group = parser.add_argument_group("session")
    folder = "folder of the code (default: the current one)"
    group.add_argument("--folder", type=Path, metavar="DIR", help=folder, default=default)
    for setting in declarations(Settings).values():
        # argparse formats its help with "%".
        text = _help(setting).replace("%", "%%")
        if setting.kind is bool:
            group.add_argument(setting.flag, action=argparse.BooleanOptionalAction, help=text, default=default)
        else:
            metavar = setting.rule.placeholder
            group.add_argument(setting.flag, type=setting.kind, metavar=metavar, help=text, default=default)


def chosen_settings(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the options by setting; None for those not given."""
    return {key: getattr(arguments, key) for key in KEYS}


def _help(setting: DeclaredField) -> str:
    """Purpose, range and default of a setting."""
    parts = [setting.rule.help, setting.allowed] if setting.allowed else [setting.rule.help]
    default = "" if setting.kind is bool else setting.default_text
    return "; ".join(parts) + (f" (default: {default})" if default else "")
