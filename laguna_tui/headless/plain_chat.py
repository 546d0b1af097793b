"""A chat of plain lines for screen readers, dumb terminals and pipes: whole lines are appended, none is redrawn."""

import os
import select
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import AgentEvent, AnswerCorrected, AnsweredFromIndex, StepFinished, TurnEnd, TurnFinished
from laguna_tui.base.permission_request import Mode
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.base.turn_figures import TurnFigures
from laguna_tui.base.units import plural
from laguna_tui.headless.terminal_approver import TerminalApprover
from laguna_tui.headless.text_output import text_writer
from laguna_tui.session.session import Session
from laguna_tui.session.values import NOTHING_TO_EXPORT
from laguna_tui.store.session_summary import SessionSummary

if TYPE_CHECKING:
    from laguna_tui.undo.undo_plan import UndoPlan

_POLL_S = 0.1
_READ_BYTES = 4096
_PROMPT = "> "
_HELP = """Type a message and press Enter. Questions are answered with one of the letters in brackets.
/btw QUESTION  ask something that is not part of the conversation afterwards
/mode MODE     ask, accept-edits, plan or auto: what is done without asking
/undo          take back the last message and what it changed; /redo brings it back
/export        write the conversation to a file; with a name: to that one
/new           start a new chat
/resume        list the saved sessions of this folder; with an ID: continue one
/quit          leave; so does the end of the input
Ctrl-C stops the answer; twice, or without an answer, it leaves."""
_MODE = "The mode is {mode}. There are: ask, accept-edits, plan, auto."
_UNKNOWN = "There is no command {name} here. /help lists them."
_STOPPED = "The answer was stopped."
_NO_SESSIONS = "There is no saved session of this folder."
_EXISTS = "{path} exists. Name another file: /export FILE"
_LISTED = 10


class LineInput:
    """The lines of a terminal or a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._rest = descriptor, b""
        self._is_over = False

    def line(self, stopped: Callable[[], bool] = lambda: False) -> str | None:
        """Return the next line, stripped; None at the end of the input, or when stopped."""
        while b"\n" not in self._rest and not self._is_over:
            if stopped():
                return None
            if select.select([self._descriptor], [], [], _POLL_S)[0]:
                data = os.read(self._descriptor, _READ_BYTES)
                self._rest += data
                self._is_over = not data
        if self._is_over and not self._rest:
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").strip()

    def forget(self) -> None:
        """Drop what was typed on a terminal and not read; a pipe cannot know when to write."""
        if os.isatty(self._descriptor):
            self._rest = b""


class WholeLines:
    """Writes whole lines, so that a screen reader reads each of them once."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._line = out, ""

    def write(self, text: str) -> int:
        """Write the lines that are complete now."""
        whole, newline, self._line = (self._line + text).rpartition("\n")
        if newline:
            self._out.write(whole + newline)
            self._out.flush()
        return len(text)

    def flush(self) -> None:
        """Do nothing: what is not a whole line waits for its end."""

    def isatty(self) -> bool:
        """Return True, so that what is written is sanitized in a pipe too."""
        return True

    def ask(self, question: str) -> None:
        """Write a question, behind which the answer is typed."""
        self.end()
        self._out.write(question)
        self._out.flush()

    def end(self) -> None:
        """End an unfinished line."""
        if self._line:
            self.write("\n")


def _summary(session: SessionSummary) -> str:
    return f"“{sanitize_line(session.title)}”, {session.turns:,} {plural(session.turns, 'message')}"


class _Approver(TerminalApprover):
    """Asks in the lines of the chat."""

    def __init__(self, lines: LineInput, descriptor: int, out: WholeLines) -> None:
        super().__init__(descriptor, out)  # type: ignore[arg-type]  # the part of a file that is used
        self._lines, self._out = lines, out

    def _line(self, question: str, cancelled: Callable[[], bool]) -> str | None:
        self._lines.forget()
        self._out.ask(question)
        return self._lines.line(cancelled)


class PlainChat:
    """One session, line by line."""

    def __init__(self, session: Session, descriptor: int, out: TextIO) -> None:
        """Read from a descriptor and write to `out`; approvals are asked there from now on."""
        self._session = session
        self._lines, self._out = LineInput(descriptor), WholeLines(out)
        self._has_asked = False
        history = session.history
        self._commands: Mapping[str, Callable[[str], None]] = {
            "/help": lambda rest: self.say(_HELP),
            "/btw": lambda rest: self._show(session.chat.side_answer, rest) if rest else self.say(_HELP),
            "/mode": self._mode,
            "/undo": lambda rest: self._restore(history.plan_undo()),
            "/redo": lambda rest: self._restore(history.plan_redo()),
            "/export": self._export,
            "/new": self._new,
            "/resume": self._resume,
        }
        session.permissions.use_approver(_Approver(self._lines, descriptor, self._out))

    def run(self, message: str = "") -> None:
        """Chat until the user leaves, and say how to resume what was asked.

        message: the first message or command; empty for none.
        """
        self.say(f"{self._session.title} answers questions about {self._session.folder.path}. /help lists commands.")
        try:
            while message != "/quit":
                if message.startswith("/"):
                    self._command(message)
                elif message:
                    self._has_asked = True
                    self._show(self._session.chat.ask, message)
                self._out.ask(_PROMPT)
                line = self._lines.line()
                if line is None:
                    self.say("")
                    break
                message = line
        except KeyboardInterrupt:
            # The terminal shows ^C behind the prompt.
            self._out.write("\n")
            raise
        finally:
            if self._has_asked and self._session.sessions.open_id:
                self.say(f"To resume later: laguna-tui --resume {self._session.sessions.open_id}")

    def say(self, text: str) -> None:
        """Write a sentence on a line of its own."""
        self._out.end()
        self._out.write(sanitize(text) + "\n")

    def _command(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        command = self._commands.get(name)
        try:
            if command is None:
                self.say(_UNKNOWN.format(name=sanitize_line(name)))
            else:
                command(rest.strip())
        except (EngineError, UserError) as error:
            self.say(str(error))

    def _new(self, rest: str) -> None:
        self._session.chat.new_chat()
        self._has_asked = False
        self.say("A new chat begins.")

    def _mode(self, mode: str) -> None:
        with suppress(ValueError):
            self._session.permissions.mode = Mode(mode)
        self.say(_MODE.format(mode=self._session.permissions.mode.value))

    def _restore(self, plan: "UndoPlan") -> None:
        """Undo or redo; what the user changed since stays, and is named."""
        self.say(self._session.history.apply(plan).sentence)

    def _export(self, target: str) -> None:
        sessions = self._session.sessions
        if not sessions.open_id:
            self.say(NOTHING_TO_EXPORT)
            return
        path = sessions.export_path(target, self._session.state)
        if target and path.exists():
            self.say(_EXISTS.format(path=path))
        else:
            self.say(f"Wrote {sessions.write_export(path, sessions.open_id, replace=bool(target))}")

    def _resume(self, session: str) -> None:
        """Continue a saved session; without one, list those of this folder."""
        sessions = self._session.sessions
        if session:
            sessions.resume(session, lambda progress: None)
            self._has_asked = False
            if (current := sessions.current) is not None:
                self.say(f"Resumed: {_summary(current)}.")
        elif saved := sessions.list()[:_LISTED]:
            for each in saved:
                self.say(f"{each.id}  {_summary(each)}")
            self.say("/resume ID continues one of them.")
        else:
            self.say(_NO_SESSIONS)

    def _show(self, begin: Callable[[str], Iterator[AgentEvent]], message: str) -> None:
        """Write the events of a turn or of a side answer."""
        show, figures = text_writer(self._out, self._out, verbose=True), TurnFigures()  # type: ignore[arg-type]
        try:
            with self._stopping():
                for event in begin(message):
                    show(event)
                    match event:
                        case StepFinished():
                            figures.steps.append(event)
                        case AnswerCorrected() | AnsweredFromIndex():
                            self.say(f"· {event.sentence}")
                        case TurnFinished():
                            self._finish(event, figures)
        except (EngineError, UserError) as error:
            self.say(str(error))
        self._out.end()

    def _finish(self, event: TurnFinished, figures: TurnFigures) -> None:
        if sentence := event.sentence or (_STOPPED if event.end is TurnEnd.CANCELLED else ""):
            self.say(sentence)
        for line in figures.lines()[:1]:
            self.say(line)

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Have Ctrl-C stop the answer; a second one leaves the chat."""

        def stop(*_: object) -> None:
            signal.signal(signal.SIGINT, before)
            self._session.chat.cancel()

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
