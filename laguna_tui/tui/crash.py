"""When the screen's own code fails: the conversation is kept, and one sentence says where it and the traceback are."""

import os
import platform
import tempfile
import time
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from textual.worker import WorkerFailed

from laguna_tui import __version__
from laguna_tui.text import sanitize_line
from laguna_tui.tui.export import write_chat, write_new
from laguna_tui.tui.markdown.wrap import crop
from laguna_tui.tui.transcript.document import Document
from laguna_tui.tui.transcript.pieces import Asked

# Characters of the error itself in the sentence.
_ERROR_CHARS = 120


def keep(error: BaseException, document: Document, state: Path | None) -> str:
    """Write the conversation and the traceback into the state folder, or else the system's folder for such files.

    Returns:
        A sentence for the user, safe to show, that names both files. Never raises.
    """
    if isinstance(error, WorkerFailed):
        error = error.error
    what = crop(sanitize_line(traceback.format_exception_only(error)[-1].strip()), _ERROR_CHARS)
    asked = any(isinstance(piece, Asked) for piece in document.pieces)
    chat = _kept(lambda folder: write_chat(document, folder, time.localtime()), state) if asked else None
    log = log_failure(error, state)
    conversation = f"the conversation {_where(chat)}" if chat is not None else "nothing was asked yet"
    return f"The screen failed ({what}): {conversation}, and what to report {_where(log)}."


def log_failure(error: BaseException, state: Path | None) -> Path | str:
    """Write the traceback into a private file; its path, or why there is none."""
    about = f"laguna-tui {__version__}, textual {version('textual')}, Python {platform.python_version()}"
    text = f"{about}, {platform.platform()}\n\n{''.join(traceback.format_exception(error))}"
    stem = time.strftime("laguna-crash-%Y%m%d-%H%M%S")
    return _kept(lambda folder: write_new(folder, stem, ".log", text), state)


def _kept(write: Callable[[Path], Path], state: Path | None) -> Path | str:
    """The path of what was written; why it was not, where no folder could be written to."""
    why = ""
    for folder in filter(None, (state, Path(tempfile.gettempdir()))):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return write(folder)
        except OSError as error:
            why = why or (error.strerror or str(error))
        except Exception as error:
            # The document is what the failing code left behind.
            return type(error).__name__
    return why


def _where(kept: Path | str) -> str:
    if isinstance(kept, Path):
        return f"is saved in {sanitize_line(os.fspath(kept))}"
    return f"could not be saved ({sanitize_line(kept)})"
