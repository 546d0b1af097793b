"""Repairs that the doctor can make without losing anything: permissions of the app's own folders and files."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from laguna_tui.base.paths import APP, config_path, rules_path, state_dir, store_folder, user_catalogue

_FOLDER = stat.S_IRWXU
_FILE = stat.S_IRUSR | stat.S_IWUSR


@dataclass(frozen=True, slots=True)
class Repair:
    """A possible repair.

    Attributes:
        what: What is done, as a sentence.
        run: Does it; raises OSError if that is not possible.
    """

    what: str
    run: Callable[[], None]


def permission_repairs() -> Iterator[Repair]:
    """Yield repairs for the app's own folders and files that the user cannot access any more."""
    for folder in (store_folder(), state_dir(), platformdirs.user_cache_path(APP), config_path().parent):
        yield from _opened(folder, _FOLDER, stat.S_ISDIR, "use")
    for file in (config_path(), user_catalogue(), rules_path()):
        yield from _opened(file, _FILE, stat.S_ISREG, "read")


def _opened(path: Path, wanted: int, kind: Callable[[int], bool], words: str) -> Iterator[Repair]:
    try:
        # A link may lead to what is not the app's.
        found = path.lstat()
    except OSError:
        return
    if kind(found.st_mode) and found.st_uid == os.getuid() and found.st_mode & wanted != wanted:
        mode = stat.S_IMODE(found.st_mode) | wanted
        yield Repair(f"you can {words} {path} again", lambda: path.chmod(mode))
