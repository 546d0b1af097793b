"""Notifications by the terminal: a bell and OSC 9, only while the terminal is not looked at.

OSC 9 (iTerm2's, also of Ghostty, kitty, WezTerm, Windows Terminal and others): `ESC ] 9 ; text BEL`. Terminals that do
not know it ignore it. Whether the terminal has the focus is what it reports; one that does not is never notified.
"""

from textual.app import App

from laguna_tui.base.text import sanitize_line
from laguna_tui.tui.text_lines import crop

LONG_S = 10.0
"""Seconds; who looks away from a shorter turn looks back by themselves."""
_CELLS = 120
_ENDED = "laguna-tui: the answer is there"
_ASKS = "laguna-tui asks: {title}"


class Notifier:
    """Notifies the user of what they wait for, or what waits for them."""

    def __init__(self, app: App[None], *, enabled: bool) -> None:
        self._app, self._enabled = app, enabled

    def turn_ended(self, seconds: float) -> None:
        """A turn ended; one that was short is not worth a notification."""
        if seconds >= LONG_S:
            self._notify(_ENDED)

    def asked(self, title: str) -> None:
        """Something waits for the user's answer; `title` is sanitised."""
        self._notify(_ASKS.format(title=title))

    def _notify(self, text: str) -> None:
        app = self._app
        if not self._enabled or app.app_focus or app._driver is None:
            return
        app.bell()
        app._driver.write(f"\x1b]9;{crop(sanitize_line(text), _CELLS)}\x07")
