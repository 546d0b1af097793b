"""Changes the mode, by key and by command, and in plan mode asks whether to carry out the plan."""

import re

from laguna_tui.base.errors import UserError
from laguna_tui.base.events import AgentEvent, TurnEnd, TurnFinished
from laguna_tui.base.permission_request import Mode
from laguna_tui.tui.approvals.question import Choice, Fact, Question
from laguna_tui.tui.approvals.text_editor import TextEditor, is_editable
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.controllers.notification import Notifier
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.text_lines import MUTED
from laguna_tui.tui.transcript.selection import final_answer

MODE_SENTENCES = {
    Mode.ASK: "You are asked before a file is changed or a command is run.",
    Mode.ACCEPT_EDITS: (
        "Files are changed without asking, but you are asked before a file is deleted, or one that other programs run "
        "is changed. /mode ask turns this off."
    ),
    Mode.PLAN: "Nothing is changed or run, and the answer ends in a plan. /mode ask turns this off.",
    Mode.AUTO: (
        "Files are changed and sandboxed commands are run without asking. You are asked about files that other "
        "programs run, and about commands that the sandbox cannot contain. /mode ask turns this off."
    ),
}
APPROVED = "The plan is approved. Carry it out."
APPROVED_EDITED = "The plan is approved with these changes. Carry it out:\n\n{plan}"
_DECLINED = "Still in plan mode. Tell the model what to change in the plan."
_PLAN = Question(
    "Carry out this plan?",
    "",
    (Fact((("This switches to accept-edits: files are changed without asking.", MUTED),), 1),),
    (
        Choice("y", "yes, carry it out", "yes"),
        Choice("e", "edit it first", "edit"),
        Choice("n", "no, keep planning", "no"),
    ),
    (Choice("tab", "to answer", "to answer"),),
)


_BULLET = re.compile(r"\s*[-*+]\s+\S")
_STEP_OR_HEADING = re.compile(r"\s*\d+[.)]\s+\S|#{1,6}\s+\S")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)


def has_plan(answer: str) -> bool:
    """Return whether an answer in Markdown has a numbered step, a list of several items, or a heading."""
    lines = _FENCE.sub("", answer).splitlines()
    return sum(_BULLET.match(line) is not None for line in lines) > 1 or any(map(_STEP_OR_HEADING.match, lines))


class ModeController(Controller):
    """Changes the mode and asks about plans.

    Attributes:
        asking: whether a plan is being asked about.
    """

    def __init__(self, app: ChatApp, notifier: Notifier) -> None:
        self._app, self._notifier, self._panel = app, notifier, app.approval_panel
        self._permissions = app.session.permissions
        self._answered = False
        self.asking = False

    # -- the mode

    def use(self, wanted: str = "") -> None:
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
        self._app.show()
        return True

    # -- plans

    def received(self, event: AgentEvent) -> None:
        if isinstance(event, TurnFinished):
            self._answered = event.end is TurnEnd.ANSWERED

    def idle(self) -> None:
        """Ask whether to carry out the plan that ended a turn."""
        answered, self._answered = self._answered, False
        planned = answered and self._permissions.mode is Mode.PLAN and not self._app.controller.queued
        if not planned or not has_plan(final_answer(self._app.document)):
            return
        self.asking = True
        self._panel.ask(_PLAN)
        self._notifier.asked(_PLAN.title)
        if self._app.focused is self._app.prompt and not self._app.prompt.text:
            self._panel.listen()

    def show(self) -> None:
        """Hide the question once it is over: another turn began, or the mode was changed."""
        if not self.asking:
            return
        open_still = self._app.state in (SessionState.READY, SessionState.BUSY) and self._permissions.mode is Mode.PLAN
        if not open_still or not final_answer(self._app.document):
            self.end()

    def end(self) -> None:
        """Hide the question."""
        if not self.asking:
            return
        self.asking = False
        if isinstance(self._app.screen, TextEditor):
            self._app.screen.dismiss(None)
        self._panel.hide()

    def choose(self, key: str) -> None:
        """Carry out the plan, edit it, or keep planning."""
        if key == "e":
            self._edit()
        elif key == "n":
            self.end()
            self._app.prompt.focus()
            notify(self._app, _DECLINED)
        elif self._change(Mode.ACCEPT_EDITS):
            self._app.send(APPROVED)
        else:
            self._panel.listen()

    def _edit(self) -> None:
        plan = final_answer(self._app.document)
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
            self._app.send(APPROVED_EDITED.format(plan=plan.strip()))
