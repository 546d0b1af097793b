"""Where the app saves its files (settings, state, models, what ships with it), and paths as text for a model."""

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import platformdirs

import laguna_tui

_HOME, _TOP = "is your home folder", "holds all folders"


def too_wide_reason(folder: Path) -> str:
    """Return why a folder is more than one project, as the end of a sentence; empty when it may be one.

    Args:
        folder: without links in its path.
    """
    with suppress(RuntimeError):  # the user may have no home
        home = Path.home().resolve()
        if folder == home:
            return _HOME
        if home.is_relative_to(folder):
            return _TOP if folder == folder.parent else "holds your home folder"
    return _TOP if folder == folder.parent else ""


_PACKAGE = Path(laguna_tui.__file__).resolve().parent


def data_root() -> Path:
    """Return the folder that holds `models.toml` and `assets/`."""
    installed = _PACKAGE / "data"
    return installed if installed.is_dir() else _PACKAGE.parent


APP = "laguna-tui"
STORE_VARIABLE = "LAGUNA_TUI_MODELS"
"""An environment variable that moves the store of models, to a larger disk for example."""


def store_folder() -> Path:
    """Return the folder of downloaded models.

    They are data, not cache: cleaning caches must not delete a download of twenty gigabytes.
    """
    chosen = os.environ.get(STORE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_data_path(APP) / "models"


def user_catalogue() -> Path:
    """Return the user's own `models.toml`; it need not be there."""
    return platformdirs.user_config_path(APP) / "models.toml"


def config_path() -> Path:
    """Return the path of the user's `config.toml`; it need not be there."""
    return platformdirs.user_config_path(APP) / "config.toml"


def keys_path() -> Path:
    """Return the path of the user's keys; the file need not be there."""
    return platformdirs.user_config_path(APP) / "keys.toml"


def rules_path() -> Path:
    """Return the path of the user's permission rules; the file need not be there."""
    return platformdirs.user_config_path(APP) / "permissions.toml"


def state_dir() -> Path:
    """Return the folder for what the app saves between runs: sessions, input history, draft statistics."""
    return platformdirs.user_state_path(APP)


def can_hold_files(folder: Path) -> bool:
    """Return whether files can be created in a folder, or the folder itself if it is missing."""
    there = next((path for path in (folder, *folder.parents) if os.access(path, os.F_OK)), folder)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def command_state_dir() -> Path:
    """Return where the app records what commands need undone: the state folder if it can be written to.

    Without a home that can be written to (`HOME=/dev/null`, system users) it is a private folder in the temporary one.

    Raises:
        OSError: it cannot be made, or belongs to somebody else.
    """
    state = state_dir()
    if can_hold_files(state):
        return state
    import tempfile  # which imports `random`: 4 ms of every start

    folder = Path(tempfile.gettempdir()) / f"{APP}-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
        raise PermissionError(errno.EPERM, "it is not a private folder of yours", str(folder))
    return folder


def cache_dir() -> Path:
    """Return the folder for what can be computed again."""
    return platformdirs.user_cache_path(APP)


SESSIONS = "sessions"
"""The folder in the state folder with the saved sessions."""
EXPORTS = "exports"
"""The folder in the state folder with the chats that the user exports."""
SNAPSHOTS = "snapshots"
"""The folder in the cache folder with the KV caches of sessions, a folder each: they can be computed again."""


class FolderIdentity(NamedTuple):
    """What distinguishes a folder from one that replaced it: its device and its inode."""

    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """Return the identity of a folder with this status."""
        return cls(status.st_dev, status.st_ino)


# Undecodable bytes (as `surrogateescape` keeps them), C0, DEL, C1 and Unicode's line separators.
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\udc80-\udcff]")
_ESCAPED_BYTE = re.compile(rb"\\x([0-9a-f]{2})")


def escaped(path: str) -> str:
    r"""Return the path on one line and encodable, each odd byte as `\xNN`."""
    return _ODD.sub(lambda match: "".join(f"\\x{byte:02x}" for byte in os.fsencode(match.group())), path)


def unescaped(path: str) -> str:
    r"""Return the path that `escaped` was given; a name that really contains `\xNN` comes back wrong.

    Raises:
        ValueError: The path has characters that no file name has.
    """
    return os.fsdecode(_ESCAPED_BYTE.sub(lambda match: bytes([int(match[1], 16)]), os.fsencode(path)))
