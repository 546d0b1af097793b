"""Questions about a saved session: its new title, where its folder is now, and whether it is really to be deleted."""

from pathlib import Path
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import size
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.tui.event_sanitizer import safe_path
from laguna_tui.tui.modal import Modal, Paragraph
from laguna_tui.tui.sessions.session_rows import title_of

T = TypeVar("T")

TITLE_CHARS = 200
_LOST = "Deletes its messages, undo points and KV snapshots ({size}) for good."
_GONE = "{folder} is gone."
_NO_FOLDER = "There is no folder “{place}”."


class SessionQuestion(Modal[T]):
    """A question about a session in a small box."""

    WIDTH = 72


class TitleQuestion(SessionQuestion[str | None]):
    """Returns the title, or None to keep the old one."""

    heading, hints = "Title of the session", ("Enter rename · Esc cancel",)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Keep the title")]

    def __init__(self, title: str) -> None:
        """title: as it is, sanitised."""
        super().__init__()
        self._title = title

    def content(self) -> ComposeResult:
        yield Input(self._title, compact=True, max_length=TITLE_CHARS, select_on_focus=True)

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        title = " ".join(sanitize_line(event.value).split())
        self.dismiss(title if title and title != self._title else None)


class FolderQuestion(SessionQuestion[Path | None]):
    """Returns where the folder is now, or None to leave the session."""

    heading, hints = "Where is this session's folder now?", ("Enter resume there · Esc cancel",)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Do without the session")]

    def __init__(self, folder: Path) -> None:
        """folder: where it was."""
        super().__init__()
        self._folder = folder

    def content(self) -> ComposeResult:
        yield Paragraph(Content(_GONE.format(folder=safe_path(self._folder))), markup=False)
        yield Input(placeholder="Path of the folder", compact=True)

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        place = Path(event.value.strip()).expanduser()
        if event.value.strip() and place.is_dir():
            self.dismiss(place.resolve())
        else:
            self.query_one(Paragraph).update(Content(_NO_FOLDER.format(place=sanitize_line(event.value))))


class ReplaceQuestion(SessionQuestion[bool]):
    """Returns whether to replace a file."""

    heading, hints = "Replace this file?", ("y replace · n cancel",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,Y", "answer(True)", "Replace it"),
        Binding("n,N,q,Q,escape,enter", "answer(False)", "Keep it"),
    ]

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def content(self) -> ComposeResult:
        yield Paragraph(Content.styled(safe_path(self._path), "bold"), markup=False)
        yield Paragraph("It exists already, and its contents would be lost.", markup=False)

    def action_answer(self, replace: bool) -> None:
        self.dismiss(replace)


class DeleteQuestion(SessionQuestion[bool]):
    """Returns whether to delete it."""

    heading, hints = "Delete this session?", ("y delete · n cancel",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,Y", "delete", "Delete it"),
        Binding("n,N,q,Q,escape,enter", "keep", "Keep it"),
    ]

    def __init__(self, session: SessionSummary) -> None:
        super().__init__()
        self._session = session

    def content(self) -> ComposeResult:
        yield Paragraph(Content.styled(title_of(self._session), "bold"), markup=False)
        yield Paragraph(Content(_LOST.format(size=size(self._session.size + self._session.snapshots))), markup=False)

    def action_delete(self) -> None:
        self.dismiss(True)

    def action_keep(self) -> None:
        self.dismiss(False)
