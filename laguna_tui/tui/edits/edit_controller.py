"""Asks for permission, moves the focus to the edit panel, handles /mode, and blocks the session's thread.

The session's thread waits until the user decides, the turn is stopped, or the app exits.
"""

import threading
import time
from collections.abc import Callable

from textual.app import App

from laguna_tui.agent.permissions.modes import Mode
from laguna_tui.base.errors import UserError
from laguna_tui.base.permission_request import Decision, PermissionAnswer, PermissionRequest
from laguna_tui.session.api import PermissionSettings
from laguna_tui.tui.edits.edit_panel import EditPanel
from laguna_tui.tui.modal import notify
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.transcript.edit_entry import RequestEntry
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

# Seconds between checks whether the turn was stopped.
POLL_S = 0.05


class Approvals:
    """An `Approver` for the session's thread; the screen's thread polls `waiting` and answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decided = threading.Event()
        self._answer = PermissionAnswer(Decision.NO)
        self._waiting = self._left = False

    @property
    def waiting(self) -> bool:
        """Whether a request waits for an answer."""
        return self._waiting

    def __call__(self, request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
        del request  # the screen has it from the preceding event
        with self._lock:
            self._decided.clear()
            self._answer, self._waiting = PermissionAnswer(Decision.NO), not self._left
        while self._waiting and not self._decided.wait(POLL_S):
            if cancelled():
                break
        with self._lock:
            self._waiting = False
            return self._answer

    def answer(self, answer: PermissionAnswer) -> None:
        """Answer the waiting request; without one, do nothing."""
        with self._lock:
            if self._waiting:
                self._answer, self._waiting = answer, False
                self._decided.set()

    def leave(self) -> None:
        """Decline the waiting request and all later ones, because the app exits."""
        with self._lock:
            self._left, self._waiting = True, False
            self._decided.set()


# Seconds after a key in the input in which the user is still typing, so that the next key belongs to the input.
TYPING_S = 1.0
MODE_SENTENCES = {
    Mode.ASK: "You are asked before a file is changed or a command is run.",
    Mode.ACCEPT_EDITS: "Files are changed without asking, but for those that other programs run. /mode ask asks again.",
    Mode.PLAN: "Nothing is changed and nothing is run: the answer ends in a plan. /mode ask ends it.",
    Mode.AUTO: "Files are changed, and commands are run in the sandbox, without asking. /mode ask asks again.",
}
MODE_WORDS = {Mode.ASK: "", Mode.ACCEPT_EDITS: "accept-edits", Mode.PLAN: "plan mode", Mode.AUTO: "auto mode"}
ALWAYS_SENTENCE = "{rule} is not asked about in this folder any longer."


class EditController:
    """Shows the edit panel and applies decisions. Screen's thread only, except for the approver."""

    def __init__(
        self,
        app: App[None],
        permissions: PermissionSettings,
        controller: SessionController,
        writer: TranscriptWriter,
        *,
        panel: EditPanel,
        prompt: PromptInput,
        transcript: Transcript,
    ) -> None:
        self._app, self._permissions, self._controller, self._writer = app, permissions, controller, writer
        self._panel, self._prompt, self._transcript = panel, prompt, transcript
        self._approvals = Approvals()
        self._edit: RequestEntry | None = None
        self._focus_offered = self._followed = False
        permissions.use_approver(self._approvals)

    @property
    def asking(self) -> bool:
        """Whether an edit is being asked about."""
        return self._edit is not None

    @property
    def unasked(self) -> str:
        """The mode for the status bar; empty for the one that asks about everything."""
        return MODE_WORDS[self._permissions.mode]

    def show(self) -> None:
        """Show or hide the panel."""
        edit = self._writer.proposed
        if not self._approvals.waiting or self._controller.state is not SessionState.BUSY:
            edit = None
        if edit is not self._edit:
            self._end()
            if edit is not None:
                self._begin(edit)
        if edit is not None:
            self._offer_focus()

    def _begin(self, edit: RequestEntry) -> None:
        transcript = self._transcript
        self._edit, self._focus_offered, self._followed = edit, False, transcript.following
        self._app.screen_stack[0].add_class("-asking")
        self._panel.ask(edit)
        # The panel takes rows from the transcript; how many are left is known after the refresh.
        self._app.call_after_refresh(lambda: transcript.call_later(transcript.show_entry, edit))

    def _offer_focus(self) -> None:
        """Give the panel the focus, once, and never while the user is typing or another screen is open."""
        app, prompt = self._app, self._prompt
        idle = time.monotonic() - prompt.touched_at >= TYPING_S
        if (
            not self._focus_offered
            and len(app.screen_stack) == 1
            and app.focused is prompt
            and not prompt.text
            and idle
        ):
            self._focus_offered = True
            self._panel.listen()

    def _end(self) -> None:
        if self._edit is None:
            return
        self._edit = None
        if self._panel.has_focus:
            self._prompt.focus()
        self._panel.hide()
        self._app.screen_stack[0].remove_class("-asking")
        if self._followed:
            self._transcript.follow()

    def decide(self, decision: Decision) -> None:
        """Apply the user's decision."""
        rule = self._edit.rule if self._edit is not None and decision is Decision.ALWAYS else ""
        if self._edit is not None:
            self._edit.agreed = decision is not Decision.NO
        self._approvals.answer(PermissionAnswer(decision))
        self.show()
        if rule:
            notify(self._app, ALWAYS_SENTENCE.format(rule=rule))

    def leave(self) -> None:
        """Release the session's thread when the app exits."""
        self._approvals.leave()

    def use(self, wanted: str) -> None:
        """Change the mode, or show it."""
        if not wanted:
            notify(self._app, MODE_SENTENCES[self._permissions.mode])
            return
        try:
            mode = Mode(wanted)
        except ValueError:
            known = ", ".join(mode.value for mode in Mode)
            notify(self._app, f"There is no /mode {wanted}. There are: {known}.", "warning")
            return
        self._change(mode)

    def use_next(self) -> None:
        """Change to the mode after the present one; after the last comes the first."""
        modes = list(Mode)
        self._change(modes[(modes.index(self._permissions.mode) + 1) % len(modes)])

    def _change(self, mode: Mode) -> None:
        try:
            self._permissions.mode = mode
        except UserError as error:
            notify(self._app, str(error), "warning")
        else:
            notify(self._app, MODE_SENTENCES[mode])
