"""The commit screen: the message to edit, and the files to commit with it."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import SelectionList
from textual.widgets.selection_list import Selection

from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.base.units import plural
from laguna_tui.session.commits import CommitDraft
from laguna_tui.tui.approvals.text_editor import EditorArea
from laguna_tui.tui.modal import Modal, Paragraph, notify

_ROWS = 8
_NO_MESSAGE = "The model did not draft a message. Write one here."


class CommitScreen(Modal[tuple[str, CommitDraft] | None]):
    """Returns the message and the draft with the chosen files, or None for no commit."""

    heading = "Commit"
    hints = ("Ctrl+S commit · Tab files · Space choose · Esc cancel", "Ctrl+S · Tab files · Esc")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "commit", "Commit with this message", priority=True),
        Binding("tab", "app.focus_next", "The message, or the files", priority=True),
        Binding("escape", "cancel", "Do not commit", priority=True),
    ]

    def __init__(self, draft: CommitDraft) -> None:
        super().__init__(classes="-dense")
        self._draft = draft

    def content(self) -> ComposeResult:
        yield EditorArea(sanitize(self._draft.message), id="commit-message", placeholder=_NO_MESSAGE)
        yield Paragraph(id="commit-about", markup=False)
        if self._draft.stages_all:
            new = self._draft.new_files
            yield SelectionList[str](
                *(Selection(self._line(path), path, path not in new) for path in self._draft.files), compact=True
            )
        else:
            yield Paragraph(Content("\n").join(map(self._line, self._draft.files[:_ROWS])), markup=False)

    def on_mount(self) -> None:
        self._show_count()
        for files in self.query(SelectionList):
            files.styles.max_height = _ROWS
        self.query_one(EditorArea).focus()

    @property
    def _chosen(self) -> CommitDraft:
        lists = self.query(SelectionList)
        return self._draft.only(lists.first().selected) if lists else self._draft

    @on(SelectionList.SelectedChanged)
    def _show_count(self) -> None:
        files = len(self._draft.files)
        which = f"{len(self._chosen.files)} of {files}" if self._draft.stages_all else f"{files} staged"
        about = f"{which} {plural(files, 'file')} will be committed if git's hooks pass. {self._draft.sandbox}"
        self.query_one("#commit-about", Paragraph).update(Content(about))

    def action_commit(self) -> None:
        message, chosen = self.query_one(EditorArea).text, self._chosen
        if not chosen.files:
            notify(self.app, "Choose a file first: Tab, then Space.", "warning")
        elif message.strip():
            self.dismiss((message, chosen))
        else:
            notify(self.app, "Write a message first.", "warning")

    def action_cancel(self) -> None:
        self.dismiss(None)

    def _line(self, path: str) -> Content:
        why = CommitDraft.secret_reason(path) or ("new" if path in self._draft.new_files else "")
        return Content(sanitize_line(f"{path} ({why})" if why else path))
