"""Commits: asks the model for a message, shows it, and commits with what the user made of it."""

from collections.abc import Callable

from textual.app import App

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.session.commits import Commits
from laguna_tui.tui.history.commit_screen import CommitScreen
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import Put, SessionController
from laguna_tui.tui.session_messages import CommitDrafted, CommitMade
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

BUSY = "The session is busy. Stop it with Esc, then /commit."
DRAFTING = "The model drafts a message …"
COMMITTING = "Committing …"


class CommitController:
    """Makes commits. Screen's thread only."""

    def __init__(
        self,
        app: App[None],
        commits: Commits,
        controller: SessionController,
        writer: TranscriptWriter,
        *,
        transcript: Transcript,
        resume: Callable[[], None],
    ) -> None:
        """resume: called when a job of the session was started."""
        self._app, self._commits, self._controller, self._writer = app, commits, controller, writer
        self._transcript, self._resume = transcript, resume

    def begin(self) -> None:
        """Draft a message and show it."""

        def job(put: Put) -> None:
            try:
                put(CommitDrafted(self._commits.draft()))
            except UserError as error:
                put(CommitMade(sanitize(str(error)), ok=False))

        self._start(job, DRAFTING)

    def handle(self, item: object) -> None:
        """Apply an event of the session."""
        if isinstance(item, CommitDrafted | CommitMade):
            # What was being done is done; the notification would hide the keys of the screen.
            self._app.clear_notifications()
        match item:
            case CommitDrafted(draft):

                def decided(message: str | None) -> None:
                    if message is not None:
                        self._start(lambda put: self._commit(put, message, item), COMMITTING)

                self._app.push_screen(CommitScreen(draft), decided)
            case CommitMade(text, ok):
                self._writer.add_notice(text, "info" if ok else "warning")
                self._transcript.follow()

    def _commit(self, put: Put, message: str, drafted: CommitDrafted) -> None:
        try:
            put(CommitMade(sanitize(self._commits.commit(message, drafted.draft)), ok=True))
        except UserError as error:
            put(CommitMade(f"{sanitize(str(error))}\nThe message was:\n{sanitize(message)}", ok=False))

    def _start(self, job: Callable[[Put], None], doing: str) -> None:
        notify(self._app, *((doing,) if self._controller.start(job) else (BUSY, "warning")))
        self._resume()
