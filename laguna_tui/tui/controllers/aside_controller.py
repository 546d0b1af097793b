"""Side questions: answered with the conversation, once the session is free, and shown beside it."""

from functools import partial

from laguna_tui.base.events import AsideDelta, TextDelta
from laguna_tui.base.text import sanitize
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.modal import notify

QUEUED = "Your side question is answered when this is done."


class AsideController:
    """Asks side questions."""

    def __init__(self, app: ChatApp) -> None:
        self._app = app
        self._count = 0

    def ask(self, question: str) -> None:
        """Ask a side question now, or when the session is free."""
        if self._app.controller.busy:
            notify(self._app, QUEUED)
        self._count += 1
        self._app.controller.change(f"aside {self._count}", partial(self._answer, question))

    async def _answer(self, question: str) -> None:
        app = self._app
        app.writer.begin_aside(sanitize(question))
        app.transcript.follow()
        try:
            await app.controller.run(partial(self._pass_on, question), f"/btw {question}")
        finally:
            app.writer.end_aside()
            app.show()

    def _pass_on(self, question: str) -> None:
        for event in self._app.session.chat.side_answer(question):
            self._app.controller.put(AsideDelta(event.text) if isinstance(event, TextDelta) else event)
