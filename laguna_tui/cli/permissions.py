"""`laguna-tui permissions`: the rules in force in a folder, new ones, and what would happen to a command."""

import argparse
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize_line
from laguna_tui.cli.arguments import add_commands, folder_of
from laguna_tui.cli.console import say

if TYPE_CHECKING:
    from laguna_tui.agent.permissions.policy import Permissions
    from laguna_tui.agent.permissions.rules import Rule, RuleSet
    from laguna_tui.base.permission_request import Mode

_LISTS = ("deny", "ask", "allow")
_ALWAYS = "always: files with secrets are neither read nor changed, but for a rule that names such a file"
_NONE = "no rules; the mode decides. To add one: laguna-tui permissions allow 'shell(pytest …)'"
_WRITTEN = "{rule} is {done} in {folder} from now on; it is in {path}"
_DONE = {"allow": "allowed", "deny": "denied"}
_WIDTH = 100
_FOLDER = "folder of the code (default: the current one)"


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `permissions` to the command line."""
    parser = commands.add_parser(
        "permissions",
        help="list and add rules about what the model may do",
        description="The rules in force in the current folder, or in --folder.",
    )
    actions = add_commands(parser, "commands", "permissions_command")
    listing = actions.add_parser("list", help="list the rules in force, and where each comes from")
    listing.set_defaults(run=_list)
    for name, does in _DONE.items():
        adding = actions.add_parser(name, help=f"write a rule: what is {does} in this folder from now on")
        adding.add_argument("rule", help="such as edit(src/**) or shell(pytest …)")
        adding.set_defaults(run=_add, effect=name)
    checking = actions.add_parser("check", help="say what would happen to a command in each mode, and why")
    checking.add_argument("line", metavar="COMMAND", help="the command, in quotes; it is not run")
    checking.set_defaults(run=_check)
    # Without a command: the list.
    parser.set_defaults(run=_list)
    for each in (parser, *actions.choices.values()):
        # Without it, the option before the command's name applies.
        each.add_argument("--folder", type=Path, metavar="DIR", help=_FOLDER, default=argparse.SUPPRESS)


def _list(arguments: argparse.Namespace) -> int:
    from laguna_tui.agent.permissions.rule_file import (
        REPOSITORY_FILE,
        read_repository_rules,
        read_user_rules,
    )
    from laguna_tui.base.paths import rules_path

    folder = folder_of(arguments.folder)
    user, repository = read_user_rules(rules_path(), folder), read_repository_rules(folder)
    lines = [
        *_listed(user.rules, folder, str(rules_path()), several_folders=True),
        *_listed(repository.rules, folder, REPOSITORY_FILE, several_folders=False),
    ]
    say(sanitize_line(line) for line in [*(lines or [_NONE]), _ALWAYS, *user.notes, *repository.notes])
    return 0


def _listed(rules: "RuleSet", folder: Path, source: str, *, several_folders: bool) -> Iterator[str]:
    """A line for each rule. several_folders: whether the source has rules for several folders."""
    for name in _LISTS:
        chosen: Iterable[Rule] = getattr(rules.of(folder), name)
        for rule in sorted(chosen):
            where = f"for {rule.base}" if rule.base else "everywhere"
            yield f"{name}: {rule.text} (from {source}{f', {where}' if several_folders else ''})"


def _add(arguments: argparse.Namespace) -> int:
    from laguna_tui.agent.permissions.rule_file import append_rule
    from laguna_tui.agent.permissions.rules import RuleError, parse_rule
    from laguna_tui.base.paths import rules_path

    folder, path = folder_of(arguments.folder), rules_path()
    try:
        parse_rule(arguments.rule)
    except RuleError as error:
        raise UserError(str(error)) from error
    append_rule(path, folder, arguments.rule, arguments.effect)
    done = _DONE[arguments.effect]
    say([sanitize_line(_WRITTEN.format(rule=arguments.rule, done=done, folder=folder, path=path))])
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from laguna_tui.base.permission_request import Mode
    from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox

    folder, status = folder_of(arguments.folder), probe_sandbox()
    permissions = _permissions(folder, sandboxed=status.kind is not SandboxKind.NONE)
    lines = [sanitize_line(status.sentence)]
    for mode in Mode:
        lines += textwrap.wrap(_verdict(permissions, mode, arguments.line, folder), _WIDTH, subsequent_indent="  ")
    say([*lines, *map(sanitize_line, permissions.notes)])
    return 0


def _permissions(folder: Path, *, sandboxed: bool) -> "Permissions":
    from laguna_tui.agent.permissions.policy import Permissions
    from laguna_tui.base.paths import rules_path

    return Permissions(folder, rules_path=rules_path(), sandboxed=lambda: sandboxed)


def _verdict(permissions: "Permissions", mode: "Mode", command: str, folder: Path) -> str:
    from laguna_tui.agent.permissions.modes import Effect
    from laguna_tui.agent.permissions.rules import SHELL
    from laguna_tui.base.paths import rules_path
    from laguna_tui.base.permission_request import CommandProposal, PermissionRequest
    from laguna_tui.base.settings import Settings
    from laguna_tui.sandbox.probe import always_asks, probe_sandbox
    from laguna_tui.sandbox.runner import CommandRunner
    from laguna_tui.session.permissions import PermissionSettings

    rules = PermissionSettings(Settings(), folder, rules_path(), (), ())
    runner = CommandRunner(folder, shows=rules.shows, kept=rules.kept_from_commands)
    always = always_asks(command, probe_sandbox(), runner.unhidden)
    request = PermissionRequest(SHELL, CommandProposal(command, folder, 0.0), always_asks=always)
    try:
        permissions.mode = mode
    except UserError as error:
        return sanitize_line(f"{mode.value}: not possible, {error}")
    verdict = permissions.decide(request)
    rule = permissions.suggest(request) if verdict.effect is Effect.ASK else ""
    more = f"; to allow it always: laguna-tui permissions allow '{rule}'" if rule else ""
    return sanitize_line(f"{mode.value}: {verdict.effect.value}, because {verdict.why}{more}")
