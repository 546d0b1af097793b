"""What the app does about edits: when the question is asked, who has the keys, /undo and /edits."""

import time
from typing import TYPE_CHECKING

from laguna_tui.agent.approval import Decision, EditMode
from laguna_tui.tui.edits.approvals import Approvals
from laguna_tui.tui.edits.piece import Edited
from laguna_tui.tui.session import ChatSession
from laguna_tui.tui.turns import State, Turns

if TYPE_CHECKING:
    from laguna_tui.tui.app import LagunaApp

# Who pressed a key in the input so recently is still typing, and the next key is the input's too.
TYPING_S = 1.0
MODES = {
    EditMode.ASK: "You are asked before a file is changed.",
    EditMode.ALLOW: "Files are changed without asking. /edits ask asks again. What other programs run is asked about.",
    EditMode.NEVER: "No file is changed. /edits ask asks about each edit.",
}


class EditDesk:
    """Screen's thread only, but for the approver that it gives to the session."""

    def __init__(self, app: "LagunaApp", session: ChatSession, turns: Turns) -> None:
        self._app, self._session, self._turns = app, session, turns
        self._approvals = Approvals()
        self._edit: Edited | None = None
        self._offered = self._followed = False
        session.use_approver(self._approvals)

    @property
    def asking(self) -> bool:
        """Whether the user is asked something."""
        return self._edit is not None

    @property
    def unasked(self) -> bool:
        """Whether files are changed without a question."""
        return self._session.edits is EditMode.ALLOW

    def show(self) -> None:
        """Ask what there is to ask, or stop asking."""
        edit = self._app.conversation.proposed
        if not self._approvals.waiting or self._turns.state is not State.BUSY:
            edit = None
        if edit is not self._edit:
            self._end()
            if edit is not None:
                self._begin(edit)
        if edit is not None:
            self._offer()

    def _begin(self, edit: Edited) -> None:
        app = self._app
        self._edit, self._offered, self._followed = edit, False, app.transcript.following
        app.screen_stack[0].add_class("-asking")
        app.edit_panel.ask(edit)
        # The panel takes rows from the transcript: what there is room for is known after that.
        app.call_after_refresh(lambda: app.transcript.call_later(app.transcript.show_piece, edit))

    def _offer(self) -> None:
        """Give the panel the focus, once, and never while the user is typing or looks at something else."""
        app, prompt = self._app, self._app.prompt
        silent = time.monotonic() - prompt.touched_at >= TYPING_S
        if not self._offered and len(app.screen_stack) == 1 and app.focused is prompt and not prompt.text and silent:
            self._offered = True
            app.edit_panel.listen()

    def _end(self) -> None:
        if self._edit is None:
            return
        app, self._edit = self._app, None
        if app.edit_panel.has_focus:
            app.prompt.focus()
        app.edit_panel.hide()
        app.screen_stack[0].remove_class("-asking")
        if self._followed:
            app.transcript.follow()

    def decide(self, decision: Decision) -> None:
        """The user has decided."""
        if self._edit is not None:
            self._edit.agreed = decision is not Decision.NO
        self._approvals.answer(decision)
        self.show()
        if decision is Decision.ALWAYS:
            self._app.tell(MODES[EditMode.ALLOW])

    def leave(self) -> None:
        """The app ends; nobody waits for an answer any more."""
        self._approvals.leave()

    def undo(self) -> None:
        """Take back the newest edit."""
        if not self._turns.undo():
            self._app.tell("An edit can be taken back when nothing else is going on.", "warning")

    def use(self, wanted: str) -> None:
        """Change which edits are made, or say which are."""
        if not wanted:
            self._app.tell(MODES[self._session.edits])
            return
        try:
            mode = EditMode(wanted)
        except ValueError:
            known = ", ".join(mode.value for mode in EditMode)
            self._app.tell(f"There is no /edits {wanted}. There are: {known}.", "warning")
            return
        self._session.edits = mode
        self._app.tell(MODES[mode])
