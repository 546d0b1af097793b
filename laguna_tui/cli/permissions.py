"""`laguna-tui permissions`: the rules in force in a folder, new ones, and what would happen to a command."""

import argparse
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from laguna_tui.agent.permissions.modes import Effect
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.permissions.rule_file import (
    REPOSITORY_FILE,
    append_rule,
    read_repository_rules,
    read_user_rules,
)
from laguna_tui.agent.permissions.rules import SHELL, Rule, RuleError, RuleSet, parse_rule
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import rules_path
from laguna_tui.base.permission_request import CommandProposal, Mode, PermissionRequest
from laguna_tui.base.settings import Settings
from laguna_tui.base.text import sanitize_line
from laguna_tui.cli.arguments import add_commands, add_folder, folder_of
from laguna_tui.cli.console import say
from laguna_tui.sandbox.probe import SandboxKind, approval_reason, probe_sandbox
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.session.permissions import PermissionSettings

_LISTS = ("deny", "ask", "allow")
_ALWAYS = "always: files with secrets are neither read nor changed, unless a rule names the file"
_NONE = "there are no rules, so the mode decides; to add one: laguna-tui permissions allow 'shell(pytest …)'"
_DONE = {"allow": "allowed", "deny": "denied"}
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions of `permissions`; without one it lists the rules."""
    parser.description = "The rules in force in the current folder, or in --folder."
    actions = add_commands(parser, "commands", "permissions_command")
    listing = actions.add_parser("list", help="list the rules in force, and where each comes from")
    listing.set_defaults(run=_list)
    for name, done in _DONE.items():
        adding = actions.add_parser(name, help=f"add a rule for what is {done} in this folder")
        adding.add_argument("rule", help="such as edit(src/**) or shell(pytest …)")
        adding.set_defaults(run=_add, effect=name)
    checking = actions.add_parser("check", help="say what would happen to a command in each mode, and why")
    checking.add_argument("line", metavar="COMMAND", help="the command, in quotes; it is not run")
    checking.set_defaults(run=_check)
    parser.set_defaults(run=_list)
    for each in (parser, *actions.choices.values()):
        add_folder(each)


def _list(arguments: argparse.Namespace) -> int:
    folder = folder_of(arguments.folder)
    user, repository = read_user_rules(rules_path(), folder), read_repository_rules(folder)
    lines = [
        *_listed(user.rules, folder, str(rules_path()), several_folders=True),
        *_listed(repository.rules, folder, REPOSITORY_FILE, several_folders=False),
    ]
    say(sanitize_line(line) for line in [*(lines or [_NONE]), _ALWAYS, *user.notes, *repository.notes])
    return 0


def _listed(rules: RuleSet, folder: Path, source: str, *, several_folders: bool) -> Iterator[str]:
    """Yield a line for each rule. several_folders: Whether the source has rules for several folders."""
    for name in _LISTS:
        chosen: Iterable[Rule] = getattr(rules.of(folder), name)
        for rule in sorted(chosen):
            where = f"for {rule.base}" if rule.base else "everywhere"
            yield f"{name}: {rule.text} (from {source}{f', {where}' if several_folders else ''})"


def _add(arguments: argparse.Namespace) -> int:
    folder, path = folder_of(arguments.folder), rules_path()
    try:
        parse_rule(arguments.rule)
    except RuleError as error:
        raise UserError(str(error)) from error
    append_rule(path, folder, arguments.rule, arguments.effect)
    say([sanitize_line(f"{arguments.rule} is now {_DONE[arguments.effect]} in {folder}; the rule is in {path}")])
    return 0


def _check(arguments: argparse.Namespace) -> int:
    folder, status = folder_of(arguments.folder), probe_sandbox()
    permissions = _permissions(folder, sandboxed=status.kind is not SandboxKind.NONE)
    lines = [sanitize_line(status.sentence)]
    for mode in Mode:
        lines += textwrap.wrap(_verdict(permissions, mode, arguments.line, folder), _WIDTH, subsequent_indent="  ")
    say([*lines, *map(sanitize_line, permissions.notes)])
    return 0


def _permissions(folder: Path, *, sandboxed: bool) -> Permissions:
    return Permissions(folder, rules_path=rules_path(), sandboxed=lambda: sandboxed)


def _verdict(permissions: Permissions, mode: Mode, command: str, folder: Path) -> str:
    rules = PermissionSettings(Settings(), folder, rules_path(), (), ())
    runner = CommandRunner(folder, shows=rules.shows, path_rules=rules.command_path_rules)
    always = approval_reason(command, probe_sandbox(), runner.unhidden)
    request = PermissionRequest(SHELL, CommandProposal(command, folder, 0.0), approval_reason=always)
    try:
        permissions.mode = mode
    except UserError as error:
        return sanitize_line(f"{mode.value}: not possible, {error}")
    verdict = permissions.decide(request)
    rule = permissions.suggest(request) if verdict.effect is Effect.ASK else ""
    more = f"; to always allow it: laguna-tui permissions allow '{rule}'" if rule else ""
    return sanitize_line(f"{mode.value}: {verdict.effect.value}, because {verdict.why}{more}")
