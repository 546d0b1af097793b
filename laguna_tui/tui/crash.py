"""When the screen's own code fails: the conversation is kept, and one sentence says where it and the traceback are."""

import os
import time
import traceback
from pathlib import Path

from textual.worker import WorkerFailed

from laguna_tui.errors import kept, log_failure
from laguna_tui.text import sanitize_line
from laguna_tui.tui.export import write_chat
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
    chat = kept(lambda folder: write_chat(document, folder, time.localtime()), state) if asked else None
    log = log_failure(error, state)
    conversation = f"the conversation {_where(chat)}" if chat is not None else "nothing was asked yet"
    return f"The screen failed ({what}): {conversation}, and what to report {_where(log)}."


def _where(saved: Path | str) -> str:
    if isinstance(saved, Path):
        return f"is saved in {sanitize_line(os.fspath(saved))}"
    return f"could not be saved ({sanitize_line(saved)})"
