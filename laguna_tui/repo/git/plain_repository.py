"""Tells a new git folder that only holds data from one that makes git run something."""

import os
import re
import stat
from collections.abc import Iterator

from laguna_engine.files import read_small_file

_CONFIG_BYTES = 64 * 1024
_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\\n]|\\["\\])*)")?\s*\]')
_VALUE = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*([^\\\n]*))?")
_KEYS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode"}
    | {"symlinks", "hidedotfiles"},
    "extensions": {"objectformat", "refstorage"},
    "user": {"name", "email"},
    "init": {"defaultbranch"},
    "remote": {"url", "fetch", "tagopt"},
    "branch": {"remote", "merge", "rebase"},
}
"""What `git init`, `clone` and `commit` write; none of these keys names a program. (git help config)"""
_DATA = {
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "COMMIT_EDITMSG",
    "config",
    "description",
    "index",
    "packed-refs",
    "shallow",
}
_DATA_FOLDERS = {"objects", "refs", "logs", "branches", "hooks", "info", "reftable"}
_INFO = {"exclude", "refs", "packs"}


def is_plain_repository(parent: int, name: str) -> bool:
    """Return whether a git folder holds nothing but data, known settings and sample hooks.

    Args:
        parent: Descriptor of the folder that it is in.
        name: Its name there.
    """
    try:
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        return False
    try:
        return all(_is_plain(folder, entry) for entry in _entries(folder))
    except (OSError, ValueError):
        return False
    finally:
        os.close(folder)


def _is_plain(folder: int, entry: tuple[str, int]) -> bool:
    name, mode = entry
    if stat.S_ISDIR(mode):
        return name in _DATA_FOLDERS and all(_is_data_in(name, *inner) for inner in _entries(folder, name))
    if not stat.S_ISREG(mode):
        return False
    if name == "config":
        text = read_small_file(name, _CONFIG_BYTES, dir_fd=folder, follow=False).decode("utf-8")
        return has_known_settings(text)
    return name.removesuffix(".lock") in _DATA


def _is_data_in(folder: str, name: str, mode: int) -> bool:
    if folder == "hooks":
        return stat.S_ISREG(mode) and name.endswith(".sample")
    if folder == "info":
        return stat.S_ISREG(mode) and name in _INFO
    # Objects of another folder (`info/alternates`) are data too.
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def has_known_settings(config: str) -> bool:
    """Return whether a configuration of git has only keys and values that make git run or read nothing else."""
    allowed: set[str] = set()
    for line in config.splitlines():
        text = line.strip()
        if not text or text[0] in "#;":
            continue
        if section := _SECTION.fullmatch(text):
            allowed = _KEYS.get(section[1].lower(), set())
        elif not (value := _VALUE.fullmatch(text)) or value[1].lower() not in allowed or "::" in (value[2] or ""):
            # "::" begins the name of a program that git runs for a remote.
            return False
    return True


def _entries(folder: int, name: str = ".") -> Iterator[tuple[str, int]]:
    opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        for entry in os.listdir(opened):  # noqa: PTH208, a descriptor
            yield entry, os.stat(entry, dir_fd=opened, follow_symlinks=False).st_mode
    finally:
        os.close(opened)
