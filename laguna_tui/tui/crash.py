"""Crash handling: the conversation and the traceback are saved, and one sentence on stderr names both files."""

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

from rich.console import RenderableType
from textual.app import App
from textual.worker import WorkerFailed

from laguna_tui.base.crash_log import write_crash_log, write_to_state_dir
from laguna_tui.base.text import sanitize_line
from laguna_tui.tui.driver import TerminalDriver
from laguna_tui.tui.modal import notify
from laguna_tui.tui.text_lines import crop
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import QuestionEntry
from laguna_tui.tui.transcript.export import write_chat

# Characters of the error message in the sentence.
_ERROR_CHARS = 120


class CrashSafeApp(App[None]):
    """An app that gives the terminal back and keeps the conversation when its own code fails.

    Attributes:
        document: the conversation.
        state_dir: folder of the saved files; None for the system's default.
    """

    def __init__(self, document: TranscriptDocument, state_dir: Path | None) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.document = document
        self.state_dir = state_dir
        self._crash = ""

    def when_failed(self) -> Sequence[Callable[[], None]]:
        """Callbacks that run on a crash, before the conversation is saved. One that raises does not stop the others."""
        return ()

    def start_work(
        self, work: Callable[[], Coroutine[object, object, object]], group: str = "default", *, newest: bool = False
    ) -> None:
        """Run a function in a worker, which calls it: a coroutine would be left over where the app closes first.

        newest: Cancel the others of this group.
        """
        self.run_worker(work, group=group, exclusive=newest)

    def run_to_the_end(self) -> int:
        """Run until the user leaves or the app crashes, which one sentence on stderr reports. Returns the exit code."""
        hook, threading.excepthook = threading.excepthook, self._thread_failed
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

    def _thread_failed(self, failed: threading.ExceptHookArgs) -> None:
        self.failed_behind(failed.exc_value)

    def failed_behind(self, error: BaseException | None) -> None:
        """Report an error in a background thread or task; the app continues."""
        if error is None:
            return
        log = write_crash_log(error, self.state_dir)
        where = f". Please report it: {log}" if isinstance(log, Path) else ""
        with contextlib.suppress(Exception):
            self.call_later(
                notify, self, f"Something failed in the background ({type(error).__name__}){where}", "error"
            )

    def _fail(self, error: BaseException) -> None:
        """Save the conversation, once, and stop the work. Must not raise."""
        if self._crash:
            return
        self._crash = "The screen failed."
        for step in self.when_failed():
            with contextlib.suppress(Exception):
                step()
        self._crash = save_crash(error, self.document, self.state_dir)

    def _handle_exception(self, error: Exception) -> None:
        if self._exit:
            # The user has left: errors while closing are not reported as a crash.
            write_crash_log(error, self.state_dir)
            return
        self._fail(error)
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual would print the traceback with the values of all local variables.
        self._close_messages_no_wait()

    def panic(self, *renderables: RenderableType) -> None:
        del renderables
        self._fail(self._exception or RuntimeError("textual gave up"))
        self._return_code = 1
        self._close_messages_no_wait()


def save_crash(error: BaseException, document: TranscriptDocument, state: Path | None) -> str:
    """Write the conversation and the traceback into the state folder, or else the system's default.

    Returns:
        A sanitised sentence for the user that names both files. Never raises.
    """
    if isinstance(error, WorkerFailed):
        error = error.error
    what = crop(sanitize_line(traceback.format_exception_only(error)[-1].strip()), _ERROR_CHARS)
    asked = any(isinstance(entry, QuestionEntry) for entry in document.entries)
    chat = write_to_state_dir(lambda folder: write_chat(document, folder, time.localtime()), state) if asked else None
    log = write_crash_log(error, state)
    conversation = f"the conversation {_where(chat)}" if chat is not None else "nothing was asked yet"
    return f"The screen failed ({what}): {conversation}, and what to report {_where(log)}."


def _where(saved: Path | str) -> str:
    if isinstance(saved, Path):
        return f"is saved in {sanitize_line(os.fspath(saved))}"
    return f"could not be saved ({sanitize_line(saved)})"
