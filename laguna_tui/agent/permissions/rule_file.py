"""The files of rules: the user's `permissions.toml`, and a repository's `.laguna-tui.toml`, which may only tighten.

```toml
[rules]                          # everywhere
deny = ["shell(git push …)"]

[[folder]]                       # in one folder; written by "always" too, always at the end of the file
path = "~/code/shop"
allow = ["shell(pytest …)", "edit(src/**)"]
check = "make test"              # what checks the project; "" for nothing. Written by /check
```

A file that cannot be read completely counts as broken: what it would deny is unknown.
"""

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.agent.permissions.rules import NO_RULES, Rule, RuleSet, expanded, parse_rule
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.text import sanitize_line
from laguna_tui.repo.files.root_folder import RootFolder

REPOSITORY_FILE = ".laguna-tui.toml"
# Five hundred rules are smaller.
_LIMIT_BYTES = 256 * 1024
# Every rule is tried on every request.
_LIMIT_RULES = 500
_LOCK_S = 10.0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LISTS = ("allow", "ask", "deny")
_CHECK = "check"
# It is part of the prompt.
_CHECK_CHARS = 300

_BROKEN = "{path}: {reason}; laguna-tui asks about everything until you correct it"
_IGNORED = "{path}: a repository cannot allow anything, so its allow list is ignored; it can only deny and ask"
_REACHABLE = (
    "{path} lies in this folder, where commands could change it, so what it allows does not count here, nor does its"
    " check; it still denies and asks"
)
_NOT_SAVED = "{what} cannot be written to {path} ({reason}), so it applies to this session only"


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The contents of a rule file.

    Attributes:
        rules: Its rules; none if it is broken.
        check: The command that checks the project in the workspace's folder, empty for none; None if it names none.
        broken: Why it cannot be read as a whole, a sentence; empty if it can, or is not there.
        notes: What the user should know about it, sentences.
    """

    rules: RuleSet = NO_RULES
    check: str | None = None
    broken: str = ""
    notes: tuple[str, ...] = ()


def read_user_rules(path: Path, root: Path) -> RuleFile:
    """Read the user's rules. Never raises: a missing file has no rules, any other unreadable one is broken.

    Args:
        path: The file.
        root: The workspace's folder, without links in its path: commands can change what lies in there, so a file of
            rules that does only tightens.
    """
    try:
        table = _table(read_small_file(path, _LIMIT_BYTES, check=_check_owner))
        rules, check = _user_rules(table), _checks(table).get(str(root))
    except FileNotFoundError:
        return RuleFile()
    except (OSError, ValueError) as error:
        return _broken(str(path), error)
    if (rules.allow or check) and _lies_in(path, root):
        note = sanitize_line(_REACHABLE.format(path=path))
        return RuleFile(RuleSet(ask=rules.ask, deny=rules.deny), notes=(note,))
    return RuleFile(rules, check)


def _lies_in(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def check_user_rules(text: str, path: Path) -> None:
    """Check the text of the user's file.

    Raises:
        UserError: It cannot be read as a whole; names the file and the reason.
    """
    try:
        _user_rules(_table(text.encode()))
    except ValueError as error:
        raise UserError(f"{path}: {_reason(error)}") from error


def read_repository_rules(root: Path, identity: FolderIdentity | None = None) -> RuleFile:
    """Read what the workspace's own file denies and asks about. Never raises; no link is followed.

    Args:
        root: The workspace's folder, without links in its path.
        identity: Tells it from another folder that takes its place.
    """
    try:
        with RootFolder(root, identity) as folder:
            data = read_small_file(REPOSITORY_FILE, _LIMIT_BYTES, dir_fd=folder.folder(""), follow=False)
        table = _table(data)
        _check_keys(table, ("rules",))
        rules = _rule_set(table.get("rules", {}), "")
    except FileNotFoundError:
        return RuleFile()
    except (OSError, ValueError) as error:
        return _broken(REPOSITORY_FILE, error)
    notes = (_IGNORED.format(path=REPOSITORY_FILE),) if rules.allow else ()
    return RuleFile(RuleSet(ask=rules.ask, deny=rules.deny), notes=notes)


def append_rule(path: Path, folder: Path, rule: str, effect: str = "allow") -> None:
    """Allow or deny something in a folder from now on. The rest of the file stays as it is, comments too.

    Args:
        path: The user's file; created if it is missing, readable by the user alone.
        folder: The workspace's folder, without links in its path.
        rule: Text of a rule.
        effect: The list that it goes into, "allow" or "deny".

    Raises:
        UserError: It cannot be written; the file is unchanged.
    """

    def holds(table: dict[str, Any]) -> bool:
        return parse_rule(rule, str(folder)) in getattr(_user_rules(table), effect)

    _append(path, folder, f"the rule {rule}", f"{effect} = [{_quoted(rule)}]", holds)


def write_check(path: Path, folder: Path, command: str) -> None:
    """Set the command that checks the project in a folder, in the same way; empty for none.

    Raises:
        UserError: It cannot be written; the file is unchanged.
    """

    def holds(table: dict[str, Any]) -> bool:
        _user_rules(table)
        return _checks(table).get(str(folder)) == command

    what = f"the check {command}" if command else "that there is no check"
    _append(path, folder, what, f"{_CHECK} = {_quoted(command)}", holds)


def _append(path: Path, folder: Path, what: str, line: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    """Append a line about a folder to the user's file, unless the file already says so.

    what: in the words of the sentence that says it cannot be written. holds: of the file as a table.
    """
    from filelock import FileLock, Timeout

    if _lies_in(path, folder):
        raise UserError(_NOT_SAVED.format(what=what, path=path, reason="commands could change it there"))
    # Settings are often links to a folder elsewhere.
    real = Path(os.path.realpath(path))
    try:
        real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(f"{real}.lock", timeout=_LOCK_S):
            text = _text_of(real)
            if holds(_table(text.encode())):
                return
            text += _block(folder, line, text)
            if not holds(_table(text.encode())):
                raise ValueError("the folder's path cannot be in it")
            write_atomically(real, text, durable=True)
    except Timeout as error:
        raise UserError(_NOT_SAVED.format(what=what, path=path, reason="another laguna-tui is writing it")) from error
    except (OSError, ValueError) as error:
        raise UserError(sanitize_line(_NOT_SAVED.format(what=what, path=path, reason=_reason(error)))) from error


def _text_of(path: Path) -> str:
    try:
        return read_small_file(path, _LIMIT_BYTES, check=_check_owner).decode()
    except FileNotFoundError:
        return ""


def _block(folder: Path, line: str, before: str) -> str:
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{gap}[[folder]]\npath = {_quoted(str(folder))}\n{line}\n"


def _quoted(text: str) -> str:
    """Return a basic string of TOML, which understands JSON's escapes."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _table(data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _user_rules(table: dict[str, Any]) -> RuleSet:
    """Return the rules of a parsed file; ValueError says what is wrong with it."""
    _check_keys(table, ("rules", "folder"))
    rules = _rule_set(table.get("rules", {}), "")
    folders = table.get("folder", [])
    if not isinstance(folders, list):
        raise ValueError('a folder begins with [[folder]] and a line like path = "~/code/shop"')
    for folder in folders:
        if wrong := wrong_check(folder.get(_CHECK, "") if isinstance(folder, dict) else ""):
            raise ValueError(wrong)
        more = _rule_set(folder, _base(folder))
        rules = rules.with_rules(more.allow, more.ask, more.deny)
    return rules


def _checks(table: dict[str, Any]) -> dict[str, str]:
    """Return each folder's check in a valid parsed file; the last one counts."""
    return {_base(folder): folder[_CHECK] for folder in table.get("folder", []) if _CHECK in folder}


def wrong_check(check: object) -> str:
    """Return why this is not a command that checks a project, a sentence; empty if it is one, or empty."""
    if isinstance(check, str) and check == sanitize_line(check).strip() and len(check) <= _CHECK_CHARS:
        return ""
    return f'check is a command on one line of at most {_CHECK_CHARS} characters, like check = "make test"'


def _base(folder: object) -> str:
    path = folder.get("path") if isinstance(folder, dict) else None
    whole = expanded(path) if isinstance(path, str) else ""
    if not whole.startswith("/") or "\0" in whole:
        raise ValueError('each [[folder]] needs a line like path = "~/code/shop"')
    return os.path.realpath(whole)


def _rule_set(table: object, base: str) -> RuleSet:
    if not isinstance(table, dict):
        raise ValueError("[rules] is a table with lists allow, ask and deny")
    _check_keys(table, (*_LISTS, "path", _CHECK) if base else _LISTS)
    lists = {name: _parsed(name, table.get(name, []), base) for name in _LISTS}
    return RuleSet(**lists)


def _parsed(name: str, texts: object, base: str) -> frozenset[Rule]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f'{name} is a list of rules, like {name} = ["shell(pytest …)"]')
    if len(texts) > _LIMIT_RULES:
        raise ValueError(f"{name} has more than {_LIMIT_RULES:,} rules")
    return frozenset(parse_rule(text, base) for text in texts)


def _check_keys(table: dict[str, Any], known: Iterable[str]) -> None:
    from laguna_tui.base.spelling import did_you_mean

    for key in table.keys() - set(known):
        raise ValueError(f"unknown key {key[:80]!r}{did_you_mean(key[:80], known)}")


def _check_owner(status: os.stat_result) -> None:
    """Raise ValueError if somebody else could have written the file."""
    if status.st_mode & _OTHERS_WRITE or status.st_uid not in (os.getuid(), 0):
        raise ValueError("others can write it; run: chmod go-w, and check whose it is")


def _broken(path: str, error: Exception) -> RuleFile:
    sentence = sanitize_line(_BROKEN.format(path=path, reason=_reason(error)))
    return RuleFile(broken=sentence, notes=(sentence,))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"it cannot be read ({error.strerror or error})"
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
