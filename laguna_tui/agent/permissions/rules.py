"""Rules: their text form, and which requests they match.

`TOOL`, `TOOL(glob)` for tools that work on a path, `shell(words)` and `shell(words …)`. A rule that allows matches
narrowly: the named tool only, paths as they are written, simple commands. One that denies or asks matches widely: every
tool that does the same, upper and lower case alike, every reading of a command.
"""

import os
import posixpath
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path

from laguna_tui.agent.permissions.command_patterns import (
    ELLIPSES,
    Match,
    restricted,
    runs_or_writes,
    simple_words,
    words_in,
)
from laguna_tui.agent.permissions.modes import RequestKind
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.path_globs import glob_matches
from laguna_tui.base.permission_request import CommandProposal, PermissionRequest
from laguna_tui.repo.files.protected_paths import folded
from laguna_tui.repo.files.root_folder import as_on_disk, nfc
from laguna_tui.repo.files.sensitive_paths import sensitive_reason

READ, SHELL = "read", "shell"
PATH_TOOLS = (READ, "edit", "write", "move", "delete", "replace_symbol")
_EDITING_TOOLS = ("edit", "write", "replace_symbol")
# They read files; rules for `read` cover all of them.
_READING_TOOLS = ("find", "search", "list")
# Also keeps a hostile rule file from taking time.
_LIMIT_CHARS = 1000
# With more words times rules, a command counts as restricted.
_LIMIT_TRIES = 10_000
_RULE = re.compile(r"([A-Za-z][\w.:/-]*)(?:\((.*)\))?", re.DOTALL)
_GLOB_SIGNS = frozenset("*?")
_FORMS = "a rule is TOOL, TOOL(path), shell(command) or shell(command …)"


class RuleError(ValueError):
    """The text is not a rule; the message says why, as a clause that begins with the text."""


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """A rule, without its effect, which is that of the list it is in.

    Attributes:
        tool: Name of the tool.
        pattern: Glob of paths, or words of a command; empty for everything that the tool does.
        base: The folder that a rule of a file is for, to which its paths are relative too; empty for any folder.
    """

    tool: str
    pattern: str = ""
    base: str = ""

    @property
    def text(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a command, without the sign for further arguments; none for every command."""
        if self.tool != SHELL:
            return ()
        words = tuple(shlex.split(self.pattern))
        return words[:-1] if words and words[-1] in ELLIPSES else words

    @property
    def any_arguments(self) -> bool:
        """Whether any arguments may follow the words."""
        return self.tool != SHELL or not self.pattern or shlex.split(self.pattern)[-1] in ELLIPSES


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules by their effect."""

    allow: frozenset[Rule] = frozenset()
    ask: frozenset[Rule] = frozenset()
    deny: frozenset[Rule] = frozenset()

    def with_rules(self, allow: Iterable[Rule] = (), ask: Iterable[Rule] = (), deny: Iterable[Rule] = ()) -> "RuleSet":
        """Return these rules and further ones."""
        return RuleSet(self.allow | set(allow), self.ask | set(ask), self.deny | set(deny))

    def of(self, root: Path) -> "RuleSet":
        """Return the rules that apply in a workspace, whose folder has no links in its path."""
        return RuleSet(
            frozenset(rule for rule in self.allow if rule.base in ("", str(root))),
            frozenset(rule for rule in self.ask if not rule.base or root.is_relative_to(rule.base)),
            frozenset(rule for rule in self.deny if not rule.base or root.is_relative_to(rule.base)),
        )


NO_RULES = RuleSet()


@dataclass(frozen=True, slots=True)
class Subject:
    """A request as rules see it.

    Attributes:
        tool: Name of the tool.
        kind: What it wants to do.
        root: The workspace's folder.
        paths: The files that it concerns, relative to the folder.
        command: The command, if it is one.
        change: How a file is changed, if it is.
    """

    tool: str
    kind: RequestKind
    root: Path
    paths: tuple[str, ...] = ()
    command: str = ""
    change: ChangeKind | None = None


def subject_of(request: PermissionRequest, root: Path) -> Subject:
    """Return a request as rules see it."""
    proposal = request.proposal
    if isinstance(proposal, ChangeProposal):
        paths = (proposal.path, proposal.target) if proposal.kind is ChangeKind.MOVE else (proposal.path,)
        kind = RequestKind.DELETE if proposal.kind is ChangeKind.DELETE else RequestKind.CHANGE
        return Subject(request.tool, kind, root, paths, change=proposal.kind)
    if isinstance(proposal, CommandProposal):
        return Subject(request.tool, RequestKind.COMMAND, root, command=proposal.command)
    return Subject(request.tool, RequestKind.OTHER, root)


def parse_rule(text: str, base: str = "") -> Rule:
    """Parse a rule.

    Raises:
        RuleError: It is none.
    """
    shown = text[:80]
    if len(text) > _LIMIT_CHARS or any(not letter.isprintable() for letter in text):
        raise RuleError(f"{shown!r} is too long or has control characters; {_FORMS}")
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise RuleError(f"{shown!r} is not a rule; {_FORMS}")
    tool, pattern = match[1], match[2]
    _check_tool(tool, shown)
    if pattern is None:
        return Rule(tool, "", base)
    pattern = pattern.strip()
    if not pattern:
        raise RuleError(f"{shown!r} has nothing in its brackets; for everything, write {tool} alone")
    if tool == SHELL:
        _check_command(pattern, shown)
    elif tool not in PATH_TOOLS:
        raise RuleError(f"{shown!r}: only {', '.join(PATH_TOOLS)} and {SHELL} take brackets; write {tool} alone")
    return Rule(tool, pattern, base)


def _check_tool(tool: str, shown: str) -> None:
    known = {name.casefold(): name for name in (*PATH_TOOLS, SHELL)}
    meant = known.get(tool.casefold(), tool)
    if meant != tool:
        raise RuleError(f"{shown!r}: the tool's name is {meant}")
    if tool.casefold() in _READING_TOOLS:
        raise RuleError(f"{shown!r}: rules for {READ} hold for {tool} too; write {READ}")


def _check_command(pattern: str, shown: str) -> None:
    plain = pattern
    for ellipsis in ELLIPSES:
        plain = plain.removesuffix(f" {ellipsis}")
    words = simple_words(plain)
    if not words or any(word in ELLIPSES for word in words):
        raise RuleError(
            f"{shown!r}: only a simple command stands in a rule, without operators, variables and wildcards;"
            " for any further arguments end it in …"
        )


def allows(rule: Rule, subject: Subject) -> bool:
    """Return whether an allowing rule allows a request."""
    if rule.base and rule.base != str(subject.root):
        return False
    if subject.kind is RequestKind.COMMAND:
        return rule.tool == SHELL and _allows_command(rule, simple_words(subject.command))
    if rule.tool != subject.tool:
        return False
    if subject.kind is RequestKind.OTHER:
        # Another program's tool is none of these, whatever its name.
        return rule.tool not in (*PATH_TOOLS, SHELL)
    return bool(subject.paths) and all(_allows_path(rule.pattern or "**", path) for path in subject.paths)


def _allows_command(rule: Rule, words: Sequence[str]) -> bool:
    wanted = rule.words
    if not words or words[: len(wanted)] != wanted:
        return False
    if len(words) == len(wanted):
        return True
    # Allowing any arguments of a program that shows or checks does not allow those that run something else.
    return rule.any_arguments and (not wanted or runs_or_writes(wanted) or not runs_or_writes(words))


def names_secrets(rule: Rule) -> bool:
    """Return whether a rule's glob by itself names files with secrets, so that it opens them."""
    return any(sensitive_reason(re.sub(r"[*?]+", filler, rule.pattern)) for filler in ("", "x"))


def restricts(rule: Rule, subject: Subject) -> Match:
    """Return whether a denying or asking rule applies to a request."""
    if rule.base and not subject.root.is_relative_to(rule.base):
        return Match.NO
    if subject.kind is RequestKind.COMMAND and rule.tool == SHELL:
        return restricted(subject.command, rule.words)
    if not _covers(rule.tool, subject):
        return Match.NO
    if not rule.pattern or any(_restricts_path(rule, path, subject.root) for path in subject.paths):
        return Match.YES
    return Match.NO


def reading_restricted(rules: RuleSet, subject: Subject) -> Iterator[Rule]:
    """Yield the rules that protect a file from being read that a command names, by any reading of it."""
    kept = [rule for rule in sorted(rules.deny | rules.ask) if rule.tool == READ and rule.pattern]
    words = dict.fromkeys(words_in(subject.command)) if kept else {}
    if len(words) * len(kept) > _LIMIT_TRIES:
        yield kept[0]
        return
    reads = [Subject(READ, RequestKind.READ, subject.root, (word,)) for word in words]
    yield from (rule for rule in kept if any(restricts(rule, read) for read in reads))


def command_path_rules(rules: RuleSet, root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return globs of what commands may not read, and of what they may not change, relative to the workspace.

    A rule without a path is one for its tool, and keeps nothing from commands.
    """
    unread = {glob for rule in rules.deny | rules.ask if rule.tool == READ for glob in _inside(rule, root)}
    unchanged = {glob for rule in rules.deny if rule.tool in _EDITING_TOOLS for glob in _inside(rule, root)}
    return tuple(sorted(unread)), tuple(sorted(unchanged))


def _inside(rule: Rule, root: Path) -> Iterator[str]:
    """Yield a rule's path glob as globs below the workspace's folder."""
    written = _written(rule)
    if not written or (rule.base and not root.is_relative_to(rule.base)):
        return
    above = f"{root.relative_to(rule.base)}/" if rule.base and str(root) != rule.base else ""
    for pattern in filter(None, (written, _behind_links(written, rule.base or str(root)))):
        for prefix in {"" if not pattern.startswith("/") else f"{root}/", above}:
            if pattern.startswith(prefix) and not pattern.removeprefix(prefix).startswith("/"):
                yield pattern.removeprefix(prefix)


def _written(rule: Rule) -> str:
    return expanded(rule.pattern).removeprefix("./").rstrip("/")


def _behind_links(pattern: str, top: str) -> str:
    """Return a glob as an absolute one with links followed up to the first wildcard; empty if there are none.

    Paths are located without links, and a rule may name what it restricts by one.
    """
    path, parts = "" if pattern.startswith("/") else top, pattern.removeprefix("/").split("/")
    plain = list(takewhile(_GLOB_SIGNS.isdisjoint, parts))
    places = list(accumulate(plain, lambda above, part: str(as_on_disk(Path(f"{above}/{part}"))), initial=path))
    if not any(map(os.path.islink, places[1:])):
        return ""
    return "/".join([os.path.realpath(places[-1]), *parts[len(plain) :]])


def _covers(tool: str, subject: Subject) -> bool:
    """Return whether a tool's restriction applies to what a request does, by any tool."""
    if tool == subject.tool:
        return True
    if subject.change is None:
        return tool == READ and subject.kind is RequestKind.READ
    # Editing a file would show what must not be read; moving one away would change what must not be edited.
    if tool == READ or tool in _EDITING_TOOLS:
        return True
    return tool == subject.change.value


def _allows_path(pattern: str, path: str) -> bool:
    """Return whether a path in the folder matches a glob, as written or in another Unicode normal form."""
    if not is_inside(path):
        return False
    pattern, path = nfc(pattern), nfc(path)
    if sys.platform == "darwin":
        pattern, path = folded_path(pattern), folded_path(path)
    return glob_matches(pattern, path)


def is_inside(path: str) -> bool:
    """Return whether a relative path stays in the folder, as it is written."""
    return bool(path) and not any(part in ("", ".", "..") for part in path.split("/"))


def _restricts_path(rule: Rule, path: str, root: Path) -> bool:
    """Return whether a path or a folder around it matches a glob, however it is written."""
    written = _written(rule)
    pattern, behind = folded_path(written), folded_path(_behind_links(written, rule.base or str(root)))
    patterns = [pattern, *([] if "/" in pattern else [f"**/{pattern}"]), *([behind] if behind else [])]
    return any(glob_matches(each, form, or_folder=True) for form in _forms(path, root, rule.base) for each in patterns)


def _forms(path: str, root: Path, base: str) -> Iterator[str]:
    """Yield a path relative to the workspace, absolute, and relative to the rule's folder."""
    whole = posixpath.normpath(posixpath.join(str(root), path))
    yield folded_path(path)
    yield folded_path(whole)
    for top in filter(None, (str(root), base)):
        yield folded_path(posixpath.relpath(whole, top))


def expanded(path: str) -> str:
    """Return a path with the home folder for a leading `~/`."""
    if not path.startswith("~/"):
        return path
    with suppress(RuntimeError):  # the user may have no home
        return f"{Path.home()}{path[1:]}"
    return path


def folded_path(path: str) -> str:
    """Return a path as the most permissive file systems see it."""
    return "/".join(map(folded, path.split("/")))
