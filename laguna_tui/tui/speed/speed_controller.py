"""Updates the visible speed views, toggles the tint, and changes the speculation mode."""

import time

from textual.app import App

from laguna_engine.config import Speculation
from laguna_tui.tui.drafter_colours import Legend
from laguna_tui.tui.hint_bar import HintBar
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import NO_MODEL, SessionState
from laguna_tui.tui.speed.drafts_screen import DraftsScreen
from laguna_tui.tui.speed.speed_panel import SpeedPanel
from laguna_tui.tui.speed.speed_stats import SpeedTracker
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

# Numbers that change faster cannot be read.
NUMBERS_S = 0.1
MODE_SENTENCES = {
    Speculation.FAST: "Speculation is on: fast.",
    Speculation.STRICT: "Speculation is on: strict.",
    Speculation.OFF: "Speculation is off, from the next answer on.",
}


class SpeedController:
    """Shows the numbers of the last answer and changes how the next one is decoded.

    Attributes:
        tracker: numbers of the last answer.
        no_strict: why strict speculation is not available in this session, sanitised; empty if it is.
    """

    def __init__(
        self,
        app: App[None],
        controller: SessionController,
        writer: TranscriptWriter,
        *,
        panel: SpeedPanel,
        hint_bar: HintBar,
        transcript: Transcript,
    ) -> None:
        self._app, self._controller, self._writer = app, controller, writer
        self._panel, self._hint_bar, self._transcript = panel, hint_bar, transcript
        self.tracker = SpeedTracker()
        self._shown_at = -NUMBERS_S
        # The mode that turning speculation on returns to.
        self._drafting = Speculation.FAST
        self.no_strict = ""

    @property
    def _mono(self) -> bool:
        """Return whether text cannot have coloured backgrounds."""
        return self._app.no_color or self._app.native_ansi_color

    def show(self, *, busy: bool) -> None:
        """Update the visible views; hidden ones cost nothing. busy: whether the numbers still change."""
        now = time.monotonic()
        if busy and now - self._shown_at < NUMBERS_S:
            return
        self._shown_at = now
        app, tracker = self._app, self.tracker
        if self._panel.display:
            self._panel.speed = tracker.speed()
            self._panel.rounds = tuple(tracker.rounds)
        if self._writer.tint.on:
            self._hint_bar.legend = Legend(tracker.legend, self._mono)
        if isinstance(app.screen, DraftsScreen):
            app.screen.show(tracker.first, tuple(tracker.rounds))

    def toggle_panel(self) -> None:
        """Show or hide the speed panel."""
        self._panel.display = not self._panel.display
        self.show(busy=False)

    def toggle_tint(self) -> None:
        """Turn the tint of the answers on or off."""
        tint = self._writer.tint
        tint.on = not tint.on
        self._hint_bar.legend = None
        self._transcript.set_class(self._mono, "-mono")
        self._transcript.restyle()
        self.show(busy=False)

    def show_drafts(self) -> None:
        """Show the last rounds with the rejected drafts."""
        app, tracker = self._app, self.tracker
        app.push_screen(DraftsScreen(tracker.first, tuple(tracker.rounds), mono=self._mono))

    def toggle_drafting(self) -> None:
        """Turn speculation off or on, from the next answer on."""
        mode = self.tracker.mode
        self._speculate(self._drafting if mode is Speculation.OFF else Speculation.OFF)
        self._drafting = mode if mode in (Speculation.FAST, Speculation.STRICT) else self._drafting

    def toggle_strict(self) -> None:
        """Switch between strict and fast speculation; if strict is not available, show why and what to do."""
        if self.no_strict and self.tracker.mode is not Speculation.STRICT:
            # In the transcript, where the command can be copied.
            self._writer.add_notice(self.no_strict, "warning")
            return
        self._speculate(Speculation.FAST if self.tracker.mode is Speculation.STRICT else Speculation.STRICT)

    def _speculate(self, mode: Speculation) -> None:
        if self._controller.state in (SessionState.FAILED, SessionState.LOADING):
            failed = self._controller.state is SessionState.FAILED
            notify(self._app, NO_MODEL if failed else "The model is still loading.", "warning")
            return
        if self._controller.busy:
            notify(self._app, "The mode changes when the answer is done.")
        self._controller.speculate(mode)
