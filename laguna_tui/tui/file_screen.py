"""The viewer: a file of the folder, read only, for users without an editor."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.selection import Selection
from textual.widgets import Input

from laguna_tui.base.units import count, plural
from laguna_tui.tui.markdown.highlight import highlight
from laguna_tui.tui.modal import CORNERS, Modal, notify
from laguna_tui.tui.text_lines import MIN_WIDTH, TextLine, TextRun, TextRuns, crop_front, fold, plain
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import Entry
from laguna_tui.tui.transcript.selection import source_line
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_view import offset_of

# More lines hold up the screen while they are laid out.
MAX_LINES = 20_000
# It is highlighted on a thread, within about a second.
MAX_HIGHLIGHT = 200_000


class FileLineEntry(Entry):
    """A line of the file."""

    def __init__(self, number: int, runs: TextRuns, digits: int) -> None:
        super().__init__(gap=False)
        self.number, self.runs, self._digits = number, runs, digits

    def lay(self, width: int) -> Sequence[TextLine]:
        rows: list[TextLine] = []
        lead = f"{self.number:>{self._digits}}  "
        for runs in fold(self.runs, max(MIN_WIDTH, width - len(lead))):
            shown = (TextRun(" " * len(lead) if rows else lead, "muted"), *runs)
            rows.append(TextLine(shown, "" if rows else None, len(lead)))
        return rows

    def source(self) -> str:
        return plain(self.runs)


class FileView(Transcript):
    """The lines, with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "screen.search(1)", "The next match"),
        Binding("N", "screen.search(-1)", "The match before"),
        Binding("slash", "screen.ask", "Search the file"),
        Binding("y,c", "copy", "Copy the line"),
    ]

    def __init__(self) -> None:
        super().__init__(TranscriptDocument())
        self.following = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what only a transcript has."""
        return action not in ("open", "path", "leave") and super().check_action(action, parameters)

    def show(self, entries: Sequence[FileLineEntry], line: int) -> None:
        """Show lines with the cursor on one of them, counted from 1."""
        for entry in entries:
            self.document.append(entry)
        self.update_rows()
        self.go_to(max(0, min(line, len(entries)) - 1))

    def go_to(self, index: int) -> None:
        """Move the cursor to a line, and show it in the middle."""
        self._at = index if len(self.document) else None
        self._show_cursor()
        self.scroll_to(y=self.document.top(index) - self.size.height // 2, animate=False)

    def find(self, text: str, step: int) -> bool:
        """Go to the next line with a text, or the one before, from the other end if need be. Returns whether it is."""
        lines = [plain(entry.runs).casefold() for entry in self.document.entries if isinstance(entry, FileLineEntry)]
        at, wanted = self._at or 0, text.casefold()
        order = ((at + step * distance) % len(lines) for distance in range(1, len(lines) + 1))
        index = next((index for index in order if wanted in lines[index]), None)
        if index is None:
            return False
        self.go_to(index)
        line = source_line(self.document, self.document.top(index))
        start = line.text.casefold().find(wanted)
        ends = line.position(start), line.end_position(start + len(text))
        self.screen.selections = {self: Selection(*map(offset_of, ends))}
        return True


class FileScreen(Modal[None]):
    """Shows the beginning of a file, with the cursor on a line of it."""

    WIDTH = None
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q", "leave", "Close")]
    hints = ("/ search · n N matches · y copies the line · Esc closes", "/ search · n N · y copy · Esc", "Esc closes")

    def __init__(self, path: str, lines: Sequence[TextRuns], line: int, *, is_whole: bool) -> None:
        """Prepare.

        Args:
            path: sanitised.
            lines: those that are shown, sanitised and highlighted.
            line: counted from 1.
            is_whole: whether these are all lines.
        """
        super().__init__(classes="-full")
        self._path, self._line, self._is_whole = path, line, is_whole
        digits = len(str(len(lines)))
        self._entries = [FileLineEntry(number, runs, digits) for number, runs in enumerate(lines, 1)]
        self._view, self._input = FileView(), Input(placeholder="Search …", compact=True)
        self._wanted = ""

    def content(self) -> ComposeResult:
        self._input.display = False
        yield self._view
        yield self._input

    def show_border(self) -> None:
        number = len(self._entries)
        size = f"{'' if self._is_whole else 'the first '}{count(number)} {plural(number, 'line')}"
        self.heading = f"{crop_front(self._path, self.outer_width - CORNERS - len(size) - 3)} · {size}"
        super().show_border()

    def on_mount(self) -> None:
        self._view.focus()
        # The view has its size after the refresh.
        self.call_after_refresh(self._view.show, self._entries, self._line)

    def action_ask(self) -> None:
        """Ask what to search for."""
        self._input.display = True
        self._input.focus()

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        self._wanted = event.value
        self._end_input()
        self.action_search(1)

    def _end_input(self) -> None:
        self._input.display = False
        self._view.focus()

    def action_search(self, step: int) -> None:
        """Go to the next match, or to the one before."""
        if not self._wanted:
            self.action_ask()
        elif not self._view.find(self._wanted, step):
            notify(self.app, f"“{self._wanted}” is not in this file. / searches for something else.")

    def action_leave(self) -> None:
        """Close the search, or else the file."""
        if self._input.display:
            self._end_input()
        else:
            self.dismiss(None)

    @on(Transcript.Left)
    @on(Transcript.FollowChanged)
    def _stop(self, event: Transcript.Left | Transcript.FollowChanged) -> None:
        """Keep what is meant for the app's own transcript from reaching it."""
        event.stop()


def file_lines(text: str, path: str) -> tuple[Sequence[TextRuns], bool]:
    """Return the highlighted lines of a sanitised text, and whether these are all. May take a second."""
    lines = text.removesuffix("\n").split("\n")
    shown = "\n".join(lines[:MAX_LINES])
    return highlight(shown, PurePosixPath(path).suffix[1:], MAX_HIGHLIGHT), len(lines) <= MAX_LINES
