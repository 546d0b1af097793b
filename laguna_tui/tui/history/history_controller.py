"""Undoes, redoes and rewinds turns, asks about files that the user changed meanwhile, and shows diffs.

The screens are imported when they are first shown: they bring the journal along, which costs the app's start.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from textual.app import App

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.base.units import plural
from laguna_tui.session.session import Session
from laguna_tui.tui.modal import notify
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import Put, SessionController
from laguna_tui.tui.session_messages import (
    SessionIdle,
    SessionOpened,
    UndoApplied,
    UndoPlanned,
    UndoRefused,
)
from laguna_tui.tui.text_lines import crop
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

if TYPE_CHECKING:
    from laguna_tui.session.values import RewindCost
    from laguna_tui.tui.history.rewind_screen import RewindChoice
    from laguna_tui.undo.file_diff import FileDiff
    from laguna_tui.undo.undo_plan import UndoPlan, UndoResult

# Seconds in which a second Esc asks for the list of turns.
TWICE_S = 1.0
# Paths that a sentence names.
_NAMED = 5
_TITLES = {"undo": "Undo", "redo": "Redo", "rewind": "Rewind"}
_DONE = {"undo": "Undone", "redo": "Redone", "rewind": "Undone"}
BUSY = "The session is busy. Stop it with Esc, then {command}."
STOPPED = "Nothing was changed."
_RESUMED = "An undo was interrupted when laguna-tui ended; it is done now. {what}"
_TITLE_CELLS = 60


class HistoryController:
    """Goes back and forth. Screen's thread only."""

    def __init__(
        self,
        app: App[None],
        session: Session,
        controller: SessionController,
        writer: TranscriptWriter,
        *,
        prompt: PromptInput,
        transcript: Transcript,
        resume: Callable[[], None],
        fork: Callable[[Callable[[], None]], None],
    ) -> None:
        """Look at nothing yet.

        Args:
            resume: called when a job of the session was started.
            fork: continues with a copy of the session, and calls what it is given then.
        """
        self._app, self._session, self._history = app, session, session.history
        self._controller, self._writer = controller, writer
        self._prompt, self._transcript, self._resume, self._fork = prompt, transcript, resume, fork
        self._escaped_at = -TWICE_S
        self._looked = False

    def undo(self) -> None:
        """Undo the last turn."""
        self._start(self._history.plan_undo, "/undo")

    def redo(self) -> None:
        """Redo the turn that was undone last."""
        self._start(self._history.plan_redo, "/redo")

    def rewind(self) -> None:
        """Show the turns, and go back to before the chosen one."""
        if not self._controller.free:
            notify(self._app, BUSY.format(command="/rewind"), "warning")
            return

        from laguna_tui.tui.history.rewind_screen import RewindScreen

        def go(choice: "RewindChoice | None") -> None:
            if choice is None:
                return
            if choice.fork:
                self._fork(partial(self._go_back, choice.number))
            else:
                self._go_back(choice.number)

        def cost(number: int) -> "tuple[UndoPlan, RewindCost | None]":
            plan = self._history.plan_rewind(number)
            return plan, self._history.cost(plan)

        self._app.push_screen(RewindScreen(self._history.points, cost), go)

    def _go_back(self, number: int) -> None:
        self._start(lambda: self._history.plan_rewind(number), "/rewind")

    def escape(self) -> None:
        """Esc was pressed on an idle, empty input: the second time, show the turns."""
        now = time.monotonic()
        if now - self._escaped_at < TWICE_S:
            self._escaped_at = -TWICE_S
            self.rewind()
        else:
            self._escaped_at = now

    def diff(self, wanted: str) -> None:
        """Show what the session changed; `turn`: the last turn."""
        if wanted not in ("", "turn"):
            notify(self._app, f"There is no /diff {wanted}. There are: /diff, /diff turn.", "warning")
            return
        from laguna_tui.tui.history.diff_screen import DiffScreen

        turn = wanted == "turn"
        title = "Changes of the last turn" if turn else "Changes of this session"
        self._app.push_screen(DiffScreen(title, lambda: self._history.diff(turn=turn)))

    def handle(self, item: object) -> None:
        """Apply an event of the session."""
        match item:
            case SessionOpened():
                self._look_for_unfinished()
            case SessionIdle():
                self._writer.turns.end()
            case UndoPlanned(plan, files):
                self._ask(plan, files)
            case UndoRefused(sentence):
                notify(self._app, sentence, "warning")
            case UndoApplied():
                self._applied(item)

    def _start(self, plan: "Callable[[], UndoPlan]", command: str) -> None:
        """Plan, and do it at once unless something has to be asked."""

        def job(put: Put) -> None:
            try:
                made = plan()
                put(UndoPlanned(made, self._history.preview(made)) if made.conflicts else self._apply(made, ()))
            except UserError as error:
                put(UndoRefused(_sentence(error)))

        if not self._controller.start(job):
            notify(self._app, BUSY.format(command=command), "warning")
        self._resume()

    def _ask(self, plan: "UndoPlan", files: "Sequence[FileDiff]") -> None:
        """Show the files that the user changed meanwhile, and ask about each."""
        from laguna_tui.tui.history.conflict_screen import ConflictScreen

        screen = ConflictScreen(_TITLES[plan.kind], plan, files)
        self._app.push_screen(screen, lambda chosen: self._decided(plan, chosen))

    def _decided(self, plan: "UndoPlan", chosen: frozenset[str] | None) -> None:
        """Apply a plan with what is to be overwritten, or not at all."""
        if chosen is None:
            notify(self._app, STOPPED)
            return

        def job(put: Put) -> None:
            try:
                put(self._apply(plan, chosen))
            except UserError as error:
                put(UndoRefused(_sentence(error)))

        if not self._controller.start(job):
            notify(self._app, BUSY.format(command=f"/{plan.kind}"), "warning")
        self._resume()

    def _apply(self, plan: "UndoPlan", overwrite: Collection[str]) -> UndoApplied:
        result = self._history.apply(plan, overwrite)
        return UndoApplied(result, sum(block.tokens for block in self._session.prompt.blocks()), plan.resumes)

    def _applied(self, event: UndoApplied) -> None:
        """Show what became of it, and take the turns out of the transcript or bring them back."""
        result, turns = event.result, self._writer.turns
        numbers = [point.number for point in result.points]
        if event.resumed:
            self._writer.add_notice(_RESUMED.format(what=sanitize(_outcome(result))))
        else:
            if result.kind == "redo":
                turns.bring_back(numbers)
            elif message := turns.take_back(numbers):
                self._return(message, into_input=result.kind == "rewind")
            self._writer.add_notice(sanitize(applied_sentence(result)))
        self._transcript.follow()

    def _return(self, message: str, *, into_input: bool) -> None:
        """Give the message that was undone back to the user."""
        if into_input and not self._prompt.text:
            self._prompt.replace_text(message)
        else:
            self._prompt.past.add(message)

    def _look_for_unfinished(self) -> None:
        """Finish an undo that an earlier session was killed in."""
        if self._looked:
            return
        self._looked = True

        def look() -> None:
            # What is wrong with an old store is of no use to the user: it is removed some day.
            with suppress(Exception):
                plan = self._history.unfinished()
                if plan is not None:
                    self._app.call_later(self._start, lambda: plan, "/undo")

        threading.Thread(target=look, name="laguna-undo", daemon=True).start()


def applied_sentence(result: "UndoResult") -> str:
    """What an undo did, for the user, raw."""
    first, count = min(result.points, key=lambda point: point.number), len(result.points)
    title = f"“{crop(sanitize_line(first.title), _TITLE_CELLS)}”"
    named = title if count == 1 else f"{count} messages, from {title} on"
    return f"{_DONE[result.kind]}: {named}. {_outcome(result)}"


def _outcome(result: "UndoResult") -> str:
    """What became of the files, raw."""
    count = len(result.restored)
    how = "as before the undo" if result.kind == "redo" else "as before"
    said = [f"{count:,} {plural(count, 'file is', 'files are')} {how}: {_named(result.restored)}."] if count else []
    if result.kept:
        kept = [f"{sanitize_line(path)} ({sanitize_line(why)})" for path, why in list(result.kept.items())[:_NAMED]]
        more = len(result.kept) - len(kept)
        said.append(f"Kept as it is: {', '.join(kept)}{f' and {more:,} more' if more else ''}.")
    return " ".join([*(said or ["No file was changed."]), *result.notes])


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(map(sanitize_line, paths[:_NAMED])) + (f" and {more:,} more" if more > 0 else "")


def _sentence(error: UserError) -> str:
    text = sanitize(str(error))
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
