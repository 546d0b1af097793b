"""What can lie in the place of a small file: each would be waited for, or read without an end."""

import os
import socket
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


odd = pytest.mark.parametrize("make", [pipe, endless, huge, listening])
"""A test that is given each of them as `make`, to be called with a path."""
