"""`laguna-tui keys`: the keys in effect, and what is wrong in the user's `keys.toml`."""

import argparse
from collections.abc import Iterator

from laguna_tui.base.paths import keys_path
from laguna_tui.cli.arguments import add_json
from laguna_tui.cli.console import print_json, say, table, warn
from laguna_tui.tui.key_sections import key_sections, own_keys
from laguna_tui.tui.keys import UNBOUND


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `keys`."""
    parser.description = "Show the keys in effect. “laguna-tui help keys” says how to change them in keys.toml."
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table; returns 1 if a line of the file is not in effect."""
    own = own_keys()
    if arguments.json:
        print_json(
            [
                {
                    "table": (each.id or "").partition(".")[0] or None,
                    "action": (each.id or "").partition(".")[2] or None,
                    "keys": [key for key in own.of(each).split(",") if key != UNBOUND],
                    "default": [key for key in each.key.split(",") if key != UNBOUND],
                    "where": title,
                    "description": each.description,
                }
                for title, bindings in key_sections().items()
                for each in bindings
            ],
            indent=2,
        )
    else:
        say(_lines())
    for problem in own.problems:
        warn(problem)
    return 1 if own.problems else 0


def _lines() -> Iterator[str]:
    own = own_keys()
    yield from (f"Change them in {keys_path()}; “laguna-tui help keys” says how.", "")
    for title, bindings in key_sections().items():
        table_name = next(((each.id or "").partition(".")[0] for each in bindings if each.id), "")
        yield f"{title}: [{table_name}] in keys.toml" if table_name else f"{title}: these keys cannot be changed"
        yield from table(
            [
                (
                    f"  {(each.id or '').partition('.')[2] or '-'}",
                    own.shown(each).replace("  ", ", "),
                    each.description + (" (changed)" if own.of(each) != each.key else ""),
                )
                for each in bindings
            ]
        )
        yield ""
