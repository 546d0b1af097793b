"""Other programs that use the model: the screen that lets them, shows who does, and stops it."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import plural
from laguna_tui.session.values import ClientUse
from laguna_tui.tui.modal import Modal, notify
from laguna_tui.tui.text_lines import GOOD, MUTED, StyledText, crop
from laguna_tui.tui.transcript.step_entries import spent

REFRESH_S = 0.5
MAX_CLIENTS = 12
CLOSED = "Nobody else can use the model. Press s to let other programs on this machine use it."
OPEN = "Other programs on this machine can use the model. You always go first."
NOBODY = "Nobody has used it yet."


class ModelServer(Protocol):
    """Lets other programs use the open model. Any thread. The HTTP server is one; the screen does not import it."""

    @property
    def running(self) -> bool:
        """Whether it listens."""
        ...

    @property
    def url(self) -> str:
        """Where it listens."""
        ...

    @property
    def token(self) -> str:
        """What other programs have to show."""
        ...

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        ...

    def start(self) -> None:
        """Listen from now on; UserError if it cannot."""
        ...

    def stop(self) -> None:
        """End all answers, and listen no more. Idempotent."""
        ...

    def clients(self) -> Sequence[ClientUse]:
        """Who used it, the latest first."""
        ...


class ServeController:
    """Starts and stops the server of one app."""

    def __init__(self, app: App[None], make: Callable[[], ModelServer] | None) -> None:
        """make: makes a server that does not listen yet; None where there is none."""
        self._app, self._make = app, make
        self._server: ModelServer | None = None

    @property
    def server(self) -> ModelServer | None:
        """The server, while it listens."""
        return self._server if self._server is not None and self._server.running else None

    def show(self) -> None:
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

    def stop(self) -> None:
        """Let nobody else use it. Idempotent; waits for the server's thread."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()


class ServeScreen(Modal[None]):
    """Whether other programs can use the model, how, and which do."""

    DEFAULT_CSS = Path(__file__).with_name("serve_screen.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,Q", "dismiss", "Close"),
        Binding("s", "switch", "Start or stop"),
        Binding("t", "copy_token", "Copy the token"),
        Binding("u", "copy_url", "Copy the address"),
    ]

    def __init__(self, controller: ServeController) -> None:
        super().__init__()
        self._controller = controller

    def compose(self) -> ComposeResult:
        with Vertical(id="serve") as box:
            box.border_title = "Other programs"
            yield Static("", id="state", markup=False)
            yield Static("", id="clients", markup=False)

    def on_mount(self) -> None:
        self._show()
        self.set_interval(REFRESH_S, self._show)

    def _show(self) -> None:
        server = self._controller.server
        keys = "s starts" if server is None else "s stops · t copies the token · u the address"
        self.query_one("#serve", Vertical).border_subtitle = f"{keys} · Esc closes"
        self.query_one("#state", Static).update(Content.assemble(*_state(server)))
        parts: list[StyledText] = []
        if server is not None:
            clients = server.clients()[:MAX_CLIENTS]
            width = max(20, self.app.size.width - 8)
            for client in clients:
                parts += _row(client, width)
            parts = parts or [(NOBODY, MUTED)]
        self.query_one("#clients", Static).update(Content.assemble(*parts))

    def action_switch(self) -> None:
        """Start the server, or stop it."""
        if self._controller.server is None:
            self._controller.start()
            self._show()
            return
        app = self.app

        def stop() -> None:
            self._controller.stop()
            app.call_later(notify, app, "Other programs can no longer use the model.")

        threading.Thread(target=stop, name="laguna-stop-server", daemon=True).start()

    def action_copy_token(self) -> None:
        """Copy the token that clients have to show."""
        server = self._controller.server
        if server is not None:
            self.app.copy_to_clipboard(server.token)
            notify(self.app, "The token is in the clipboard; whoever has it can use the model.")

    def action_copy_url(self) -> None:
        """Copy the address for OpenAI's clients."""
        server = self._controller.server
        if server is not None:
            self.app.copy_to_clipboard(f"{server.url}/v1")
            notify(self.app, "The address is in the clipboard.")


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
