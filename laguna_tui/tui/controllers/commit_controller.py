"""Commits: asks the model for a message, shows it, and commits with what the user made of it."""

from collections.abc import Callable
from typing import TypeVar

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.history.commit_screen import CommitScreen
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import SessionBusyError

T = TypeVar("T")

DRAFTING = "The model is drafting a message …"
COMMITTING = "Committing …"


class CommitController(Controller):
    """Makes commits."""

    def __init__(self, app: ChatApp) -> None:
        self._app, self._commits = app, app.session.commits

    def begin(self) -> None:
        """Draft a message, show it, and commit."""
        self._app.run_job(self._commit())

    async def _commit(self) -> None:
        app, message = self._app, ""
        try:
            draft = await self._run(self._commits.draft, DRAFTING)
            edited = await app.push_screen_wait(CommitScreen(draft))
            if edited is None:
                return
            message, chosen = edited
            text, kind = sanitize(await self._run(lambda: self._commits.commit(message, chosen), COMMITTING)), "info"
        except SessionBusyError:
            raise
        except UserError as error:
            text, kind = sanitize(str(error)), "warning"
            if message:
                text = f"{text}\nThe message was:\n{sanitize(message)}"
        app.writer.add_notice(text, kind)
        app.transcript.follow()
        app.show()

    async def _run(self, job: Callable[[], T], doing: str) -> T:
        """Run a job of the session, with a notification meanwhile."""
        self._app.controller.require_free("/commit")
        notify(self._app, doing)
        try:
            return await self._app.controller.run(job, "/commit")
        finally:
            # It would hide the keys of the screen.
            self._app.clear_notifications()
