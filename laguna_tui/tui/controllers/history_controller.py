"""Undoes, redoes and rewinds turns, asks about files that the user changed since, and shows diffs.

The screens are imported when they are first shown: they bring the journal along, which costs the app's start.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import BUSY, SessionBusyError

if TYPE_CHECKING:
    from laguna_tui.session.values import RewindCost
    from laguna_tui.tui.history.rewind_screen import RewindChoice
    from laguna_tui.undo.undo_plan import UndoPlan, UndoResult

# Seconds in which a second Esc asks for the list of turns.
TWICE_S = 1.0
_TITLES = {"undo": "Undo", "redo": "Redo", "rewind": "Rewind"}
STOPPED = "Nothing was changed."
_RESUMED = "Finished an undo that was interrupted when laguna-tui ended. {what}"


class HistoryController(Controller):
    """Undoes, redoes and rewinds turns."""

    def __init__(self, app: ChatApp, fork: Callable[[], Awaitable[bool]]) -> None:
        """fork: continues with a copy of the session. Returns whether it did."""
        self._app, self._history, self._fork = app, app.session.history, fork
        self._escaped_at = -TWICE_S
        self._searched = False

    def undo(self) -> None:
        """Undo the last turn."""
        self._app.run_job(self._go(self._history.plan_undo, "/undo"))

    def redo(self) -> None:
        """Redo the turn that was undone last."""
        self._app.run_job(self._go(self._history.plan_redo, "/redo"))

    def rewind(self) -> None:
        """Show the turns, and go back to before the chosen one."""
        if not self._app.controller.free:
            notify(self._app, BUSY.format(command="/rewind"), "warning")
            return
        from laguna_tui.tui.history.rewind_screen import RewindScreen

        def cost(number: int) -> "tuple[UndoPlan, RewindCost | None]":
            plan = self._history.plan_rewind(number)
            return plan, self._history.cost(plan)

        def chosen(choice: "RewindChoice | None") -> None:
            if choice is not None:
                self._app.run_job(self._go_back(choice))

        # At once, not in a worker: keys that were typed ahead are meant for it.
        self._app.push_screen(RewindScreen(self._history.points, cost), chosen)

    async def _go_back(self, choice: "RewindChoice") -> None:
        if not choice.fork or await self._fork():
            await self._go(lambda: self._history.plan_rewind(choice.number), "/rewind")

    def escape(self) -> None:
        """Esc was pressed on an idle, empty input: the second time, show the turns."""
        now = time.monotonic()
        if now - self._escaped_at < TWICE_S:
            self._escaped_at = -TWICE_S
            self.rewind()
        else:
            self._escaped_at = now

    def diff(self, wanted: str = "") -> None:
        """Show what the session changed; `turn`: the last turn."""
        if wanted not in ("", "turn"):
            notify(self._app, f"There is no /diff {wanted}. There are: /diff, /diff turn.", "warning")
            return
        from laguna_tui.tui.history.diff_screen import DiffScreen

        turn = wanted == "turn"
        title = "Changes of the last turn" if turn else "Changes of this session"
        self._app.push_screen(DiffScreen(title, lambda: self._history.diff(turn=turn), self._app.transcript.files))

    def opened(self, info: SessionInfo) -> None:
        """Finish an undo that an earlier session was killed in."""
        if info.resumed is None and not self._searched:
            self._searched = True
            self._app.start_work(self._finish_undo)

    async def _finish_undo(self) -> None:
        # What is wrong with an old store is of no use to the user: it is removed some day.
        with suppress(Exception):
            plan = await asyncio.to_thread(self._history.unfinished)
            if plan is not None:
                self._app.controller.change("undo", lambda: self._go(lambda: plan, "/undo"))

    def idle(self) -> None:
        self._app.writer.turns.end()

    async def _go(self, make_plan: "Callable[[], UndoPlan]", command: str) -> None:
        """Plan it and apply it; if the user changed files since, ask about these first."""
        controller, overwrite = self._app.controller, frozenset[str]()
        try:
            plan = await controller.run(make_plan, command)
            if plan.conflicts:
                from laguna_tui.tui.history.conflict_screen import ConflictScreen

                files = await controller.run(lambda: self._history.preview(plan), command)
                chosen = await self._app.push_screen_wait(ConflictScreen(_TITLES[plan.kind], plan, files))
                if chosen is None:
                    notify(self._app, STOPPED)
                    return
                overwrite = chosen
            result = await controller.run(lambda: self._history.apply(plan, overwrite), command)
        except SessionBusyError:
            raise
        except UserError as error:
            notify(self._app, _sentence(error), "warning")
        else:
            await self._applied(result, resumed=plan.resumes)

    async def _applied(self, result: "UndoResult", *, resumed: bool) -> None:
        """Show the result, and take the turns out of the transcript or bring them back."""
        app, turns = self._app, self._app.writer.turns
        numbers = [point.number for point in result.points]
        if resumed:
            app.writer.add_notice(_RESUMED.format(what=sanitize(result.outcome)))
        else:
            if result.kind == "redo":
                turns.bring_back(numbers)
            elif message := turns.take_back(numbers):
                self._return(message, into_input=result.kind == "rewind")
            app.writer.add_notice(sanitize(result.sentence))
        for controller in app.controllers:
            controller.undone()
        app.transcript.follow()
        app.update_status(used=await asyncio.to_thread(app.controller.used), prefill=None)
        app.show()

    def _return(self, message: str, *, into_input: bool) -> None:
        """Give the message that was undone back to the user."""
        if into_input and not self._app.prompt.text:
            self._app.prompt.replace_text(message)
        else:
            self._app.prompt.past.add(message)


def _sentence(error: UserError) -> str:
    text = sanitize(str(error))
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
