"""When the screen's own code fails: the conversation is kept, and one sentence says where it and the traceback are."""

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import RenderableType
from textual.app import App
from textual.worker import WorkerFailed

from laguna_tui.base.crash_log import write_crash_log, write_to_state_dir
from laguna_tui.base.text import sanitize_line
from laguna_tui.tui.driver import TerminalDriver
from laguna_tui.tui.modal import notify
from laguna_tui.tui.text_lines import crop
from laguna_tui.tui.transcript.document import Document
from laguna_tui.tui.transcript.entries import QuestionEntry
from laguna_tui.tui.transcript.export import write_chat

# Characters of the error itself in the sentence.
_ERROR_CHARS = 120


class CrashSafeApp(App[None]):
    """An app that gives the terminal back and keeps the conversation when its own code fails.

    Attributes:
        document: the conversation.
        state_dir: the folder for what is kept; None for the system's folder for such files.
    """

    def __init__(self, document: Document, state_dir: Path | None) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.document = document
        self.state_dir = state_dir
        self._crash = ""

    def when_failed(self) -> Sequence[Callable[[], None]]:
        """What to do when the screen fails, before the conversation is kept. One that raises stops no other."""
        return ()

    def run_to_the_end(self) -> int:
        """Run until the user leaves or the screen fails, which one sentence on stderr says; the exit code."""
        hook, threading.excepthook = threading.excepthook, lambda failed: self.failed_behind(failed.exc_value)
        try:
            self.run()
        except Exception as error:
            self._fail(error)
        finally:
            threading.excepthook = hook
        if self._crash:
            sys.stderr.write(f"laguna-tui: {self._crash}\n")
            return 1
        return self.return_code or 0

    def failed_behind(self, error: BaseException | None) -> None:
        """A thread or a task that no screen waits for failed: the app goes on."""
        if error is None:
            return
        log = write_crash_log(error, self.state_dir)
        where = f"; what to report is in {log}" if isinstance(log, Path) else ""
        with contextlib.suppress(Exception):
            self.call_later(
                notify, self, f"Something failed in the background ({type(error).__name__}){where}", "error"
            )

    def _fail(self, error: BaseException) -> None:
        """Keep the conversation, once, and stop the work; nothing here may fail again."""
        if self._crash:
            return
        self._crash = "The screen failed."
        for step in self.when_failed():
            with contextlib.suppress(Exception):
                step()
        self._crash = keep(error, self.document, self.state_dir)

    def _handle_exception(self, error: Exception) -> None:
        if self._exit:
            # The user has left: what the rest of the screen makes of that is no reason to say that it failed.
            write_crash_log(error, self.state_dir)
            return
        self._fail(error)
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual would render the traceback with the values of all local variables, for the terminal.
        self._close_messages_no_wait()

    def panic(self, *renderables: RenderableType) -> None:
        del renderables
        self._fail(self._exception or RuntimeError("textual gave up"))
        self._return_code = 1
        self._close_messages_no_wait()


def keep(error: BaseException, document: Document, state: Path | None) -> str:
    """Write the conversation and the traceback into the state folder, or else the system's folder for such files.

    Returns:
        A sentence for the user, safe to show, that names both files. Never raises.
    """
    if isinstance(error, WorkerFailed):
        error = error.error
    what = crop(sanitize_line(traceback.format_exception_only(error)[-1].strip()), _ERROR_CHARS)
    asked = any(isinstance(piece, QuestionEntry) for piece in document.pieces)
    chat = write_to_state_dir(lambda folder: write_chat(document, folder, time.localtime()), state) if asked else None
    log = write_crash_log(error, state)
    conversation = f"the conversation {_where(chat)}" if chat is not None else "nothing was asked yet"
    return f"The screen failed ({what}): {conversation}, and what to report {_where(log)}."


def _where(saved: Path | str) -> str:
    if isinstance(saved, Path):
        return f"is saved in {sanitize_line(os.fspath(saved))}"
    return f"could not be saved ({sanitize_line(saved)})"
