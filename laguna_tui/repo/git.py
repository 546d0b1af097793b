"""Asking git about a folder whose configuration may be hostile: nothing that the repository names is ever run.

A repository's own `.git/config` can name programs for git to start (fsmonitor, hooks, pager, filters, transports;
precedents: CVE-2025-59536, CVE-2026-21852). Each is switched off here, and no answer is better than a risky one:
every function returns None when git is missing, slow or unwilling.
"""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.child import find_program

# A status that takes longer than this is not worth waiting for before the first answer.
GIT_TIMEOUT_S = 5.0
# Without git's list every folder is walked and every ignore file obeyed here, which takes longer still.
LIST_TIMEOUT_S = 60.0
# How soon a stop by the user is noticed.
_POLL_S = 0.05

_GUARDS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.attributesFile": os.devnull,
    "core.untrackedCache": "false",
    "credential.helper": "",
    "diff.external": "",
    "submodule.recurse": "false",
}
# Only what git needs is passed on: GIT_DIR, GIT_CONFIG_* and the like from outside would change what is asked.
_PASSED_ON = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_DETACHED = "(detached)"


@dataclass(frozen=True, slots=True)
class GitState:
    """What HEAD is on, and how many paths differ from it (changed, added, deleted or not tracked)."""

    branch: str
    changed: int


def is_repository(folder: Path) -> bool:
    """Whether the folder or one above it holds a `.git` (a folder, or a file in a worktree)."""
    return any((place / ".git").exists() for place in (folder, *folder.parents))


def list_files(folder: Path, should_stop: Callable[[], bool] = lambda: False) -> list[str] | None:
    """Paths below the folder that are tracked, or new and not ignored; relative to it, in git's order."""
    command = ("ls-files", "-co", "--exclude-standard", "-z")
    listed = _git(folder, command, timeout_s=LIST_TIMEOUT_S, should_stop=should_stop)
    return None if listed is None else [os.fsdecode(path) for path in listed.split(b"\0") if path]


def state(folder: Path) -> GitState | None:
    """The branch and the number of changed paths."""
    answer = _git(
        folder,
        ("status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--ignore-submodules=all"),
        _without_filters(folder),
    )
    if answer is None:
        return None
    records = [os.fsdecode(record) for record in answer.split(b"\0") if record]
    headers = dict(record[2:].split(" ", 1) for record in records if record.startswith("# "))
    branch = headers.get("branch.head", _DETACHED)
    if branch == _DETACHED:
        branch = headers.get("branch.oid", "")[:8] or _DETACHED
    return GitState(branch, sum(not record.startswith("#") for record in records))


def _without_filters(folder: Path) -> dict[str, str]:
    """Settings that empty every configured filter: a status would run them on files that look changed."""
    names = _git(folder, ("config", "--list", "--name-only", "-z")) or b""
    filters = {key.rsplit(".", 1)[0] for key in os.fsdecode(names).split("\0") if key.lower().startswith("filter.")}
    return {
        f"{name}.{key}": value
        for name in sorted(filters)
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def _git(
    folder: Path,
    command: Sequence[str],
    settings: Mapping[str, str] | None = None,
    timeout_s: float = GIT_TIMEOUT_S,
    should_stop: Callable[[], bool] = lambda: False,
) -> bytes | None:
    """What git prints, or None when it is missing, fails, takes too long or was stopped."""
    program = find_program("git")
    if program is None:
        return None
    try:
        process = subprocess.Popen(
            [program, "--no-pager", *command],
            cwd=folder,
            env=_environment({**_GUARDS, **(settings or {})}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    with process:
        try:
            printed = _printed(process, time.monotonic() + timeout_s, should_stop)
        finally:
            process.kill()  # does nothing to one that has ended
        return printed if process.wait() == 0 else None


def _printed(process: subprocess.Popen[bytes], deadline: float, should_stop: Callable[[], bool]) -> bytes | None:
    """All that a process prints until it ends; None when there is no time for that."""
    while time.monotonic() < deadline and not should_stop():
        try:
            return process.communicate(timeout=_POLL_S)[0]
        except subprocess.TimeoutExpired:
            continue
    return None


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a git call. Settings travel as GIT_CONFIG_n, which takes names that `-c` would misread."""
    passed_on = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
    config = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings.items()):
        config |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {**passed_on, **_ENVIRONMENT, **config}
