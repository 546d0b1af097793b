"""Runs the user's own commands: `!`, `!!`, `/shell`, and the editor of a message."""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from textual.app import SuspendNotSupported

from laguna_tui.base.external_editor import EditorError, edit_text
from laguna_tui.base.terminal import run_in_foreground
from laguna_tui.base.text import TextSanitizer, sanitize
from laguna_tui.session.values import CommandFinished
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.modal import notify
from laguna_tui.tui.transcript.shell_entry import ShellEntry

# A command that ends sooner has only printed something, which would be gone with its screen.
GLANCE_S = 1.0
ONE_AT_A_TIME = "Your last command is still running. Esc stops it."
ATTACHED = " The model reads it with your next message."


class ShellController(Controller):
    """Runs commands, one at a time, beside whatever the model does."""

    def __init__(self, app: ChatApp) -> None:
        self._app, self._commands, self._transcript = app, app.session.commands, app.transcript
        self._entry: ShellEntry | None = None

    def run(self, typed: str) -> None:
        """Run a command as it was typed, with its marks."""
        if self._entry is not None:
            notify(self._app, ONE_AT_A_TIME, "warning")
            self._app.prompt.replace_text(typed)
            return
        attach = typed.startswith("!!")
        command = typed[2 if attach else 1 :].strip()
        entry = self._entry = ShellEntry(sanitize(command))
        self._app.document.append(entry)
        self._transcript.follow()
        self._transcript.update_rows()
        self._app.run_worker(partial(self._read, entry, command, attach), thread=True, group="shell")

    def hand_over(self, command: str = "") -> None:
        """Leave the screen to a command that needs a terminal, such as an editor, until it ends; empty: a shell."""
        shell, folder = os.environ.get("SHELL") or "/bin/sh", self._app.session.folder.path

        def run() -> None:
            began = time.monotonic()
            code = run_in_foreground((shell, "-c", command) if command else (shell,), folder)
            if command and (code or time.monotonic() - began < GLANCE_S):
                sys.__stderr__.write(f"\n[exit code {code}; Enter goes back to laguna-tui] ")  # type: ignore[union-attr]
                sys.__stderr__.flush()  # type: ignore[union-attr]
                sys.__stdin__.readline()  # type: ignore[union-attr]

        self.leave_screen(run)

    def edit_message(self) -> None:
        """Leave the screen to the user's editor with the message; it stays as it is if the editor fails."""
        prompt = self._app.prompt

        def run() -> None:
            try:
                text = edit_text(prompt.message, "message.md", lambda words, at: run_in_foreground(words, Path(at)))
            except EditorError as error:
                notify(self._app, f"The message is unchanged: {error}.", "warning")
            else:
                prompt.replace_text(sanitize(text).removesuffix("\n"))

        # After the keys that were typed before: they are in the queue of the input.
        prompt.call_later(self.leave_screen, run)
        prompt.focus()

    def leave_screen(self, run: Callable[[], None]) -> None:
        """Give the terminal to another program while a function runs."""
        try:
            with self._app.suspend():
                run()
        except SuspendNotSupported:
            notify(self._app, "This needs a terminal; ! runs a command without one.", "warning")
        except OSError as error:
            notify(self._app, f"The command was not run: {error.strerror}.", "warning")
        self._app.refresh(layout=True)

    def stop(self) -> bool:
        """Stop the command. Returns whether one runs."""
        if self._entry is None:
            return False
        self._commands.cancel()
        return True

    def leave(self) -> None:
        self.stop()

    def _read(self, entry: ShellEntry, command: str, attach: bool) -> None:
        """Show the output of a command as it comes, on a thread of its own."""
        sanitizer = TextSanitizer()
        try:
            for event in self._commands.run(command, attach=attach):
                if isinstance(event, CommandFinished):
                    sentence = sanitize(event.sentence) + (ATTACHED if event.attached else "")
                    self._app.call_later(partial(self._finish, entry, sentence, failed=event.exit_code != 0))
                else:
                    self._app.call_later(self._add, entry, sanitizer.sanitize(event))
        except Exception as error:
            self._app.call_later(partial(self._finish, entry, error_sentence(error), failed=True))

    def _add(self, entry: ShellEntry, text: str) -> None:
        entry.add(text)
        self._transcript.update_rows()

    def _finish(self, entry: ShellEntry, sentence: str, *, failed: bool) -> None:
        entry.finish(sentence, failed=failed)
        self._entry = None
        self._transcript.update_rows()
