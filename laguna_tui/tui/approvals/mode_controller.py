"""The mode, by key and by command; and in plan mode, what becomes of the plan that ends a turn. No approver here."""

from collections.abc import Callable

from textual.app import App

from laguna_tui.base.errors import UserError
from laguna_tui.base.permission_request import Mode
from laguna_tui.session.permissions import PermissionSettings
from laguna_tui.tui.approvals.approval_panel import ApprovalPanel
from laguna_tui.tui.approvals.question import Choice, Fact, Question
from laguna_tui.tui.approvals.text_editor import TextEditor, is_editable
from laguna_tui.tui.modal import notify
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.text_lines import MUTED
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.selection import final_answer

MODE_SENTENCES = {
    Mode.ASK: "You are asked before a file is changed or a command is run.",
    Mode.ACCEPT_EDITS: (
        "Files are changed without asking. Deleting a file, or changing one that other programs run, is asked about. "
        "/mode ask asks again."
    ),
    Mode.PLAN: "Nothing is changed and nothing is run: the answer ends in a plan. /mode ask ends it.",
    Mode.AUTO: (
        "Files are changed without asking, except those that other programs run; so are commands that the sandbox here "
        "can hold. /mode ask asks again."
    ),
}
APPROVED = "The plan is approved. Carry it out."
APPROVED_EDITED = "The plan is approved with these changes. Carry it out:\n\n{plan}"
_DECLINED = "Plan mode stays on: tell the model what to change in the plan."
_PLAN = Question(
    "Carry out this plan?",
    "",
    (Fact((("From then on files are changed without asking, as in the mode accept-edits.", MUTED),), 1),),
    (
        Choice("y", "yes, carry it out", "yes"),
        Choice("e", "edit it first", "edit"),
        Choice("n", "no, keep planning", "no"),
    ),
    (Choice("tab", "to answer", "to answer"),),
)


class ModeController:
    """Changes the mode and asks about plans. Screen's thread only.

    Attributes:
        asking: whether a plan is being asked about.
    """

    def __init__(
        self,
        app: App[None],
        permissions: PermissionSettings,
        controller: SessionController,
        document: TranscriptDocument,
        *,
        panel: ApprovalPanel,
        prompt: PromptInput,
        send: Callable[[str], None],
        on_asked: Callable[[str], None] = lambda title: None,
    ) -> None:
        """Prepare.

        Args:
            send: sends a message.
            on_asked: called with each question's title.
        """
        self._app, self._permissions, self._controller, self._document = app, permissions, controller, document
        self._panel, self._prompt, self._send, self._on_asked = panel, prompt, send, on_asked
        self.asking = False

    # -- the mode

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

    def _change(self, mode: Mode) -> bool:
        """Change the mode; whether it is possible."""
        try:
            self._permissions.mode = mode
        except UserError as error:
            notify(self._app, str(error), "warning")
            return False
        notify(self._app, MODE_SENTENCES[mode], alone=True)
        self.show()
        return True

    # -- plans

    def answered(self) -> None:
        """A turn ended with an answer: in plan mode, ask what becomes of the plan."""
        if self._permissions.mode is not Mode.PLAN or self._controller.queued or not final_answer(self._document):
            return
        self.asking = True
        self._app.screen_stack[0].add_class("-asking")
        self._panel.ask(_PLAN)
        self._on_asked(_PLAN.title)
        if self._app.focused is self._prompt and not self._prompt.text:
            self._panel.listen()

    def show(self) -> None:
        """Hide the question once it is over: another turn began, or the mode was changed."""
        idle = self._controller.state in (SessionState.READY, SessionState.BUSY)
        if self.asking and (not idle or self._permissions.mode is not Mode.PLAN or not final_answer(self._document)):
            self.end()

    def end(self) -> None:
        """Hide the question."""
        if not self.asking:
            return
        self.asking = False
        if isinstance(self._app.screen, TextEditor):
            self._app.screen.dismiss(None)
        if self._panel.has_focus:
            self._prompt.focus()
        self._panel.hide()
        self._app.screen_stack[0].remove_class("-asking")

    def choose(self, key: str) -> None:
        """Carry out the plan, edit it, or keep planning."""
        if key == "e":
            self._edit()
        elif key == "n":
            self.end()
            self._prompt.focus()
            notify(self._app, _DECLINED)
        elif self._change(Mode.ACCEPT_EDITS):
            self._send(APPROVED)
        else:
            self._panel.listen()

    def _edit(self) -> None:
        plan = final_answer(self._document)
        if not is_editable(plan):
            notify(self._app, "The plan is too long to edit here. Send a message that says what to change.", "warning")
            self._panel.listen()
            return
        self._app.push_screen(TextEditor("Edit the plan", plan, "approves it"), self._approve)

    def _approve(self, plan: str | None) -> None:
        if not self.asking:
            return
        if plan is None or not plan.strip():
            self._panel.listen()
        elif self._change(Mode.ACCEPT_EDITS):
            self._send(APPROVED_EDITED.format(plan=plan.strip()))
