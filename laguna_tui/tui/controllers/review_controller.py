"""Reviews: sends the model the changes that are not committed, and what to look for."""

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.session.uncommitted import uncommitted_changes
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller

REVIEW = """Review the changes that are not committed. They are attached as a diff; read the code around them, and the \
new files that are only named, where the diff does not say enough. Report what is wrong, the most serious first: bugs, \
callers that break, missing tests, unclear code. Give each as `path:line`, what happens, and how to fix it. Do not \
change files. If you find nothing, say so in one sentence."""
FOCUS = "Look at this above all: {focus}"


class ReviewController(Controller):
    """Begins reviews."""

    def __init__(self, app: ChatApp) -> None:
        self._app = app

    def begin(self, focus: str = "") -> None:
        """Send the changes and the prompt. focus: what the user wants to know above all; may be empty."""
        self._app.run_job(self._review(focus))

    async def _review(self, focus: str) -> None:
        app = self._app
        app.controller.require_free("/review")
        try:
            await app.controller.run(self._attach, "/review")
        except UserError as error:
            app.writer.add_notice(sanitize(str(error)), "warning")
            app.transcript.follow()
            app.show()
            return
        app.send("\n\n".join(filter(None, (REVIEW, FOCUS.format(focus=focus) if focus else ""))))

    def _attach(self) -> None:
        session = self._app.session
        if session.attach(uncommitted_changes(session.folder.path)):
            raise UserError(f"{session.title} reads no diffs, so it cannot review them. Choose another model: /model")
