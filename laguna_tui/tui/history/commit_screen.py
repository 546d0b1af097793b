"""The commit screen: the message to edit, and what is committed with it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.base.units import plural
from laguna_tui.session.commits import CommitDraft
from laguna_tui.tui.approvals.text_editor import EditorArea
from laguna_tui.tui.modal import Modal, notify

_SHOWN = 8
_NO_MESSAGE = "The model did not draft a message. Write one here."


class CommitScreen(Modal[str | None]):
    """Returns the message, or None for no commit."""

    heading, hints = "Commit", ("Ctrl+S commit · Esc cancel",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "commit", "Commit with this message", priority=True),
        Binding("escape", "cancel", "Do not commit", priority=True),
    ]

    def __init__(self, draft: CommitDraft) -> None:
        super().__init__(classes="-dense")
        self._draft = draft

    def content(self) -> ComposeResult:
        yield EditorArea(sanitize(self._draft.message), id="commit-message", placeholder=_NO_MESSAGE)
        yield Static(Content(self._about), markup=False)

    def on_mount(self) -> None:
        self.query_one(EditorArea).focus()

    @property
    def _about(self) -> str:
        files = self._draft.files
        what = "all changes" if self._draft.stages_all else "what is staged"
        more = [f"… and {len(files) - _SHOWN} more"] if len(files) > _SHOWN else []
        head = f"{len(files)} {plural(len(files), 'file')} ({what}):"
        return "\n".join([head, *map(_line, files[:_SHOWN]), *more, f"Hooks run. {self._draft.sandbox}"])

    def action_commit(self) -> None:
        message = self.query_one(EditorArea).text
        if message.strip():
            self.dismiss(message)
        else:
            notify(self.app, "Write a message first.", "warning")

    def action_cancel(self) -> None:
        self.dismiss(None)


def _line(path: str) -> str:
    why = CommitDraft.secret_reason(path)
    return sanitize_line(f"{path} ({why})" if why else path)
