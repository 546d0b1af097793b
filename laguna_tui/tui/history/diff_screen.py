"""The diff screen: what the session, or its last turn, changed, file by file."""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.units import plural
from laguna_tui.tui.event_sanitizer import error_sentence, safe_file_diff
from laguna_tui.tui.modal import Modal, Paragraph
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, cells, crop_front
from laguna_tui.tui.transcript.diff_lines import Diff, tinted_diff
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import FilePlace, HeadlineEntry
from laguna_tui.tui.transcript.file_links import KnownFiles
from laguna_tui.tui.transcript.step_entries import CLOSED, OPEN
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.undo.file_diff import FileDiff

_WORDS = {ChangeKind.CREATE: "new", ChangeKind.DELETE: "deleted", ChangeKind.MOVE: "moved", ChangeKind.EDIT: ""}
NOTHING = "No file was changed."


class FileDiffEntry(HeadlineEntry):
    """A file and what changed in it, from a sanitised diff."""

    def __init__(self, file: FileDiff) -> None:
        super().__init__()
        self.file = file
        self.is_open = True
        self._diff: Diff | None = None

    def mark(self) -> TextRun:
        return TextRun(OPEN if self.is_open else CLOSED, "tool")

    def headline(self, width: int) -> TextRuns:
        file = self.file
        said = ", ".join(filter(None, (_WORDS[file.kind], file.note)))
        counts = (TextRun(f"  +{file.added}", "code-inserted"), TextRun(f" −{file.removed}", "code-deleted"))
        # A file that is only moved, or that cannot be shown, has no lines to count.
        after = (*(counts if file.hunks or not said else ()), TextRun(f"  {said}" if said else "", "muted"))
        room = width - sum(cells(run.text) for run in after)
        return (TextRun(crop_front(file.subject, max(room, width // 3)), "tool strong"), *after)

    def place(self) -> FilePlace:
        return FilePlace(self.file.target or self.file.path, self.diff.first_line)

    @property
    def diff(self) -> Diff:
        """The highlighted diff, computed on first use."""
        if self._diff is None:
            self._diff = tinted_diff(self.file.hunks, self.file.path)
        return self._diff

    def body(self, width: int) -> Sequence[TextLine]:
        return self.diff.lay(width, side_by_side=self.side_by_side)

    def source(self) -> str:
        return self.file.patch


class DiffView(Transcript):
    """Files and their diffs. The block cursor begins at the first one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab,right,left", "fold", "Fold or unfold the file", show=False)]

    def __init__(self, files: KnownFiles | None) -> None:
        super().__init__(TranscriptDocument())
        self.following, self.files = False, files

    def show(self, entries: Sequence[FileDiffEntry]) -> None:
        """Show these files, from the first one on."""
        for entry in entries:
            self.document.append(entry)
        self._at = 0 if entries else None
        self.update_rows()
        self.scroll_home(animate=False)
        self._show_cursor()

    @property
    def chosen(self) -> FileDiffEntry | None:
        """The file under the cursor."""
        found = self.document.entry(self._at) if self._at is not None and len(self.document) else None
        return found if isinstance(found, FileDiffEntry) else None


class FileDiffScreen(Modal[frozenset[str] | None]):
    """Shows files and their diffs, which are read on a thread: a command may have changed thousands."""

    WIDTH = None
    hints = ("Enter expand or collapse · o open · y copy · Esc close", "Enter expand · o open · Esc close")

    def __init__(self, title: str, read: Callable[[], Sequence[FileDiff]], files: KnownFiles | None = None) -> None:
        """read: the diffs, raw. files: which paths can be opened; None for none."""
        super().__init__(classes="-full")
        self.heading, self._read = title, read
        self.view = DiffView(files)

    def content(self) -> ComposeResult:
        yield Paragraph("reading …", id="diff-summary", markup=False)
        yield self.view

    def on_mount(self) -> None:
        self.view.focus()
        self._load()

    @work
    async def _load(self) -> None:
        files: list[FileDiff] = []
        try:
            files = await asyncio.to_thread(lambda: [safe_file_diff(file) for file in self._read()])
            summary = self.summary(files)
        except Exception as error:
            summary = error_sentence(error)
        self.query_one("#diff-summary", Paragraph).update(Content(summary))
        self.view.show([self.entry(file) for file in files])

    def summary(self, files: Sequence[FileDiff]) -> str:
        """Return a line about all files."""
        if not files:
            return NOTHING
        added, removed = sum(file.added for file in files), sum(file.removed for file in files)
        return f"{len(files):,} {plural(len(files), 'file')}  +{added:,} −{removed:,}"

    def entry(self, file: FileDiff) -> FileDiffEntry:
        """Return the entry of a file."""
        return FileDiffEntry(file)

    @on(Transcript.Left)
    @on(Transcript.FollowChanged)
    def _stop(self, event: Transcript.Left | Transcript.FollowChanged) -> None:
        """Keep what is meant for the app's own transcript from reaching it."""
        event.stop()


class DiffScreen(FileDiffScreen):
    """Shows what was changed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q", "dismiss", "Close")]
