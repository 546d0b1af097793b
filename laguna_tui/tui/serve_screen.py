"""Other programs that use the model: the screen that lets them, shows who does, and stops it."""

import asyncio
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import plural
from laguna_tui.session.values import ClientUse
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.modal import Modal, Paragraph, notify
from laguna_tui.tui.text_lines import GOOD, MUTED, StyledText, crop
from laguna_tui.tui.transcript.step_entries import spent
from laguna_tui.tui.tui_settings import ModelServer

REFRESH_S = 0.5
MAX_CLIENTS = 12
CLOSED = "Other programs cannot use the model. Press s to let those on this machine use it."
OPEN = "Other programs on this machine can use the model. Your own messages always come first."
NOBODY = "No program has used it yet."


class ServeController(Controller):
    """Starts and stops the server of one app."""

    def __init__(self, app: ChatApp) -> None:
        self._app, self._make = app, app.settings.make_server
        self._server: ModelServer | None = None

    @property
    def server(self) -> ModelServer | None:
        """The server, while it listens."""
        return self._server if self._server is not None and self._server.running else None

    def show_screen(self) -> None:
        """Show who uses the model."""
        self._app.push_screen(ServeScreen(self))

    def start(self) -> None:
        """Start the server; shows why if it cannot start."""
        if self._make is None or self.server is not None:
            return
        try:
            server = self._make()
            server.start()
        except UserError as error:
            notify(self._app, str(error), "warning")
        else:
            self._server = server

    def leave(self) -> None:
        """Stop the server, and wait for its thread. Any thread; idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()


class ServeScreen(Modal[None]):
    """Whether other programs can use the model, how, and which do."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,Q", "dismiss", "Close"),
        Binding("s", "switch", "Start or stop"),
        Binding("t", "copy_token", "Copy the token"),
        Binding("u", "copy_url", "Copy the address"),
    ]
    WIDTH = 100
    heading = "Other programs"

    def __init__(self, controller: ServeController) -> None:
        super().__init__()
        self._controller = controller

    def content(self) -> ComposeResult:
        yield Paragraph("", id="state", markup=False)
        yield Paragraph("", id="clients", markup=False)

    def on_mount(self) -> None:
        self._show()
        self.set_interval(REFRESH_S, self._show)

    def _show(self) -> None:
        server = self._controller.server
        keys = "s starts" if server is None else "s stops · t copies the token · u the address"
        self.hints = (f"{keys} · Esc closes",)
        self.show_border()
        self.query_one("#state", Paragraph).update(Content.assemble(*_state(server)))
        parts: list[StyledText] = []
        if server is not None:
            clients = server.clients()[:MAX_CLIENTS]
            width = max(20, self.app.size.width - 8)
            for client in clients:
                parts += _row(client, width)
            parts = parts or [(NOBODY, MUTED)]
        self.query_one("#clients", Paragraph).update(Content.assemble(*parts))

    def action_switch(self) -> None:
        if self._controller.server is None:
            self._controller.start()
            self._show()
        else:
            self.app.run_worker(self._stop(self.app))

    async def _stop(self, app: App[None]) -> None:
        await asyncio.to_thread(self._controller.leave)
        notify(app, "Other programs can no longer use the model.")

    def action_copy_token(self) -> None:
        server = self._controller.server
        if server is not None:
            self.app.copy_to_clipboard(server.token)
            notify(self.app, "Copied the token. Anyone who has it can use the model.")

    def action_copy_url(self) -> None:
        server = self._controller.server
        if server is not None:
            self.app.copy_to_clipboard(f"{server.url}/v1")
            notify(self.app, "Copied the address.")


def _state(server: ModelServer | None) -> list[StyledText]:
    if server is None:
        return [(CLOSED, MUTED)]
    waiting = server.waiting
    rest = f"\n{waiting} {plural(waiting, 'request')} waiting" if waiting else ""
    return [
        (OPEN, ""),
        ("\n\nOpenAI     ", MUTED),
        (f"{server.url}/v1", "bold"),
        ("\nAnthropic  ", MUTED),
        (server.url, "bold"),
        (rest, MUTED),
    ]


def _row(client: ClientUse, width: int) -> list[StyledText]:
    when, tone = ("now", GOOD) if client.now else (f"{spent(client.seen_s)} ago", MUTED)
    used = f"{client.requests} {plural(client.requests, 'answer')}, {client.generated:,} tokens"
    tail = f"  {used}, "
    name = crop(sanitize_line(client.name), max(10, width - len(tail) - len(when)))
    return [(name, "bold"), (tail, MUTED), (f"{when}\n", tone)]
