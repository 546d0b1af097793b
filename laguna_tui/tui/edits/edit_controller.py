"""When the question about an edit is asked, who has the keys, /undo and /edits; and where the session's thread waits.

The wait ends by an answer, by a turn that is stopped, or when the app is left.
"""

import threading
import time
from collections.abc import Callable

from textual.app import App

from laguna_tui.agent.permissions import Decision, EditMode
from laguna_tui.base.edit_proposal import EditProposal
from laguna_tui.session.api import Edits
from laguna_tui.tui.edits.edit_panel import EditPanel
from laguna_tui.tui.modal import notify
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.transcript.edit_entry import EditEntry
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

# How soon a stop is noticed.
LOOK_S = 0.05


class Approvals:
    """An `Approver` for the session's thread; the screen's thread looks at `waiting` and answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decided = threading.Event()
        self._decision = Decision.NO
        self._waiting = self._left = False

    @property
    def waiting(self) -> bool:
        """Whether a question has no answer yet."""
        return self._waiting

    def __call__(self, proposal: EditProposal, cancelled: Callable[[], bool]) -> Decision:
        del proposal  # the screen has it from the event before
        with self._lock:
            self._decided.clear()
            self._decision, self._waiting = Decision.NO, not self._left
        while self._waiting and not self._decided.wait(LOOK_S):
            if cancelled():
                break
        with self._lock:
            self._waiting = False
            return self._decision

    def answer(self, decision: Decision) -> None:
        """What the user decided about the question that waits; without one it is nothing."""
        with self._lock:
            if self._waiting:
                self._decision, self._waiting = decision, False
                self._decided.set()

    def leave(self) -> None:
        """Nobody will be there to answer any more: what waits and what comes is declined."""
        with self._lock:
            self._left, self._waiting = True, False
            self._decided.set()


# Who pressed a key in the input so recently is still typing, and the next key is the input's too.
TYPING_S = 1.0
MODE_SENTENCES = {
    EditMode.ASK: "You are asked before a file is changed.",
    EditMode.ALLOW: "Files are changed without asking. /edits ask asks again. What other programs run is asked about.",
    EditMode.NEVER: "No file is changed. /edits ask asks about each edit.",
}


class EditController:
    """Screen's thread only, but for the approver that it gives to the session."""

    def __init__(
        self,
        app: App[None],
        edits: Edits,
        controller: SessionController,
        writer: TranscriptWriter,
        *,
        panel: EditPanel,
        prompt: PromptInput,
        transcript: Transcript,
    ) -> None:
        self._app, self._edits, self._controller, self._writer = app, edits, controller, writer
        self._panel, self._prompt, self._transcript = panel, prompt, transcript
        self._approvals = Approvals()
        self._edit: EditEntry | None = None
        self._offered = self._followed = False
        edits.use_approver(self._approvals)

    @property
    def asking(self) -> bool:
        """Whether the user is asked something."""
        return self._edit is not None

    @property
    def unasked(self) -> bool:
        """Whether files are changed without a question."""
        return self._edits.mode is EditMode.ALLOW

    def show(self) -> None:
        """Ask what there is to ask, or stop asking."""
        edit = self._writer.proposed
        if not self._approvals.waiting or self._controller.state is not SessionState.BUSY:
            edit = None
        if edit is not self._edit:
            self._end()
            if edit is not None:
                self._begin(edit)
        if edit is not None:
            self._offer()

    def _begin(self, edit: EditEntry) -> None:
        transcript = self._transcript
        self._edit, self._offered, self._followed = edit, False, transcript.following
        self._app.screen_stack[0].add_class("-asking")
        self._panel.ask(edit)
        # The panel takes rows from the transcript: what there is room for is known after that.
        self._app.call_after_refresh(lambda: transcript.call_later(transcript.show_entry, edit))

    def _offer(self) -> None:
        """Give the panel the focus, once, and never while the user is typing or looks at something else."""
        app, prompt = self._app, self._prompt
        silent = time.monotonic() - prompt.touched_at >= TYPING_S
        if not self._offered and len(app.screen_stack) == 1 and app.focused is prompt and not prompt.text and silent:
            self._offered = True
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
        """The user has decided."""
        if self._edit is not None:
            self._edit.agreed = decision is not Decision.NO
        self._approvals.answer(decision)
        self.show()
        if decision is Decision.ALWAYS:
            notify(self._app, MODE_SENTENCES[EditMode.ALLOW])

    def leave(self) -> None:
        """The app ends; nobody waits for an answer any more."""
        self._approvals.leave()

    def undo(self) -> None:
        """Take back the newest edit."""
        if not self._controller.undo():
            notify(self._app, "An edit can be taken back when nothing else is going on.", "warning")

    def use(self, wanted: str) -> None:
        """Change which edits are made, or say which are."""
        if not wanted:
            notify(self._app, MODE_SENTENCES[self._edits.mode])
            return
        try:
            mode = EditMode(wanted)
        except ValueError:
            known = ", ".join(mode.value for mode in EditMode)
            notify(self._app, f"There is no /edits {wanted}. There are: {known}.", "warning")
            return
        self._edits.mode = mode
        notify(self._app, MODE_SENTENCES[mode])
