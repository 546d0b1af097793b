"""The user's commands (`!` and `!!`), and the runner of all commands of a session."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.messages import Attachment, BlockKind, Place
from laguna_tui.base.units import plural
from laguna_tui.context.frame import headed, one_line
from laguna_tui.session.values import CommandFinished

if TYPE_CHECKING:
    from laguna_tui.sandbox.background import BackgroundCommand
    from laguna_tui.sandbox.runner import CommandRunner
    from laguna_tui.sandbox.running_command import CommandResult

NO_COMMAND = "There is no command. Type one after the !, such as: !git status"
ONE_AT_A_TIME = "Your last command is still running. Wait for it, or stop it."
NOT_RUN = "The command was not run: {why}."
LEFT = "{left} that it started {verb} still running."
KEPT = "All of its output is in {path}."
NO_JOB = "There is no background command {number}."
STOPPED = "Background command {number} is stopped."
ENDED_BEFORE = "Background command {number} had already ended."

_SHORTENED_CHARS = 1_500
"""Of an output that is shortened, the head and the tail that the model reads: a screen in all."""

_WHY = "you ran it"
_PIPED, _PIPED_WHY = "The user sent this text along, through a pipe:", "you piped it"
_RAN = "The user ran this command in the folder (exit code {code}):"


class Commands:
    """The user's commands, and the model's background commands. Any thread.

    Attributes:
        hidden: files and folders elsewhere that the model's commands must not read; set it before the first command.
    """

    def __init__(
        self,
        folder: Path,
        attach: Callable[[Attachment], str],
        shows: Callable[[str], bool] = lambda path: False,
        kept: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]] = lambda: ((), ()),
    ) -> None:
        """Run nothing yet.

        Args:
            folder: where commands run.
            attach: attaches a piece to the next message; returns why it cannot, empty if it did.
            shows: returns whether the model's commands may read a file with secrets in the folder, by its path.
            kept: returns globs of what the model's commands must not read in the folder, and must not change.
        """
        self._folder = folder
        self._attach = attach
        self._shows, self._kept = shows, kept
        self.hidden: tuple[Path, ...] = ()
        self._lock = threading.Lock()
        self._runner: CommandRunner | None = None
        self._cancelled = threading.Event()
        self._running = threading.Lock()

    def runner(self) -> "CommandRunner":
        """Return what runs the commands of the session, including the model's."""
        with self._lock:
            if self._runner is None:
                from laguna_tui.sandbox.runner import CommandRunner

                self._runner = CommandRunner(self._folder, shows=self._shows, path_rules=self._kept, hidden=self.hidden)
            return self._runner

    def run(self, command: str, *, attach: bool = False) -> Iterator[str | CommandFinished]:
        """Run a command of the user's; iterate to advance it. Yields its output, raw, then `CommandFinished`.

        It runs in the folder as in the user's shell: without sandbox or approval, in their environment. It has
        no terminal and reads nothing. What it leaves running in the background continues.

        Args:
            command: a line for the user's shell.
            attach: whether the model reads the command and its output with the next message.

        Raises:
            UserError: it is empty, or, while iterating, it was not run, and why.
        """
        if not command.strip():
            raise UserError(NO_COMMAND)
        # Not in the generator: a cancel between this call and the first event counts.
        self._cancelled.clear()
        return self._events(command, attach)

    def cancel(self) -> None:
        """Stop the user's running command and all processes it started. Harmless if none runs."""
        self._cancelled.set()

    def background(self) -> "Sequence[BackgroundCommand]":
        """Return the model's background commands, oldest first."""
        runner = self._runner
        return () if runner is None else runner.background()

    def recent(self, number: int) -> str:
        """Return the end of a background command's output, raw; the model still gets to read it."""
        runner = self._runner
        return "" if runner is None else runner.recent(number)

    def stop(self, number: int) -> str:
        """Stop a background command; returns a sentence about its end."""
        if number not in [each.number for each in self.background()]:
            return NO_JOB.format(number=number)
        return (STOPPED if self.runner().stop(number) else ENDED_BEFORE).format(number=number)

    def close(self) -> None:
        """End all commands. Idempotent."""
        self.cancel()
        with self._lock:
            runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()

    def _events(self, command: str, attach: bool) -> Iterator[str | CommandFinished]:
        if not self._running.acquire(blocking=False):
            raise UserError(ONE_AT_A_TIME)
        events: SimpleQueue[str | CommandResult | Exception] = SimpleQueue()
        thread = threading.Thread(target=self._run, args=(command, events.put), name="user's command", daemon=True)
        thread.start()
        try:
            while isinstance(event := events.get(), str):
                yield event
            if isinstance(event, Exception):
                raise event
            yield self._finished(command, event, attach)
        finally:
            self._cancelled.set()
            thread.join()
            self._running.release()

    def _run(self, command: str, put: "Callable[[str | CommandResult | Exception], None]") -> None:
        from laguna_tui.sandbox.running_command import CommandNotRun

        try:
            put(
                self.runner().run(
                    command,
                    folder=self._folder,
                    timeout_s=None,
                    own=True,
                    on_output=put,
                    cancelled=self._cancelled.is_set,
                )
            )
        except CommandNotRun as error:
            put(UserError(NOT_RUN.format(why=error)))
        except Exception as error:
            put(error)

    def _finished(self, command: str, result: "CommandResult", attach: bool) -> CommandFinished:
        assert result.exit_code is not None, "it has ended"
        refusal = self._attach(_attachment(command, result)) if attach else ""
        ended = "Stopped" if result.cancelled else f"Exit code {result.exit_code}"
        sentences = [f"{ended} after {result.seconds:.1f} s."]
        if result.left and not result.cancelled:
            left = f"{result.left} {plural(result.left, 'process', 'processes')}"
            sentences.append(LEFT.format(left=left, verb=plural(result.left, "is", "are")))
        if result.full_output is not None:
            sentences.append(KEPT.format(path=result.full_output))
        if refusal:
            sentences.append(refusal)
        return CommandFinished(result.exit_code, result.seconds, " ".join(sentences), attach and not refusal)


def _attachment(command: str, result: "CommandResult") -> Attachment:
    """Return the command and its output, as attached to the next message."""
    head = _RAN.format(code=result.exit_code)
    return _piece(f"$ {one_line(command)}", result.stdout, lambda text: headed(head, f"$ {command}\n{text}"), _WHY)


def piped_attachment(text: str) -> Attachment:
    """Return text piped into `ask`, as attached to the question."""
    return _piece("the piped text", text, lambda part: headed(_PIPED, part), _PIPED_WHY)


def _piece(title: str, output: str, text: Callable[[str], str], why: str) -> Attachment:
    """Return a piece that is cut to its head and its tail if room is short. text: makes its form in the prompt."""

    def shorter() -> str:
        from laguna_tui.sandbox.command_output import CommandText

        cut = CommandText(_SHORTENED_CHARS)
        cut.add(output)
        return text(cut.text[0])

    whole, can_be_shorter = text(output), len(output) > _SHORTENED_CHARS
    return Attachment(
        BlockKind.TOOL, title, "", whole, whole, Place.KEPT, why, shorter=shorter if can_be_shorter else None
    )
