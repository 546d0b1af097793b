"""The options that start a session: the same ones before a command's name and after `ask`."""

import argparse
from pathlib import Path

from laguna_tui.base.schema import DeclaredField, declarations
from laguna_tui.base.settings import KEYS, Settings


def add_session_options(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """Add `--folder` and one option a setting. nested: it is a command's, so without an option what stands before it
    counts.
    """
    # A sub-command's own default would overwrite what stood before the command's name.
    default = argparse.SUPPRESS if nested else None
    group = parser.add_argument_group("session")
    folder = "the code to ask about (default: the current folder)"
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
    """The settings given as options, by key; None for those that were not given."""
    return {key: getattr(arguments, key) for key in KEYS}


def _help(setting: DeclaredField) -> str:
    """What a setting is for, its range and its default."""
    parts = [setting.rule.help, setting.allowed] if setting.allowed else [setting.rule.help]
    default = "" if setting.kind is bool else setting.default_text
    return "; ".join(parts) + (f" (default: {default})" if default else "")
