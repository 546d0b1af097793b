"""Runs the user's own commands: `!`, `!!` and `/shell`. Screen's thread only."""

import os
import sys
import threading
import time
from functools import partial
from pathlib import Path

from textual.app import App, SuspendNotSupported

from laguna_tui.base.terminal import run_in_foreground
from laguna_tui.base.text import TextSanitizer, sanitize
from laguna_tui.session.commands import Commands
from laguna_tui.session.values import CommandFinished
from laguna_tui.tui.modal import notify
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_messages import error_sentence
from laguna_tui.tui.transcript.shell_entry import ShellEntry
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

# A command that ends sooner has only printed something, which would be gone with its screen.
GLANCE_S = 1.0
ONE_AT_A_TIME = "Your last command is still running. Esc stops it."
TOLD = " The model reads it with your next message."


class ShellController:
    """Runs commands, one at a time, beside whatever the model does."""

    def __init__(
        self,
        app: App[None],
        commands: Commands,
        writer: TranscriptWriter,
        *,
        prompt: PromptInput,
        transcript: Transcript,
    ) -> None:
        self._app, self._commands, self._writer = app, commands, writer
        self._prompt, self._transcript = prompt, transcript
        self._entry: ShellEntry | None = None

    def run(self, typed: str) -> None:
        """Run a command as it was typed, with its marks."""
        if self._entry is not None:
            notify(self._app, ONE_AT_A_TIME, "warning")
            self._prompt.replace_text(typed)
            return
        tell = typed.startswith("!!")
        command = typed[2 if tell else 1 :].strip()
        entry = self._entry = ShellEntry(sanitize(command))
        self._writer.document.append(entry)
        self._transcript.follow()
        self._transcript.update_rows()
        threading.Thread(target=self._read, args=(entry, command, tell), name="laguna-shell", daemon=True).start()

    def hand_over(self, command: str, folder: Path) -> None:
        """Leave the screen to a command that needs a terminal, such as an editor, until it ends; empty: a shell."""
        shell = os.environ.get("SHELL") or "/bin/sh"
        try:
            with self._app.suspend():
                began = time.monotonic()
                code = run_in_foreground((shell, "-c", command) if command else (shell,), folder)
                if command and (code or time.monotonic() - began < GLANCE_S):
                    sys.__stderr__.write(f"\n[exit code {code}; Enter goes back to laguna-tui] ")  # type: ignore[union-attr]
                    sys.__stderr__.flush()  # type: ignore[union-attr]
                    sys.__stdin__.readline()  # type: ignore[union-attr]
        except SuspendNotSupported:
            notify(self._app, "This needs a terminal; ! runs a command without one.", "warning")
        except OSError as error:
            notify(self._app, f"It was not run: {error.strerror}.", "warning")
        self._app.refresh(layout=True)

    def stop(self) -> bool:
        """Stop the command. Returns whether one runs."""
        if self._entry is None:
            return False
        self._commands.cancel()
        return True

    def _read(self, entry: ShellEntry, command: str, tell: bool) -> None:
        """Pass on what a command says, on a thread of its own."""
        sanitizer = TextSanitizer()
        try:
            for event in self._commands.run(command, attach=tell):
                if isinstance(event, CommandFinished):
                    sentence = sanitize(event.sentence) + (TOLD if event.attached else "")
                    self._call(partial(self._finish, entry, sentence, failed=event.exit_code != 0))
                else:
                    self._call(partial(self._add, entry, sanitizer.sanitize(event)))
        except Exception as error:
            self._call(partial(self._finish, entry, error_sentence(error), failed=True))

    def _call(self, done: partial[None]) -> None:
        self._app.call_later(done)

    def _add(self, entry: ShellEntry, text: str) -> None:
        entry.add(text)
        self._transcript.update_rows()

    def _finish(self, entry: ShellEntry, sentence: str, *, failed: bool) -> None:
        entry.finish(sentence, failed=failed)
        self._entry = None
        self._transcript.update_rows()
