"""Asks for permission: shows the approval panel, gives it the focus, and blocks the session's thread.

The session's thread waits until the user decides, the turn is stopped, or the app exits.
"""

import threading
import time
from collections.abc import Callable
from functools import partial

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.errors import UserError
from laguna_tui.base.permission_request import (
    CommandProposal,
    Decision,
    PermissionAnswer,
    PermissionRequest,
    Proposal,
)
from laguna_tui.tui.approvals.approval_panel import FRAME
from laguna_tui.tui.approvals.hunk_selection import HunkSelection
from laguna_tui.tui.approvals.question import Question, question_about
from laguna_tui.tui.approvals.text_editor import MessageInput, TextEditor, is_editable
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.controllers.notification import Notifier
from laguna_tui.tui.event_sanitizer import safe_change, safe_hunks
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.transcript.request_entries import ChangeEntry, DiffEntry, RequestEntry

# Seconds between checks whether the turn was stopped.
POLL_S = 0.05


class Approvals:
    """An `Approver` for the session's thread; the screen's thread polls `waiting` and answers.

    Attributes:
        request: the newest request, raw.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decided = threading.Event()
        self._answer = PermissionAnswer(Decision.NO)
        self._waiting = self._left = False
        self.request: PermissionRequest | None = None

    @property
    def waiting(self) -> bool:
        """Whether a request waits for an answer."""
        return self._waiting

    def __call__(self, request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
        with self._lock:
            self._decided.clear()
            self.request = request
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
ALWAYS_SENTENCE = "{rule} is now allowed in this folder."
_DECISIONS = {"y": Decision.YES, "a": Decision.ALWAYS, "n": Decision.NO, "w": Decision.YES_WITH_NETWORK}
_UNUSABLE = "This cannot be applied: {why}."
_UNCHANGED = "This changes nothing. Press Esc twice, then n, to decline the change."
_NO_COMMAND = "The command is empty. Press Esc twice, then n, to decline it."


class ApprovalController(Controller):
    """Shows the approval panel and applies answers. Screen's thread only, except for the approver."""

    def __init__(self, app: ChatApp, notifier: Notifier) -> None:
        self._app, self._notifier, self._panel = app, notifier, app.approval_panel
        self._approvals = Approvals()
        self._entry: RequestEntry | None = None
        self._hunks: HunkSelection | None = None
        self._focus_offered = self._followed = False
        self._width = 0
        app.session.permissions.use_approver(self._approvals)

    def show(self) -> None:
        entry = self._app.writer.asked
        waiting = self._approvals.waiting and self._app.state is SessionState.BUSY
        if entry is None or entry.request is None or not waiting:
            entry = None
        if entry is not self._entry:
            self._end()
            if entry is not None:
                self._begin(entry)
        if self._entry is not None:
            if self._width != self._app.size.width:
                self._panel.reword(self._question(self._entry))
            self._offer_focus()

    def _begin(self, entry: RequestEntry) -> None:
        transcript = self._app.transcript
        self._entry, self._focus_offered, self._followed = entry, False, transcript.following
        self._app.update_status(asking=True)
        question = self._question(entry)
        self._panel.ask(question)
        self._notifier.asked(question.title.format(question.subject))
        # The panel takes rows from the transcript; how many are left is known after the refresh.
        self._app.call_after_refresh(lambda: transcript.call_later(transcript.show_entry, entry))

    def _question(self, entry: RequestEntry) -> Question:
        assert entry.request is not None, "only what is asked about is shown"
        self._width = self._app.size.width
        if self._hunks is not None and isinstance(entry, ChangeEntry):
            return self._hunks.question(entry.change.subject)
        raw = self._approvals.request
        editable = raw is not None and _editable_text(raw.proposal) is not None
        return question_about(entry, entry.request, self._width - FRAME, editable=editable)

    def _offer_focus(self) -> None:
        """Give the panel the focus, once, and never while the user is typing or another screen is open."""
        app, prompt = self._app, self._app.prompt
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
        if self._entry is None:
            return
        if isinstance(self._entry, ChangeEntry) and self._hunks is not None:
            self._entry.mark_hunks(())
        self._entry = self._hunks = None
        self._app.update_status(asking=False)
        if isinstance(self._app.screen, TextEditor | MessageInput):
            self._app.screen.dismiss(None)
        self._panel.hide()
        self._app.transcript.show_entry(None)
        if self._followed:
            self._app.transcript.follow()

    def choose(self, key: str) -> None:
        """Answer as the user chose, or let them write first."""
        entry, raw = self._entry, self._approvals.request
        if entry is None or raw is None:
            return
        if self._hunks is not None:
            if self._hunks.is_complete and key == "y":
                self._answer(entry, self._hunks.answer)
            else:
                self._hunks.choose(key)
                self._show_hunks()
        elif key == "h" and isinstance(entry, ChangeEntry):
            self._hunks = HunkSelection(entry.change)
            self._show_hunks()
        elif key == "m":
            self._app.push_screen(MessageInput(), partial(self._decline, entry))
        elif key == "e":
            self._edit(entry, raw.proposal)
        else:
            self._answer(entry, PermissionAnswer(_DECISIONS[key]))

    def _show_hunks(self) -> None:
        """Ask about the next hunk, or about the whole change again, and scroll to it."""
        entry, hunks, transcript = self._entry, self._hunks, self._app.transcript
        if not isinstance(entry, ChangeEntry):
            return
        entry.mark_hunks(hunks.heads() if hunks is not None else ())
        transcript.update_rows()
        self._panel.continue_with(self._question(entry))
        row = entry.hunk_row(hunks.at, self._app.document.width) if hunks is not None else 0
        self._app.call_after_refresh(lambda: transcript.call_later(transcript.show_entry, entry, row))

    def go_back(self) -> bool:
        """Ask about the whole change again instead of each hunk. Returns whether hunks were asked about."""
        if self._hunks is None:
            return False
        self._hunks = None
        self._show_hunks()
        return True

    def _decline(self, entry: RequestEntry, message: str | None) -> None:
        self._answer_or_listen(entry, PermissionAnswer(Decision.NO, message=message) if message else None)

    def _edit(self, entry: RequestEntry, proposal: Proposal) -> None:
        text = _editable_text(proposal)
        if text is None:
            return
        if isinstance(proposal, ChangeProposal):
            subject = entry.change.subject if isinstance(entry, ChangeEntry) else ""
            editor = TextEditor(f"Edit {subject} before it is written", text, "applies it", _change_review(proposal))
        else:
            editor = TextEditor("Edit the command before it runs", text, "runs it", _command_review(text))
        self._app.push_screen(editor, partial(self._apply, entry))

    def _apply(self, entry: RequestEntry, edited: str | None) -> None:
        answer = PermissionAnswer(Decision.YES, edited=edited) if edited is not None else None
        self._answer_or_listen(entry, answer)

    def _answer_or_listen(self, entry: RequestEntry, answer: PermissionAnswer | None) -> None:
        """Give an answer that was written in another screen, unless the question is over."""
        if entry is not self._entry:
            return
        if answer is not None:
            self._answer(entry, answer)
        else:
            self._panel.listen()

    def _answer(self, entry: RequestEntry, answer: PermissionAnswer) -> None:
        entry.agreed = answer.allowed
        self._approvals.answer(answer)
        self.show()
        if answer.decision is Decision.ALWAYS and entry.request is not None:
            notify(self._app, ALWAYS_SENTENCE.format(rule=entry.request.rule))

    def leave(self) -> None:
        self._approvals.leave()


def _editable_text(proposal: Proposal) -> str | None:
    """Return the text that the user may edit: the file's, or the command; None if there is none."""
    match proposal:
        case ChangeProposal(kind=ChangeKind.EDIT | ChangeKind.CREATE, after=text) | CommandProposal(command=text):
            return text if is_editable(text) else None
        case _:
            return None


def _change_review(proposal: ChangeProposal) -> Callable[[str], DiffEntry]:
    def review(text: str) -> DiffEntry:
        from laguna_tui.repo.edits.file_changes import with_text
        from laguna_tui.repo.files.workspace import WorkspaceError

        try:
            change = safe_change(with_text(proposal, text))
        except WorkspaceError as error:
            raise UserError(_UNUSABLE.format(why=error)) from error
        if not change.hunks and proposal.kind is ChangeKind.EDIT:
            raise UserError(_UNCHANGED)
        return DiffEntry(change.hunks, change.path)

    return review


def _command_review(command: str) -> Callable[[str], DiffEntry]:
    def review(text: str) -> DiffEntry:
        from laguna_tui.base.text_diff import diff_texts

        if not text.strip():
            raise UserError(_NO_COMMAND)
        return DiffEntry(safe_hunks(diff_texts(command, text)), "command.bash")

    return review
