"""What the app does about speed: the numbers, the tint and the rounds are brought to date while they are looked at."""

import time
from typing import TYPE_CHECKING

from laguna_tui.tui.speed import Legend
from laguna_tui.tui.speed_book import SpeedBook
from laguna_tui.tui.widgets.drafts import DraftsScreen

if TYPE_CHECKING:
    from laguna_tui.tui.app import LagunaApp

# Numbers that change faster cannot be read.
NUMBERS_S = 0.1


class SpeedDesk:
    """Shows what the book knows of the last answer."""

    def __init__(self, app: "LagunaApp") -> None:
        self._app = app
        self.book = SpeedBook()
        self._shown_at = -NUMBERS_S

    def show(self, *, busy: bool) -> None:
        """Bring to date what is looked at; what is hidden costs nothing. busy: the numbers still change."""
        now = time.monotonic()
        if busy and now - self._shown_at < NUMBERS_S:
            return
        self._shown_at = now
        app, book = self._app, self.book
        if app.speed_panel.display:
            app.speed_panel.speed = book.speed()
            app.speed_panel.rounds = tuple(book.rounds)
        if app.conversation.heat.on:
            app.rail.legend = Legend(tuple(book.shares.items()), app.no_color)
        if isinstance(app.screen, DraftsScreen):
            app.screen.show(book.first, tuple(book.rounds))

    def toggle_panel(self) -> None:
        """Show the numbers, or hide them."""
        self._app.speed_panel.display = not self._app.speed_panel.display
        self.show(busy=False)

    def toggle_tint(self) -> None:
        """Tint what was said by who proposed it, or stop it."""
        app, heat = self._app, self._app.conversation.heat
        heat.on = not heat.on
        app.rail.legend = None
        app.transcript.set_class(app.no_color, "-mono")
        app.transcript.restyle()
        self.show(busy=False)

    def show_drafts(self) -> None:
        """Show the last rounds, with what did not stand."""
        app, book = self._app, self.book
        app.push_screen(DraftsScreen(book.first, tuple(book.rounds), mono=app.no_color))
