"""What git runs or reads because of its configuration, or of an operation that is not finished."""

import fnmatch
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_engine.native.child import find_program
from laguna_tui.repo.git import repository


def _matcher(names: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(map(fnmatch.translate, names.split()))).match


# Settings whose value is a path: git-config(1).
_PATHS = frozenset(("core.hookspath", "core.attributesfile", "init.templatedir"))
# A file is included relative to the one that includes it.
_INCLUDES = _matcher("include.path includeif.*.path")
# Settings whose value is a command: git-config(1), gitattributes(5), git-lfs-config(5).
_COMMANDS = _matcher(
    """
    core.fsmonitor core.sshcommand core.editor core.pager core.askpass core.gitproxy core.alternaterefscommand
    sequence.editor pager.* interactive.difffilter gpg.program gpg.*.program gpg.ssh.defaultkeycommand diff.external
    diff.*.command diff.*.textconv filter.*.clean filter.*.smudge filter.*.process merge.*.driver mergetool.*.cmd
    mergetool.*.path difftool.*.cmd difftool.*.path browser.*.cmd browser.*.path man.*.cmd man.*.path guitool.*.cmd
    credential.helper credential.*.helper trailer.*.command trailer.*.cmd hook.*.command remote.*.uploadpack
    remote.*.receivepack uploadpack.packobjectshook tar.*.command sendemail.*cmd lfs.customtransfer.*.path
    lfs.extension.*.clean lfs.extension.*.smudge
    """
)
# Settings whose value is a shell command after "!".
_SHELL_COMMANDS = _matcher("alias.* submodule.*.update")
# Files of an unfinished rebase or cherry-pick, and whether git runs a program because of their contents.
_RESUMED: dict[str, Callable[[bytes], object]] = {
    "rebase-merge/git-rebase-todo": re.compile(rb"^[ \t]*(exec|x)([ \t\r]|$)", re.MULTILINE).search,
    "rebase-merge/strategy": lambda strategy: not re.fullmatch(rb"[\w-]*\s*", strategy),
    "sequencer/opts": lambda options: b"strategy" in options and re.search(rb"[/\\]", options),
}
# A rebase of 10,000 commits has a list of one megabyte.
_TODO_BYTES = 4 * 1024 * 1024


def configured_paths(top: Path) -> tuple[Path, ...] | None:
    """Return what git's configuration has git read or run besides git's own files; None when git does not answer.

    These are included files, folders of hooks and templates, the file of attributes, and the existing files that a
    command names: a monitor, a filter, an editor, an alias. The configuration is the system's, the user's and the
    repository's. What an included file includes is only followed if its condition holds.

    Args:
        top: A folder that contains `.git`. Relative paths are taken from here, as git runs commands here.

    Returns:
        Absolute paths; links are not resolved.
    """
    if find_program("git") is None:
        return ()
    listed = repository.query(top, ("config", "--list", "--show-origin", "-z"))
    if listed is None:
        return None
    fields = [os.fsdecode(field) for field in listed.split(b"\0")]
    found = []
    for origin, setting in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        # The settings of the query itself have another origin.
        if not value or value == os.devnull or not origin.startswith("file:"):
            continue
        key = key.lower()
        if _INCLUDES(key):
            found.append((top / origin.removeprefix("file:")).parent / _expanded(value))
        elif key in _PATHS:
            found.append(top / _expanded(value))
        elif _COMMANDS(key) or (_SHELL_COMMANDS(key) and value.startswith("!")):
            named = (top / _expanded(word) for word in _words(value))
            found += [path for path in named if os.path.isfile(path)]  # noqa: PTH113 - no error for a long name
    return tuple(dict.fromkeys(found))


def _words(command: str) -> set[str]:
    """Return the words of a shell command, those within quotes too: it may be a command for another shell."""
    try:
        quoted = shlex.split(command)
    except ValueError:
        quoted = []
    plain = re.split(r"""[\s;&|<>(){}`"'!]+""", command)
    return {word for word in (*quoted, *plain) if word}


def _expanded(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - that of Path fails for an unknown user


def resumed_programs(top: Path) -> tuple[Path, ...]:
    """Return the files of an unfinished rebase or cherry-pick from which git runs a program when it is continued.

    `exec` in the list of a rebase is a shell command. A strategy that is no plain word is run as a program of the
    folder: `git-merge-../x` is a relative path.

    Args:
        top: A folder that contains `.git`.
    """
    found = []
    for folder in repository.git_folders(top):
        for name, runs in _RESUMED.items():
            path = folder / name
            try:
                if runs(read_small_file(path, _TODO_BYTES)):
                    found.append(path)
            except (OSError, ValueError):
                # What is too large or no file is not read here, but git may read it.
                found += [path] if os.path.lexists(path) else []
    return tuple(found)
