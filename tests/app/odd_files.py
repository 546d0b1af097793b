"""What can lie in the place of a small file: each would be waited for, or read without an end."""

import os
import socket
import stat
from pathlib import Path

import pytest


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    """A file of many gigabytes that takes no room."""
    with path.open("wb") as file:
        file.truncate(64 << 30)


def listening(path: Path) -> None:
    """A socket; its path is short enough relative to its folder only."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def device(path: Path) -> None:
    """A device like /dev/null: a test must never be able to replace that one."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.open("rb").close()
    except PermissionError:
        pytest.skip("this user may not make devices here")


odd = pytest.mark.parametrize("make", [pipe, endless, huge, listening])
"""A test that is given each of them as `make`, to be called with a path."""
