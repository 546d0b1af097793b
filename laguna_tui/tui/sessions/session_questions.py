"""Questions about a saved session: its new title, where its folder is now, and whether it is really to be deleted."""

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import size
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.tui.event_sanitizer import safe_path
from laguna_tui.tui.modal import Modal
from laguna_tui.tui.sessions.session_rows import title_of

TITLE_CHARS = 200
_LOST = "Deletes its messages, undo points and KV snapshots ({size}) for good."
_GONE = "{folder} is not there any more."
_NO_FOLDER = "There is no folder “{place}”."
_STYLE = Path(__file__).with_name("session_questions.tcss").read_text(encoding="utf-8")


class TitleQuestion(Modal[str | None]):
    """Returns the title, or None to keep the old one."""

    DEFAULT_CSS = _STYLE
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Keep the title")]

    def __init__(self, title: str) -> None:
        """title: as it is, sanitised."""
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(classes="question") as box:
            box.border_title = "Title of the session"
            box.border_subtitle = "Enter rename · Esc cancel"
            yield Input(self._title, compact=True, max_length=TITLE_CHARS, select_on_focus=True)

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        title = " ".join(sanitize_line(event.value).split())
        self.dismiss(title if title and title != self._title else None)


class FolderQuestion(Modal[Path | None]):
    """Returns the folder's new place, or None without one."""

    DEFAULT_CSS = _STYLE
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Do without the session")]

    def __init__(self, folder: Path) -> None:
        """folder: where it was."""
        super().__init__()
        self._folder = folder

    def compose(self) -> ComposeResult:
        with Vertical(classes="question") as box:
            box.border_title = "Where is this session's folder now?"
            box.border_subtitle = "Enter resume there · Esc cancel"
            yield Static(Content(_GONE.format(folder=safe_path(self._folder))), markup=False)
            yield Input(placeholder="Path of the folder", compact=True)

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        place = Path(event.value.strip()).expanduser()
        if event.value.strip() and place.is_dir():
            self.dismiss(place.resolve())
        else:
            self.query_one(Static).update(Content(_NO_FOLDER.format(place=sanitize_line(event.value))))


class DeleteQuestion(Modal[bool]):
    """Returns whether to delete it."""

    DEFAULT_CSS = _STYLE
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,Y", "delete", "Delete it"),
        Binding("n,N,q,Q,escape,enter", "keep", "Keep it"),
    ]

    def __init__(self, session: SessionSummary) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        with Vertical(classes="question") as box:
            box.border_title = "Delete this session?"
            box.border_subtitle = "y delete · n cancel"
            yield Static(Content.styled(title_of(self._session), "bold"), markup=False)
            yield Static(Content(_LOST.format(size=size(self._session.size + self._session.snapshots))), markup=False)

    def action_delete(self) -> None:
        """Delete it."""
        self.dismiss(True)

    def action_keep(self) -> None:
        """Keep it."""
        self.dismiss(False)
