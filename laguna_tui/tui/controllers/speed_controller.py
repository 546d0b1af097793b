"""Updates the visible speed views, toggles the tint, and changes the speculation mode."""

import time
from functools import partial

from laguna_engine.config import Speculation
from laguna_tui.base.events import AgentEvent
from laguna_tui.base.text import sanitize_line
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.drafter_colours import Legend
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import LOADING, NO_MODEL, SessionState
from laguna_tui.tui.speed.drafts_screen import DraftsScreen
from laguna_tui.tui.speed.speed_stats import SpeedTracker

# Numbers that change faster cannot be read.
NUMBERS_S = 0.1
MODE_SENTENCES = {
    Speculation.FAST: "Speculation is on: fast.",
    Speculation.STRICT: "Speculation is on: strict.",
    Speculation.OFF: "Speculation is off, from the next answer on.",
}


class SpeedController(Controller):
    """Shows the numbers of the last answer and changes how the next one is decoded.

    Attributes:
        tracker: numbers of the last answer.
    """

    def __init__(self, app: ChatApp) -> None:
        self._app = app
        self.tracker = SpeedTracker()
        self._shown_at = -NUMBERS_S
        # The mode that turning speculation on returns to.
        self._drafting = Speculation.FAST
        self._no_strict = ""

    @property
    def _mono(self) -> bool:
        """Return whether text cannot have coloured backgrounds."""
        return self._app.no_color or self._app.native_ansi_color

    def opened(self, info: SessionInfo) -> None:
        self.tracker.mode, self.tracker.drafter = info.mode, sanitize_line(info.drafter)
        self.tracker.not_shown = sanitize_line(info.not_shown)
        self._no_strict = sanitize_line(info.no_strict)

    def received(self, event: AgentEvent) -> None:
        self.tracker.update(event)

    def show(self) -> None:
        now = time.monotonic()
        if not self._app.controller.busy or now - self._shown_at >= NUMBERS_S:
            self._shown_at = now
            self._show_numbers()

    def _show_numbers(self) -> None:
        """Update the visible views; hidden ones cost nothing."""
        app, tracker = self._app, self.tracker
        if app.speed_panel.display:
            app.speed_panel.speed = tracker.speed()
            app.speed_panel.rounds = tuple(tracker.rounds)
        if app.writer.tint.on:
            app.hint_bar.legend = Legend(tracker.legend, self._mono)
        if isinstance(app.screen, DraftsScreen):
            app.screen.show(tracker.first, tuple(tracker.rounds))

    def toggle_panel(self) -> None:
        """Show or hide the speed panel."""
        self._app.speed_panel.display = not self._app.speed_panel.display
        self._app.show()

    def toggle_tint(self) -> None:
        """Turn the tint of the answers on or off."""
        app, tint = self._app, self._app.writer.tint
        tint.on = not tint.on
        app.hint_bar.legend = None
        app.transcript.set_class(self._mono, "-mono")
        app.transcript.restyle()
        self._show_numbers()

    def show_drafts(self) -> None:
        """Show the last rounds with the rejected drafts."""
        self._app.push_screen(DraftsScreen(self.tracker.first, tuple(self.tracker.rounds), mono=self._mono))

    def toggle_drafting(self) -> None:
        """Turn speculation off or on, from the next answer on."""
        mode = self.tracker.mode
        self._speculate(self._drafting if mode is Speculation.OFF else Speculation.OFF)
        self._drafting = mode if mode in (Speculation.FAST, Speculation.STRICT) else self._drafting

    def toggle_strict(self) -> None:
        """Switch between strict and fast speculation; if strict is not available, show why and what to do."""
        if self._no_strict and self.tracker.mode is not Speculation.STRICT:
            # In the transcript, where the command can be copied.
            self._app.writer.add_notice(self._no_strict, "warning")
            self._app.show()
            return
        self._speculate(Speculation.FAST if self.tracker.mode is Speculation.STRICT else Speculation.STRICT)

    def _speculate(self, mode: Speculation) -> None:
        controller = self._app.controller
        if controller.state in (SessionState.FAILED, SessionState.LOADING):
            notify(self._app, NO_MODEL if controller.state is SessionState.FAILED else LOADING, "warning")
            return
        if controller.busy:
            notify(self._app, "The mode changes when the answer is done.")
        controller.change("mode", partial(self._change, mode))

    async def _change(self, mode: Speculation) -> None:
        info = await self._app.controller.load(partial(self._app.session.models.speculate, mode))
        self._app.show_opened(info)
        notify(self._app, MODE_SENTENCES[info.mode] if info.mode else "The mode was changed.")
