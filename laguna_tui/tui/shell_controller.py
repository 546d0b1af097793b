"""Runs the user's own commands: `!` shows the output, `!!` also tells the model. Screen's thread only."""

import threading
from functools import partial

from textual.app import App

from laguna_tui.base.text import TextSanitizer, sanitize
from laguna_tui.session.api import CommandFinished, Commands
from laguna_tui.tui.modal import notify
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_messages import error_sentence
from laguna_tui.tui.transcript.command_entry import CommandEntry
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

ONE_AT_A_TIME = "A command of yours runs already. Esc stops it."
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
        self._entry: CommandEntry | None = None

    def run(self, typed: str) -> None:
        """Run a command as it was typed, with its marks."""
        if self._entry is not None:
            notify(self._app, ONE_AT_A_TIME, "warning")
            self._prompt.replace_text(typed)
            return
        tell = typed.startswith("!!")
        command = typed[2 if tell else 1 :].strip()
        entry = self._entry = CommandEntry(sanitize(command))
        self._writer.document.append(entry)
        self._transcript.follow()
        self._transcript.update_rows()
        threading.Thread(target=self._read, args=(entry, command, tell), name="laguna-shell", daemon=True).start()

    def stop(self) -> bool:
        """Stop the command. Returns whether one runs."""
        if self._entry is None:
            return False
        self._commands.cancel()
        return True

    def _read(self, entry: CommandEntry, command: str, tell: bool) -> None:
        """Pass on what a command says, on a thread of its own."""
        sanitizer = TextSanitizer()
        try:
            for event in self._commands.run(command, tell=tell):
                if isinstance(event, CommandFinished):
                    sentence = sanitize(event.sentence) + (TOLD if event.told else "")
                    self._call(partial(self._finish, entry, sentence, failed=event.exit_code != 0))
                else:
                    self._call(partial(self._add, entry, sanitizer.sanitize(event.text)))
        except Exception as error:
            self._call(partial(self._finish, entry, error_sentence(error), failed=True))

    def _call(self, done: partial[None]) -> None:
        self._app.call_later(done)

    def _add(self, entry: CommandEntry, text: str) -> None:
        entry.add(text)
        self._transcript.update_rows()

    def _finish(self, entry: CommandEntry, sentence: str, *, failed: bool) -> None:
        entry.finish(sentence, failed=failed)
        self._entry = None
        self._transcript.update_rows()
