"""Notifications by the terminal: a bell and OSC 9, only while the terminal does not have the focus.

OSC 9 (iTerm2's, also of Ghostty, kitty, WezTerm, Windows Terminal and others): `ESC ] 9 ; text BEL`. Terminals that do
not know it ignore it, and a terminal that does not report its focus is never notified.
"""

import time

from laguna_tui.base.events import AgentEvent, TurnFinished
from laguna_tui.base.text import sanitize_line
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.text_lines import crop

LONG_S = 10.0
"""Seconds; the user is likely to wait for a shorter turn."""
_CELLS = 120
_ENDED = "laguna-tui: the answer is ready"
_ASKS = "laguna-tui asks: {title}"


class Notifier(Controller):
    """Notifies the user of the end of a long turn, and of a question."""

    def __init__(self, app: ChatApp) -> None:
        self._app = app

    def received(self, event: AgentEvent) -> None:
        if isinstance(event, TurnFinished) and time.monotonic() - self._app.sent_at >= LONG_S:
            self._notify(_ENDED)

    def asked(self, title: str) -> None:
        """Notify of a question; `title` is sanitised."""
        self._notify(_ASKS.format(title=title))

    def _notify(self, text: str) -> None:
        app = self._app
        if not app.settings.notify or app.app_focus or app._driver is None:
            return
        app.bell()
        app._driver.write(f"\x1b]9;{crop(sanitize_line(text), _CELLS)}\x07")
