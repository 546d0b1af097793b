"""Crash logs: the traceback of an unexpected failure in a private file, and the folder to save it in."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from laguna_tui import __version__


def write_crash_log(error: BaseException, state_dir: Path | None) -> Path | str:
    """Write the traceback of `error`, without secrets, into a new private file. Never raises.

    Args:
        error: the failure.
        state_dir: the state folder. If it is None or cannot be written to, the system's folder for temporary files
            is used.

    Returns:
        The file's path, or the reason why none could be written.
    """

    def write(folder: Path) -> Path:
        import platform
        import traceback
        from importlib.metadata import version

        from laguna_tui.base.redact import redact

        about = f"laguna-tui {__version__}, textual {version('textual')}, Python {platform.python_version()}"
        text = f"{about}, {platform.platform()}\n\n{''.join(traceback.format_exception(error))}"
        return create_private_file(folder, time.strftime("laguna-crash-%Y%m%d-%H%M%S"), ".log", redact(text))

    return write_to_state_dir(write, state_dir)


def write_to_state_dir(write: Callable[[Path], Path], state_dir: Path | None) -> Path | str:
    """Call `write` with the state folder, or with the system's folder for temporary files when that fails.

    Returns:
        The path that `write` returned, or the reason why it failed in both folders. Never raises.
    """
    import tempfile

    reason = ""
    for folder in filter(None, (state_dir, Path(tempfile.gettempdir()))):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return write(folder)
        except OSError as error:
            reason = reason or (error.strerror or str(error))
        except Exception as error:
            # What is written may come from the code that failed.
            return type(error).__name__
    return reason


def create_private_file(folder: Path, stem: str, suffix: str, text: str) -> Path:
    """Create a file that only its owner may read, named `stem` and a number if needed. Never overwrites a file.

    Raises:
        OSError: the folder cannot be written to.
    """
    number = 0
    while True:
        path = folder / f"{stem}{f'-{number}' if number else ''}{suffix}"
        try:
            # A chat or a traceback may quote private code.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return path
