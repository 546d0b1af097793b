"""Shows the context, and changes its blocks when the session is free."""

from laguna_tui.base.messages import Place
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.context.block_table import Changes
from laguna_tui.tui.context.context_screen import ContextScreen
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.modal import notify


class ContextController(Controller):
    """Keeps the changes that were chosen until the session is free."""

    def __init__(self, app: ChatApp) -> None:
        self._app = app
        self._size = 0
        self._changes: dict[int, Place] = {}

    def show_screen(self) -> None:
        """Show the context."""
        self._app.push_screen(ContextScreen(self._app.session.prompt, self._size), self._change)

    def opened(self, info: SessionInfo) -> None:
        self._size = info.context_size

    def idle(self) -> None:
        if isinstance(self._app.screen, ContextScreen):
            self._app.screen.reload()

    def cleared(self) -> None:
        self._changes.clear()

    def _change(self, changes: Changes | None) -> None:
        if not changes:
            return
        if not self._app.controller.free:
            notify(self._app, "The context changes when the answer is done.")
        self._changes |= changes
        self._app.controller.change("context", self._apply)

    async def _apply(self) -> None:
        changes, self._changes = self._changes, {}

        def change() -> int:
            self._app.session.prompt.change(changes)
            return self._app.controller.used()

        self._app.update_status(used=await self._app.controller.run(change, "/context"))
        notify(self._app, "The changes apply to your next message.")
