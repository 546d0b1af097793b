"""What the app tells a user who asked for something it cannot do, and what it keeps of a failure nobody expected."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from laguna_tui import __version__


class UserError(Exception):
    """A setting, a path or an argument is wrong; the message is the whole sentence to show, and says what to do."""


def log_failure(error: BaseException, state: Path | None) -> Path | str:
    """Write the traceback into a private file; its path, or why there is none. Never raises.

    Args:
        state: the state folder; where it is None or cannot be written to, the system's folder for such files is used.
    """

    def write(folder: Path) -> Path:
        import platform
        import traceback
        from importlib.metadata import version

        about = f"laguna-tui {__version__}, textual {version('textual')}, Python {platform.python_version()}"
        text = f"{about}, {platform.platform()}\n\n{''.join(traceback.format_exception(error))}"
        return write_new(folder, time.strftime("laguna-crash-%Y%m%d-%H%M%S"), ".log", text)

    return kept(write, state)


def kept(write: Callable[[Path], Path], state: Path | None) -> Path | str:
    """The path of what was written into the state folder or the system's; why not, where neither can be written to."""
    import tempfile

    why = ""
    for folder in filter(None, (state, Path(tempfile.gettempdir()))):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return write(folder)
        except OSError as error:
            why = why or (error.strerror or str(error))
        except Exception as error:
            # What is written may be what the failing code left behind.
            return type(error).__name__
    return why


def write_new(folder: Path, stem: str, suffix: str, text: str) -> Path:
    """Write a text into a new private file, named after `stem`, and return its path. Never writes over a file.

    Raises:
        OSError: the folder cannot be written to.
    """
    number = 0
    while True:
        path = folder / f"{stem}{f'-{number}' if number else ''}{suffix}"
        try:
            # A chat may quote private code: only its owner may read it.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return path
