"""Recognises commands that destroy what is hard to recover, so that the question about them looks different.

This only helps the user to notice, and is not a boundary: a command may hide what it does. Nothing is run.
"""

import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from laguna_tui.agent.permissions.command_patterns import (
    NO_PROGRAM,
    SEGMENTS,
    SHELLS,
    WRAPPERS,
    decoded_escapes,
    program_name,
)


@dataclass(frozen=True, slots=True)
class _Destruction:
    """A kind of command that destroys something.

    Attributes:
        program: Its name; "mkfs" also stands for "mkfs.ext4".
        subcommand: The first argument that is not an option; empty for any.
        options: One of these is there, as a short letter, a long name, or a whole word; empty if none is needed.
        why: A clause that begins with what the user sees in the command.
    """

    program: str
    subcommand: str
    options: tuple[str, ...]
    why: str


def _all(why: str, *programs: str, options: str = "", subcommand: str = "") -> list[_Destruction]:
    return [_Destruction(name, subcommand, tuple(options.split()), why.format(name)) for name in programs]


_TABLE = (
    *_all("{} -r deletes folders with everything in them", "rm", options="-r -R --recursive --no-preserve-root"),
    *_all("find -delete deletes what it finds", "find", options="-delete"),
    *_all("git reset --hard discards uncommitted changes", "git", subcommand="reset", options="--hard"),
    *_all(
        "git push --force replaces or deletes commits that others may have",
        "git",
        subcommand="push",
        options="-f --force -d --delete --mirror --prune",
    ),
    *_all("git clean deletes untracked files", "git", subcommand="clean", options="-f --force"),
    *_all(
        "git checkout of files discards uncommitted changes",
        "git",
        subcommand="checkout",
        options="-- . -f --force :/",
    ),
    *_all("git restore discards uncommitted changes", "git", subcommand="restore"),
    *_all(
        "git switch discards uncommitted changes",
        "git",
        subcommand="switch",
        options="-f --force --discard-changes",
    ),
    *_all("git stash drop deletes stashed changes", "git", subcommand="stash", options="drop clear"),
    *_all("git branch -D deletes commits that no other branch has", "git", subcommand="branch", options="-D"),
    *_all("git rm deletes files", "git", subcommand="rm", options="-r -f --force"),
    *_all("git filter-branch rewrites all commits", "git", subcommand="filter-branch"),
    *_all("git reflog expire makes earlier commits unrecoverable", "git", subcommand="reflog", options="expire"),
    *_all("git update-ref -d deletes a branch", "git", subcommand="update-ref", options="-d"),
    *_all("{} overwrites a device or a file", "dd", "mkfs", "mkswap", "wipefs", "fdisk", "sfdisk", "parted"),
    *_all("{} destroys the contents of files", "shred", "truncate", "blkdiscard"),
    *_all(
        "{} -R changes all files in a folder, and their earlier state is lost",
        "chmod",
        "chown",
        "chgrp",
        "setfacl",
        options="-R --recursive",
    ),
    *_all("rsync --delete deletes what the source does not have", "rsync", options="--delete --del"),
    *_all("{} down -v deletes data", "docker-compose", options="-v --volumes", subcommand="down"),
    *_all("{} prune deletes containers, images or data", "docker", "podman", options="prune"),
    *_all("{} delete deletes resources of a cluster", "kubectl", subcommand="delete"),
    *_all("{} destroy deletes infrastructure", "terraform", "tofu", "pulumi", subcommand="destroy"),
    *_all("dropdb deletes a database", "dropdb"),
    *_all("crontab -r deletes all jobs of the user", "crontab", options="-r"),
)
# Their arguments may be another program, which is searched for in all words.
_STARTERS = WRAPPERS | SHELLS | frozenset("docker fd fdfind find kubectl podman ssh".split())
_CODE = re.compile(r"\b(rmtree|rmSync|rm_rf|rimraf|remove_dir_all|RemoveAll)\b")
_DATABASE = re.compile(r"\b(drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from)\b", re.IGNORECASE)
_DELETES_BY_CODE, _DELETES_DATA = "{} deletes folders with everything in them", "{} deletes data of a database"
_OVERWRITES = "it overwrites {}"
_WILDCARDS = "rm deletes every file that matches a pattern"
# A redirection that truncates, and its target; not "2>&1", ">>" and ">(".
_REDIRECTION = re.compile(r"(?<![<>=-])(?:&|\d)?>\|?(?!>)\s*(\"[^\"]*\"|'[^']*'|[^\s;|&<>()\"']+)")
_COPIERS = frozenset({"cp", "mv", "install", "ln"})
_PROGRAMS = frozenset(each.program for each in _TABLE) | _COPIERS | {"tee"}
# Programs checked behind one that starts others, and the longest text.
_MOST_PROGRAMS, _READ_CHARS = 20, 64 * 1024
_TOO_LONG = "it is too long to tell what it destroys"
_SHOWN = 3


def destruction(command: str, folder: Path) -> str:
    """Return what a command destroys, as a sentence; empty if nothing is known.

    Args:
        command: Any text.
        folder: Its working directory.
    """
    if len(command) > _READ_CHARS:
        return f"{_TOO_LONG}."
    text = decoded_escapes(command)
    found = dict.fromkeys(_destructions(text, folder))
    shown = list(found)[:_SHOWN]
    return f"{'; '.join(shown)}." if shown else ""


def _destructions(text: str, folder: Path) -> Iterator[str]:
    for part in SEGMENTS.split(text.replace("`", "\n")):
        yield from _of_part(_words(part), folder)
    for pattern, why in ((_CODE, _DELETES_BY_CODE), (_DATABASE, _DELETES_DATA)):
        if match := pattern.search(text):
            yield why.format(match[1])
    for match in _REDIRECTION.finditer(text):
        yield from _overwritten(match[1].strip("\"'"), folder)


def _words(part: str) -> list[str]:
    """Return the words of a part between two operators, without assignments and keywords in front."""
    try:
        words = shlex.split(part)
    except ValueError:
        words = [word.strip("\"'") for word in part.split()]
    while words and (words[0] in NO_PROGRAM or "=" in words[0].partition("/")[0]):
        del words[0]
    return words


def _of_part(words: Sequence[str], folder: Path) -> Iterator[str]:
    if not words:
        return
    yield from _of_program(words, folder)
    if program_name(words[0]) not in _STARTERS:
        return
    flat = [each for word in words[1:] for each in word.split()]
    programs = [at for at, word in enumerate(flat) if program_name(word).partition(".")[0] in _PROGRAMS]
    if len(programs) > _MOST_PROGRAMS:
        yield _TOO_LONG
    for at in programs[:_MOST_PROGRAMS]:
        yield from _of_program(flat[at:], folder)


def _of_program(words: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield what a program with its arguments destroys."""
    program = program_name(words[0])
    arguments = words[1:]
    names = [word for word in arguments if not word.startswith("-")]
    for each in _TABLE:
        if program.partition(".")[0] != each.program or (each.subcommand and each.subcommand not in names[:2]):
            continue
        if not each.options or any(_has(arguments, option) for option in each.options):
            yield each.why
    if program == "find" and any(
        option.startswith(("-exec", "-ok")) and program_name(word) == "rm" for option, word in pairwise(arguments)
    ):
        yield "find -exec rm deletes what it finds"
    if program == "rm" and any("*" in name for name in names):
        yield _WILDCARDS
    if program == "git" and "push" in names and any(name.startswith("+") for name in names):
        yield "git push +BRANCH replaces commits that others may have"
    if program in _COPIERS and len(names) > 1 and not _has(arguments, "-n"):
        yield from _overwritten(names[-1], folder)
    if program == "tee" and not _has(arguments, "-a") and not _has(arguments, "--append"):
        for name in names:
            yield from _overwritten(name, folder)


def _has(arguments: Sequence[str], option: str) -> bool:
    """Return whether an option is among the arguments, in a cluster of letters or as a long name, maybe abbreviated."""
    if len(option) == 2 and option[0] == "-" and option[1] != "-":
        return any(word[:1] == "-" and word[:2] != "--" and option[1] in word for word in arguments)
    if option.startswith("--") and len(option) > 2:
        given = [word.partition("=")[0] for word in arguments if word.startswith("--")]
        return any(len(word) > 3 and (option.startswith(word) or word.startswith(option)) for word in given)
    return option in arguments


def _overwritten(target: str, folder: Path) -> Iterator[str]:
    """Yield a sentence about an existing file or device that is overwritten."""
    try:
        status = (folder / Path(target).expanduser()).stat()
    except (OSError, RuntimeError, ValueError):
        return
    if (stat.S_ISREG(status.st_mode) and status.st_size) or stat.S_ISBLK(status.st_mode):
        yield _OVERWRITES.format(target)
