"""What the app does about speed: the numbers, the tint and the rounds are brought to date while they are looked at."""

import time
from typing import TYPE_CHECKING

from laguna_engine.options import Speculation
from laguna_tui.tui.speed import Legend
from laguna_tui.tui.speed_book import SpeedBook
from laguna_tui.tui.turns import NO_MODEL, State, Turns
from laguna_tui.tui.widgets.drafts import DraftsScreen

if TYPE_CHECKING:
    from laguna_tui.tui.app import LagunaApp

# Numbers that change faster cannot be read.
NUMBERS_S = 0.1
MODES = {
    Speculation.FAST: "Speculation is on: fast.",
    Speculation.STRICT: "Speculation is on: strict.",
    Speculation.OFF: "Speculation is off, from the next answer on.",
}


class SpeedDesk:
    """Shows what the book knows of the last answer, and changes how the next one is decoded.

    Attributes:
        no_strict: why strict speculation cannot be had in this session, sanitised; empty where it can.
    """

    def __init__(self, app: "LagunaApp", turns: Turns) -> None:
        self._app, self._turns = app, turns
        self.book = SpeedBook()
        self._shown_at = -NUMBERS_S
        # What switching speculation on again goes back to.
        self._drafting = Speculation.FAST
        self.no_strict = ""

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

    def toggle_drafting(self) -> None:
        """Decode plainly from the next answer on, or draft again."""
        mode = self.book.mode
        self._speculate(self._drafting if mode is Speculation.OFF else Speculation.OFF)
        self._drafting = mode if mode in (Speculation.FAST, Speculation.STRICT) else self._drafting

    def toggle_strict(self) -> None:
        """Strict speculation, or back to fast; where strict cannot be had, say why and how it can."""
        if self.no_strict and self.book.mode is not Speculation.STRICT:
            # In the transcript, where the command can be copied from.
            self._app.conversation.say(self.no_strict, "warning")
            return
        self._speculate(Speculation.FAST if self.book.mode is Speculation.STRICT else Speculation.STRICT)

    def _speculate(self, mode: Speculation) -> None:
        if self._turns.state in (State.FAILED, State.LOADING):
            failed = self._turns.state is State.FAILED
            self._app.tell(NO_MODEL if failed else "The model is still loading.", "warning")
            return
        if self._turns.busy:
            self._app.tell("The mode changes when the answer is done.")
        self._turns.speculate(mode)
